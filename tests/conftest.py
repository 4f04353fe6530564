import gc
import os
import shlex
import shutil
import signal
import sys
from collections import Counter

import pytest
from hypothesis import settings
from skips import unlisted
from supplied import NO_DATA

# Tests run tiny models in several processes, so more threads would only wait for each other. If a test uses
# several threads, waiting threads leave the cores to others. Set this before torch is imported; commands that
# tests start inherit it.
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

# Tests start hundreds of commands, and without a cache each would compile tseval again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests load models from folders that they made. A library that tries to contact a hub must fail.
os.environ["HF_HUB_OFFLINE"] = "1"

# Tests start the command that is installed next to this Python.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])

# Ignore the user's settings of git and tseval.
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
for name in ("TSEVAL_LIMITS", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
    os.environ.pop(name, None)

# Tests stop commands with Ctrl-C. If a script runs the tests in the background, SIGINT is ignored, and the
# commands would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: on a busy machine an example can take any time. Other tests measure speed. Every run uses the
# same examples, so that a failure comes from a change and not from the draw.
settings.register_profile("tseval", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("tseval")


# Imports and collection leave no garbage, and the search for it took a fifth of their time.
gc.disable()


def pytest_collection_finish():
    """Collect garbage rarely and skip objects that stay: this took 8% of the time of board tests."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


# The word that a file must contain if it has tests with the first mark of a selection.
NAMES_OF_MARKS = {"slowest": "slowest", "published_data": "supplied"}


def pytest_ignore_collect(collection_path, config):
    """Import only files that have selected tests. Importing all files takes ten seconds in every process."""
    name = NAMES_OF_MARKS.get(config.option.markexpr.partition(" ")[0])
    if name and collection_path.name.startswith("test_"):
        return name not in collection_path.read_text("utf-8") or None
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Start one process for each core. Each process collects and imports, so more processes were slower."""
    return int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", os.cpu_count() or 1))


# Files of `make test-slow` that take minutes, longest first.
LONGEST = {
    f"test_{name}.py": place
    for place, name in enumerate((
        "benchmarks", "make", "campaign_of_strangers", "campaign", "docs_commands", "killed_at_every_write",
        "docs_site", "identity", "train_zoo", "public_face", "tutorial_adapter", "second_device",
    ))
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that need published data, and run first the files with the most slow tests."""
    for item in items:
        reasons = (mark.kwargs.get("reason", "") for mark in item.iter_markers("skipif"))
        if any(reason.startswith(NO_DATA) for reason in reasons):
            item.add_marker("published_data")
    # The longest files start first, so that no process works long after the others.
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (LONGEST.get(item.path.name, len(LONGEST)), -slow[item.path]))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Print the commands that repeat the failures, and list unexpected skips."""
    yield
    stats = terminalreporter.stats
    failed = dict.fromkeys(report.nodeid for name in ("failed", "error") for report in stats.get(name, []))
    if failed:
        program = os.path.relpath(os.path.join(os.path.dirname(sys.executable), "pytest"))
        terminalreporter.section("repeat a failure")
        for nodeid in failed:
            terminalreporter.line(f"{program} {shlex.quote(nodeid)}")
    if unexpected := unlisted(stats):
        terminalreporter.section("skipped, and not listed in tests/skips.py")
        for reason in unexpected:
            terminalreporter.line(reason)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """If TSEVAL_SKIPS=listed, fail if a test was skipped for a reason that is not listed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and unlisted(reporter.stats) and not session.exitstatus:
        session.exitstatus = 1


@pytest.fixture(scope="module")
def suites_expanded_once():
    """Cache expanded suites: without it, each verification and each reading of a board expands them again."""
    from tseval.suites import without_cache  # noqa: PLC0415 - most tests need no suites

    with without_cache():
        yield


# The browser for tests of pages. The headless shell of Chromium has no windows and does a third of the work.
BROWSERS = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    if os.environ.get("TSEVAL_BROWSER") == "none":
        pytest.skip("TSEVAL_BROWSER=none: no browser runs here")
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        reason = f"no browser is installed: none of {', '.join(BROWSERS)} is on PATH"
        if os.environ.get("TSEVAL_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    root = os.name == "posix" and os.geteuid() == 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"] if root else []
        )
        yield browser
        browser.close()
