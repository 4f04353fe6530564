"""Runs with differently worded tables of an earlier version still verify; a changed number is detected."""

import shutil

import pytest
from forged import seal_anew
from in_process import call, succeed
from supplied import EARLIER_TABLES

pytestmark = pytest.mark.usefixtures("suites_expanded_once")

SELECTED = ("--case", "simple_agrmt", "--case", "prep_anim", "--limit", "200")
EFFECTS = ("--suite", "filler_gap", "--sample", "20")


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Make runs with the tables that an earlier version printed for the same command."""
    place = tmp_path_factory.mktemp("earlier")
    for name, options in (("selected", SELECTED), ("effects", EFFECTS)):
        succeed("run", "--model", "bundled:lstm", "--quiet", *options, "--out", place / name)
        shutil.copy(EARLIER_TABLES / f"{name}.md", place / name / "table.md")
        seal_anew(place / name)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("name", ["selected", "effects"])
def test_a_run_with_an_earlier_table_verifies(earlier, name):
    today = call("table", earlier / name).stdout
    assert today != (earlier / name / "table.md").read_text("utf-8")
    assert "2 tables from suite and evidence" in succeed("verify", earlier / name).stdout


# A cell, a heading, a row, a number in a note, and a note of an earlier table in a current table.
CHANGES = [
    ("0.957", "0.958"), ("12†", "13†"), ("Accuracy", "Correct"), ("Across a PP ", "Across an RC "),
    ("fewer than 5 entries", "fewer than 50 entries"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_an_earlier_table_that_was_changed_is_noticed(earlier, tmp_path, before, after):
    run = tmp_path / "run"
    shutil.copytree(earlier / "selected", run)
    table = (run / "table.md").read_text("utf-8")
    assert before in table
    (run / "table.md").write_text(table.replace(before, after), "utf-8")
    seal_anew(run)
    done = call("verify", run)
    assert (done.returncode, "table.md is not the table that tseval" in done.stdout) == (1, True)
