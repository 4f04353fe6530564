"""The summary of a test run shows how to repeat each failure, and lists unexpected skips."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from in_process import run_process
from supplied import NO_DATA

TESTS = Path(__file__).parent


@pytest.fixture
def outcome(tmp_path):
    """Return a function that runs a test file with our settings and gives its exit code and output."""
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers = published_data: data\n")

    def outcome(content, *arguments, skips=None):
        (tmp_path / "test_it.py").write_text(f"import pytest\n\n{content}")
        environment = {name: value for name, value in os.environ.items() if name != "TSEVAL_SKIPS"}
        environment |= {"TSEVAL_SKIPS": skips} if skips else {}
        command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-q", *arguments]
        done = run_process(command, cwd=tmp_path, env=environment)
        return done.returncode, done.stdout

    return outcome


def test_a_failure_ends_with_the_command_that_repeats_it(outcome):
    code, said = outcome("@pytest.mark.parametrize('x', ['a b'])\ndef test_no(x):\n    assert not x\n")
    assert code == 1
    program, name = said.partition("repeat a failure")[2].splitlines()[1].split(" ", 1)
    assert name == "'test_it.py::test_no[a b]'"
    assert program.endswith("pytest")


SKIPPED = "def test_skipped():\n    pytest.skip({!r})\n\n\ndef test_yes():\n    pass\n"


@pytest.mark.parametrize(
    ("reason", "skips", "code"),
    [
        (f"{NO_DATA}/blimp.jsonl.gz: too large", "listed", 0),
        (f"{NO_DATA}/blimp.jsonl.gz: too large", "none", 1),
        ("nobody knows why", "listed", 1),
        ("nobody knows why", None, 0),
    ],
)
def test_a_skip_that_is_not_listed_fails_where_that_is_asked_for(outcome, reason, skips, code):
    ended, said = outcome(SKIPPED.format(reason), skips=skips)
    assert ended == code
    assert (reason in said.partition("not listed")[2]) == bool(code)


def test_tests_that_need_published_data_are_marked(outcome):
    needs = "from supplied import NO_DATA\n\n\n@pytest.mark.skipif(True, reason=f'{NO_DATA}/x: large')\n"
    content = f"{needs}{SKIPPED.format('')}"
    _, said = outcome(content, "-m", "published_data", "-rs")
    assert "1 skipped, 1 deselected" in said
