"""What every suite that comes with tseval must have, whichever it is."""

from pathlib import Path

import pytest

from tseval.suites import TEMPLATES, available_suites
from tseval.suites.grammar import SUITE_FILE, read_folder
from tseval.suites.lint import lint

FOLDERS = sorted(path for path in TEMPLATES.iterdir() if path.is_dir())
BIG = {"agreement", "marvin_linzen", *(path.name for path in FOLDERS if path.name.startswith("clams_"))}
of_every_suite = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


@of_every_suite
def test_a_suite_is_listed_with_a_title_and_a_source(folder: Path) -> None:
    assert folder.name in available_suites(), f"templates/{folder.name} has no {SUITE_FILE}"
    suite = read_folder(folder)
    assert suite.title != folder.name, f"templates/{folder.name}/{SUITE_FILE} has no title"
    assert suite.source, f"templates/{folder.name}/{SUITE_FILE} has no source"


@pytest.mark.parametrize(
    "folder",
    # The big ones take seconds, and are held to it by their own tests too.
    [pytest.param(path, marks=[pytest.mark.slow] * (path.name in BIG), id=path.name) for path in FOLDERS],
)
def test_a_suite_is_clean(folder: Path) -> None:
    assert lint(folder) == []


@of_every_suite
def test_every_grammar_says_how_many_items_it_has(folder: Path) -> None:
    without = [grammar.name for grammar in read_folder(folder).load() if "items" not in grammar.expect]
    assert without == []
