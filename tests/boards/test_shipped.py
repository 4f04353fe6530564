"""Boards as they come with the package: their numbers, and where the rest is; and the zoo."""

import shutil

import pytest
from in_process import call

from tseval.adapters import open_model
from tseval.boards import DEFINITION, About, sources
from tseval.boards.check import wrong_with_board
from tseval.boards.folder import add_entries, new_board
from tseval.evaluation import evaluate
from tseval.report.boards import BUNDLED_BOARDS
from tseval.suites import load_suite


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A board where the package has its own, without the evidence of its entry, and its table."""
    (tmp_path / "pairs.tsv").write_text("good\tbad\tn\nthe author laughs .\tthe author laugh .\t1\n")
    evaluate(open_model("bundled:lstm"), load_suite(tmp_path / "pairs.tsv"), out=tmp_path / "run")
    board = tmp_path / "leaderboards/mine"
    new_board(board, "../../pairs.tsv")
    add_entries(board, [tmp_path / "run"], About())
    monkeypatch.setattr(sources, "BUNDLED_BOARDS", tmp_path / "leaderboards")
    (board / "entries/lstm/evidence.parquet").unlink()
    return board


def test_a_board_without_its_evidence_shows_its_numbers(shipped):
    table = call("table", shipped)
    assert table.returncode == 0
    assert "| The one row " in table.stdout


def test_the_page_of_a_board_without_its_evidence_says_why_it_has_no_items(shipped, tmp_path):
    assert call("board", "build", shipped, "-o", tmp_path / "site").returncode == 0
    page = (tmp_path / "site/index.html").read_text("utf-8")
    assert "There are no items on this page: mine: what its numbers follow from is not a part of the" in page


@pytest.mark.parametrize("command", [("verify",), ("table", "--by", "n"), ("analyze", "pairwise")])
def test_whatever_needs_the_evidence_says_where_it_is(shipped, command):
    done = call(*command, shipped)
    assert done.returncode == 2
    assert "mine: what its numbers follow from is not a part of the installed package" in done.stderr
    assert "Clone tseval's repository and name the folder there: leaderboards/mine" in done.stderr


def test_a_board_of_ones_own_that_lost_its_evidence_is_wrong(shipped, tmp_path):
    shutil.copytree(shipped, tmp_path / "other/own")
    assert "lstm: has no evidence.parquet" in wrong_with_board(tmp_path / "other/own")
    assert call("verify", tmp_path / "other/own").returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zoo", "zoo-wide"])
def test_every_number_of_a_zoo_follows_from_its_evidence(name):
    zoo = BUNDLED_BOARDS / name
    if not (zoo / DEFINITION).is_file() or sources.lacks_evidence(zoo):
        pytest.skip("the evidence of zoos is not here: it is not a part of source distributions")
    assert wrong_with_board(zoo) == []
