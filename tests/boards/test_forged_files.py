"""Forgeries of every file of a run and a board are detected at the level in docs/results/forgeries.md."""

import random
import re
import shutil
from pathlib import Path

import pytest
from forged import OF_BOTH, OF_ENTRIES, OF_RUNS, board_of_pairs, print_anew, seal_anew

from tseval.adapters import open_model
from tseval.boards.check import board_suite, verify_entry, wrong_with_board
from tseval.boards.definition import read_definition
from tseval.boards.readme import write_pages
from tseval.suites import load_suite
from tseval.verifying import verify_run

DOCS = Path(__file__).parents[2] / "docs/results/forgeries.md"
NEARLY_ALL = 1 - 1e-9  # of the sentences: `rescored`, not `rerun`


@pytest.fixture(scope="module")
def model():
    return open_model("bundled:lstm")


@pytest.fixture(scope="module")
def honest(model, tmp_path_factory):
    """Make a suite, a run on it, and a board with that run."""
    root = tmp_path_factory.mktemp("forged")
    board_of_pairs(root, model)
    return root


def level_of_run(run, suite, model):
    report = verify_run(run, suite=str(suite), model=model, share=NEARLY_ALL)
    return "nothing" if report.ok else report.checks[-1].level


def level_of_entry(entry, split, model):
    report = verify_entry(entry, suite=split, model=model, share=NEARLY_ALL)
    if not report.ok:
        return report.checks[-1].level
    return "check" if wrong_with_board(entry.parents[1]) else "nothing"


@pytest.mark.slow
def test_what_is_honest_is_seen_by_nothing(honest, model):
    split = board_suite(honest / "board")
    assert level_of_run(honest / "run", honest / "pairs.jsonl", model) == "nothing"
    assert level_of_entry(honest / "board" / "entries" / "lstm", split, model) == "nothing"


def levels_of(kind, sealed, copy, forge_and_look):
    """Draw forgeries of a kind, and return the levels that detect them."""
    found = set()
    for seed in range(kind.seeds[sealed]):
        copy()
        found.add(forge_and_look(random.Random(f"{kind.what} {seed}")))
    return found


SORTS = [(kind, sealed) for sealed in (False, True) for kind in (*OF_RUNS, *OF_BOTH, *OF_ENTRIES)
         if (kind.sealed if sealed else kind.naive)]  # fmt: skip


def named(kinds):
    return [pytest.param(kind, sealed, id=f"{kind.what}{', sealed anew' if sealed else ''}")
            for kind, sealed in SORTS if kind in kinds]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "sealed"), named((*OF_RUNS, *OF_BOTH)))
def test_a_forged_run_is_seen(kind, sealed, honest, model, tmp_path):
    suite, run = honest / "pairs.jsonl", tmp_path / "run"
    loaded = load_suite(suite)

    def copy():
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(honest / "run", run)

    def forge_and_look(draw):
        kind.forge(draw, run, loaded)
        if sealed:
            seal_anew(run)
            if kind in OF_BOTH:
                print_anew(run)
        return level_of_run(run, suite, model)

    assert levels_of(kind, sealed, copy, forge_and_look) == {kind.sealed if sealed else kind.naive}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "sealed"), named((*OF_BOTH, *OF_ENTRIES)))
def test_a_forged_board_is_seen(kind, sealed, honest, model, tmp_path):
    board = tmp_path / "board"
    entry = board / "entries" / "lstm"
    (tmp_path / "pairs.jsonl").write_bytes((honest / "pairs.jsonl").read_bytes())
    split = board_suite(honest / "board")

    def copy():
        shutil.rmtree(board, ignore_errors=True)
        shutil.copytree(honest / "board", board)

    def forge_and_look(draw):
        kind.forge(draw, entry, split.suite)
        if sealed:
            seal_anew(entry)
            if kind.sealed in ("check", "nothing"):
                write_pages(board, read_definition(board))
        return level_of_entry(entry, split, model)

    assert levels_of(kind, sealed, copy, forge_and_look) == {kind.sealed if sealed else kind.naive}


def test_a_thousand_are_drawn_and_the_page_lists_exactly_these_kinds():
    drawn = [kind.seeds[sealed] * (1 + (kind in OF_BOTH)) for kind, sealed in SORTS]
    assert sum(drawn) >= 1000
    section = DOCS.read_text().partition("## Forged files")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| (.+?) +\| (\S+) +\| (\S+) +\|$", section, re.MULTILINE)
    kinds = (*OF_RUNS, *OF_BOTH, *OF_ENTRIES)
    assert listed == [(kind.what, _code(kind.naive), _code(kind.sealed)) for kind in kinds]


def _code(level):
    return "–" if level is None else level if level == "nothing" else f"`{level}`"
