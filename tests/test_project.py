"""A public project states each fact about itself one time, or the same way everywhere."""

import hashlib
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from datetime import date
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import tseval

ROOT = Path(__file__).parents[1]
FORGE = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
README = (ROOT / "README.md").read_text("utf-8")
PLACEHOLDER = "https://example.org/tseval"

of_a_checkout = pytest.mark.skipif(not FORGE.exists(), reason="not a checkout")
# `make target target VARIABLE=value`
MAKE = re.compile(r"make((?: [a-z-]+)+)((?: [A-Z]+=\S*)*)")


@of_a_checkout
def test_what_is_pinned_installs_on_the_oldest_python_of_the_project():
    """`make demo` installs the pinned versions, whichever Python version it runs on."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    pinned = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().split("\n")[1:] if line]
    asked = {}
    for pin in pinned:
        with suppress(metadata.PackageNotFoundError):  # packages for other systems are not installed
            found = metadata.metadata(pin.name)
            if pin.specifier.contains(found["Version"]) and "Requires-Python" in found:
                asked[pin.name] = found["Requires-Python"]
    assert len(asked) > len(pinned) / 2
    assert {name: text for name, text in asked.items() if not SpecifierSet(text).contains(oldest)} == {}


def citation() -> dict[str, object]:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def jobs() -> dict[str, dict]:
    return yaml.safe_load((FORGE / "workflows/ci.yml").read_text("utf-8"))["jobs"]


def test_the_licence_is_the_published_text():
    # Of https://www.apache.org/licenses/LICENSE-2.0.txt
    published = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == published
    assert PROJECT["license"] == citation()["license"] == "Apache-2.0"


def test_the_notice_names_every_bundled_model_and_every_board():
    notice = (ROOT / "NOTICE").read_text("utf-8")
    models = [path for path in ROOT.glob("tseval/models/bundled/*") if path.suffix != ".py"]
    boards = list(ROOT.glob("leaderboards/*/"))
    assert models
    assert boards
    for path in [*models, *boards]:
        assert re.search(rf"\b{re.escape(path.relative_to(ROOT).as_posix())}\b", notice), path


def test_the_version_is_the_same_everywhere():
    heading = re.search(r"^## \[(\d\S*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    version, released = heading.groups()
    assert PROJECT["version"] == version == str(citation()["version"]) == tseval.__version__
    # A version has its date in both files or in neither.
    dated = citation().get("date-released")
    assert released == (str(dated) if isinstance(dated, date) else "Unreleased")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("citation-file-format", "CITATION.cff"),
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-workflows", "tseval/boards/public/*.yml"),  # for the repositories that tseval writes
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),  # config.yml is not a form
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_files_for_the_forge_follow_their_schemas(schema, pattern):
    files = list(ROOT.glob(pattern))
    if not files and not FORGE.exists():
        pytest.skip("not a checkout")
    assert files
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        *files,
    ]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


@of_a_checkout
def test_the_public_ci_runs_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    commands = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
    commands.remove("git config --global core.symlinks true")  # needed only before a checkout
    for command in commands:
        targets, variables = MAKE.fullmatch(command).groups()
        for target in targets.split():
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), command
        for variable in variables.split():
            assert re.search(rf"^{variable.partition('=')[0]} \?=", makefile, re.MULTILINE), command


@of_a_checkout
def test_the_public_ci_runs_where_the_metadata_says_it_works():
    said = [entry.split(" :: ") for entry in PROJECT["classifiers"]]
    pythons = [version for *_, language, version in said if language == "3" or re.match(r"3\.", version)]
    assert jobs()["test"]["strategy"]["matrix"]["python"] == [name for name in pythons if name != "Only"]
    assert PROJECT["requires-python"] == f">={pythons[1]}"

    fast = jobs()["fast"]["strategy"]["matrix"]
    systems = {jobs()["test"]["runs-on"], *fast["os"]}
    runners = {"MacOS": "macos-latest", "Windows": "windows-latest", "Linux": "ubuntu-latest"}
    assert systems == {runners[system] for kind, *_, system in said if kind == "Operating System"}
    # On Windows, the package's links are links only if git is configured for them before the checkout.
    first, second, *_ = jobs()["fast"]["steps"]
    assert "core.symlinks true" in first["run"]
    assert second["uses"].startswith("actions/checkout@")


def test_all_is_every_extra_that_installs_without_a_compiler():
    (entry,) = EXTRAS["all"]
    named = re.fullmatch(r"tseval\[(.+)\]", entry)[1].split(",")
    assert named == sorted(EXTRAS.keys() - {"all", "dev", "ngram"})
    assert "tseval[all]" in EXTRAS["dev"]


def test_extras_that_messages_and_pages_name_exist():
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tseval/**/*.py")]
    files += ROOT.glob("adapters/*.py")
    named = {
        extra
        for path in files
        for extras in re.findall(r"tseval\[([\w,-]+)\]", path.read_text("utf-8"))
        for extra in extras.split(",")
    }
    assert named == EXTRAS.keys() - {"dev"}


def test_the_readme_says_how_to_install_every_extra():
    lines = (
        f"    pip install git+{PLACEHOLDER}",
        f"    uvx --from git+{PLACEHOLDER} tseval run --model bundled:lstm",
    )
    assert set(lines) <= set(README.splitlines())
    listed = set(re.findall(r"^\| `([\w-]+)` \|", README, re.MULTILINE))
    assert listed == EXTRAS.keys() - {"dev"}


def test_files_and_names_that_contributing_gives_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page[page.index("## Add something") : page.index("## Style")]
    named = re.findall(r"`([\w.]+(?:/[\w.]*)+|\w+\.(?:toml|md))`", section)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
    # `NAME` in `file`, or in any module that has it.
    for name, file in re.findall(r"`([A-Z_]{5,})`(?: in `([\w/.]+\.py)`)?", section):
        files = [ROOT / file] if file else ROOT.glob("tseval/**/*.py")
        defined = re.compile(rf"^{name}\b.* = ", re.MULTILINE)
        found = any(defined.search(path.read_text("utf-8")) for path in files)
        assert found, f"{name} in {file}"


@of_a_checkout
def test_placeholders_are_listed_where_a_release_begins():
    files = [*ROOT.glob("*"), *FORGE.rglob("*"), *ROOT.glob("docs/**/*.md")]
    texts = {path: path.read_text("utf-8", "replace") for path in files if path.is_file()}
    holding = {path.relative_to(ROOT).as_posix() for path, text in texts.items() if PLACEHOLDER in text}
    holding -= {"docs/releasing.md"}
    page = (ROOT / "docs/releasing.md").read_text("utf-8")
    assert set(re.findall(r"^- `([\w./-]+)`: .*(?:url|Homepage|page)", page, re.MULTILINE)) == holding
