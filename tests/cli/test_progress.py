"""Slow commands show progress on a terminal and nowhere else. Real commands on pseudo-terminals."""

import http.server
import os
import re
import shutil
import threading
import time

import pytest
from in_process import installed, succeeded
from small import make_case, make_run, make_suite
from systems import needs_posix
from terminals import on_a_terminal

pytestmark = [needs_posix, pytest.mark.slow]

# An adapter of another package that is slow, like a large model.
SLOW = """import time
from tseval.scoring.protocol import ModelCard

class Slow:
    card = ModelCard("slow", "slow", "0" * 64, {}, {})

    def word_logprobs(self, sentences):
        time.sleep(1.5)
        return [[-float(len(word)) for word in text.split()] for text in sentences]

def open_it(rest, arguments, device):
    time.sleep(2.5)
    return Slow()
"""
N = 150_000
RUNS = [f"run{i}" for i in range(20)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a slow model, a large file of pairs, and many large runs."""
    folder = tmp_path_factory.mktemp("progress")
    (folder / "slowly.py").write_text(SLOW)
    info = folder / "slowly-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slowly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tseval.adapters]\nslow = slowly:open_it\n")
    (folder / "pairs.tsv").write_text("sentence_good\tsentence_bad\nthe author laughs\tthe author laugh\n")
    (folder / "large.tsv").write_text(
        "sentence_good\tsentence_bad\n" + "".join(f"a{i} laughs\ta{i} laugh\n" for i in range(2 * N))
    )
    pairs = [(f"the a{i} laughs", f"the a{i} laugh") for i in range(N)]
    features = {"n_intervening": [0] * N, "n_attractors": [0] * N}
    suite = make_suite(make_case("a", pairs, features=features))
    make_run(suite, {"laughs": -0.5}, path=folder / RUNS[0])
    for name in RUNS[1:]:
        shutil.copytree(folder / RUNS[0], folder / name)
    return folder


def shown_by(folder, *arguments):
    path = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    shown, code = on_a_terminal(*arguments, cwd=folder, width=80, said=True, PYTHONPATH=path)
    assert code == 0, shown
    return shown


def lines_on_screen(shown):
    """Return the visible lines: text after a carriage return overwrites the line from its start."""
    lines = []
    for line in shown.split("\n"):
        seen = ""
        for part in line.split("\r"):
            seen = part + seen[len(part) :]
        lines.append(seen.rstrip())
    return lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pair", "the cat laughs", "the cat laugh", "--model", "slow:x"), ("opening slow:x", "asking slow")),
        (("table", *RUNS[:12]), ("reading runs",)),
        (("analyze", "pairwise", *RUNS, "-o", "pairs.md"), ("analysing runs",)),
    ],
)
def test_nothing_is_silent_for_two_seconds_on_a_terminal(folder, arguments, said):
    shown = shown_by(folder, *arguments)
    for what in said:
        assert re.search(rf"{re.escape(what)} \.\.\. [1-9]\d* s\r", shown), shown
        assert not any(what in line for line in lines_on_screen(shown))  # it disappears at the end


def test_quiet_is_silent_and_so_are_pipes(folder):
    command = "run", "--model", "slow:x", "--suite", "./pairs.tsv", "--quiet", "--out"
    assert "opening" not in shown_by(folder, *command, "run-quiet")
    path = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    pair = "pair", "the cat", "the author", "--model", "slow:x"
    done = succeeded(installed(*pair, cwd=folder, env=os.environ | {"PYTHONPATH": path}))
    assert done.stderr == "good is preferred, by 3.000 nats\n"


def test_what_is_quick_says_nothing(folder):
    assert "\r" not in shown_by(folder, "table", "bhatt2020")


def test_a_message_stands_alone_where_something_was_said_before(folder):
    shown, code = on_a_terminal(
        "expand", "./large.tsv", "--case", "none", "-o", "none.tsv", cwd=folder, width=80, said=True
    )
    assert code == 2
    assert "reading ./large.tsv ... 1 s\r" in shown
    assert lines_on_screen(shown)[0].startswith("tseval: ")


class Slowly(http.server.BaseHTTPRequestHandler):
    """A server that is slow and has no files."""

    def do_GET(self):
        time.sleep(2.5)
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("quiet", [False, True])
def test_a_download_has_a_bar_with_a_clock_from_its_first_second(tmp_path, quiet):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slowly) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        instead = {  # git contacts this server instead of the real one
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.http://127.0.0.1:{server.server_port}/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://github.com/",
            "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path),
        }  # fmt: skip
        options = ["--quiet"] if quiet else []
        shown, code = on_a_terminal(
            "suites", "fetch", "clams_en", *options, cwd=tmp_path, width=100, said=True, **instead
        )
        server.shutdown()
    assert code == 2
    assert "tseval cannot fetch clams_en" in shown
    assert ("fetching clams_en" in shown) == ("0:00:02" in shown) == (not quiet)
