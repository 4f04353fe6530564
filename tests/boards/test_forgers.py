"""Forged entries by people who know the format: every known way around verification is closed."""

import re
import shutil
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from forged import (
    add_and_write,
    board_of_pairs,
    edit_json,
    evidence_forged,
    model_of_symbols,
    put,
    seal_anew,
    with_key,
)
from in_process import call

from tseval.adapters import open_model
from tseval.boards import About
from tseval.boards.check import verify_entry, wrong_with_board
from tseval.boards.definition import read_definition
from tseval.boards.folder import new_board
from tseval.boards.readme import write_pages
from tseval.errors import TsevalError
from tseval.evaluation import evaluate
from tseval.evidence import read_evidence
from tseval.suites import load_suite

DRAW = np.random.default_rng(0)
DYCK = "dyck(2,2,test=300,train=100)"


@pytest.fixture(scope="module")
def lstm():
    return open_model("bundled:lstm")


@pytest.fixture(scope="module")
def pairs_entry(lstm, tmp_path_factory):
    return board_of_pairs(tmp_path_factory.mktemp("pairs"), lstm)


@pytest.fixture(scope="module")
def dyck_entry(tmp_path_factory):
    root = tmp_path_factory.mktemp("dyck")
    evaluate(model_of_symbols(root / "srn.pt", DYCK, "srn"), load_suite(DYCK), out=root / "run")
    new_board(root / "board", DYCK)
    return add_and_write(root / "board", [root / "run"], About())[0]


@pytest.fixture
def entry(pairs_entry, tmp_path):
    return copy_of(pairs_entry, tmp_path)


@pytest.fixture
def dyck(dyck_entry, tmp_path):
    return copy_of(dyck_entry, tmp_path)


def copy_of(entry, to):
    shutil.copytree(entry.parents[2], to / "copy")
    return to / "copy/board/entries" / entry.name


def forge_key(entry, edit):
    with_key(entry, edit)
    seal_anew(entry)


def with_evidence(entry, edit):
    """Edit the table of evidence; update counts, and the written files as far as possible."""
    evidence_forged(entry, None, edit)
    seal_anew(entry)
    with suppress(TsevalError):  # some forgeries give no counts
        write_pages(entry.parents[1], read_definition(entry.parents[1]))


def wrong(entry, model=None):
    """Return the wrong level and its message; a check of the board must give the same message."""
    report = verify_entry(entry, model=model, share=1.0)
    (found,) = (check for check in report.checks if not check.ok)
    if model is None:
        assert wrong_with_board(entry.parents[1]) == [f"{entry.name}: {found.found}"]
    return found.level, found.found


def of_key(edit):
    return lambda entry: forge_key(entry, edit)


def of_part(part):
    """Move a part of the key into the protocol, where any name is allowed."""

    def edit(key):
        key["protocol"][part], key[part] = key[part], "ab" * 32 if part == "fingerprint" else key[part]

    return of_key(edit)


def of_column(name, first, others, kind):
    """Add or replace a column of the evidence; its first row has a different value."""
    return lambda entry: with_evidence(
        entry, lambda table: put(table, name, pa.array([first, *[others] * (table.num_rows - 1)], kind))
    )


def of_answers(name, edit):
    """Edit the answers inside sentences; rows without an answer stay empty."""

    def answers(table):
        edited = [value if value is None else edit(value) for value in table[name].to_pylist()]
        return put(table, name, pa.array(edited, pa.float64()))

    return lambda entry: with_evidence(entry, answers)


def of_number(entry):
    (entry / "entry.yaml").write_text(f"format: 0x{'f' * 4000}\n")


# The forgery, the level that detects it, and the message.
OF_PAIRS = {
    **{f"{part} in the protocol does not stand for that of the key":
       (of_part(part), "whole", r"key `key\.protocol` contradicts")
       for part in ("fingerprint", "terminator", "model", "score", "suite")},
    "another terminator than the suite's does not follow":
        (of_key(lambda key: key.update(terminator="<eos>")), "recomputed",
         (r"^manifest\.json: the key `key\.terminator` \(final mark of sentences\) is '<eos>', but in the "
          r"suite")),
    "scores that follow from no evidence":
        (of_key(lambda key: key.update(score="sentence/penlp")), "whole", ""),
    # If there are pieces, sums over sentences use them, so the words would have no effect.
    "a model of words has no pieces":
        (lambda entry: with_evidence(entry, lambda table: table.append_column("pieces", table["logprob"])),
         "plausible",
         "^the evidence has a column 'pieces' about sub-word pieces, but a model of kind 'native' reads"),
    # Items whose sentences begin with different unscored tokens are undecidable, so a forger could choose
    # them.
    "a model of words leaves no first token unscored":
        (of_column("unscored", 7, None, pa.int64()), "plausible", ""),
    "pieces that are missing":
        (of_column("pieces", None, -1.0, pa.float32()), "whole", "'pieces' should have a number"),
    **{f"a word is seen with nothing around it: {seen!r}":
       (of_column("seen", seen, None, pa.string()), "whole", "not exactly one word")
       for seen in (" the", "the ", "the\u00a0", "the\x1f")},
    "a column that evidence does not have":
        (of_column("more", "x", "x", pa.string()), "whole", "it has the columns logprob, seen, more"),
    "a number that Python does not print":
        (of_number, "whole", r"a whole number has more than 100 digits \(line 1\)"),
}  # fmt: skip
OF_DYCK = {
    "the least share is the suite's":
        (of_answers("wrong", lambda _: -50.0), "plausible",
         r"^at every word that the suite tests, the value in the column 'wrong' must be -0\.223144"),
    "answers after one prefix are one":
        (of_answers("right", lambda _: -DRAW.random()), "plausible", "has two different numbers"),
    **{f"{name} answers stand where something is asked":
       (of_answers(name, lambda _: None), "recomputed|plausible", "") for name in ("right", "wrong")},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", [*OF_PAIRS, *OF_DYCK])
def test_a_forgery_is_found_at_its_level_and_named(what, request):
    entry = request.getfixturevalue("entry" if what in OF_PAIRS else "dyck")
    forge, level, words = (OF_PAIRS | OF_DYCK)[what]
    forge(entry)
    found, said = wrong(entry)
    assert re.fullmatch(level, found), said
    assert re.search(words, said), said


@pytest.mark.parametrize(
    ("name", "value"), [("tseval: words", "corrected"), ("words", None), ("state", True)]
)
def test_a_protocol_that_the_model_does_not_have_is_found_by_asking(entry, lstm, name, value):
    forge_key(entry, lambda key: key["protocol"].update({name: value}))
    level, said = wrong(entry, lstm)
    assert (level, f"{name}: " in said) == ("rerun", True)


def test_honest_answers_are_plausible(dyck):
    assert verify_entry(dyck).ok
    assert wrong_with_board(dyck.parents[1]) == []


@pytest.mark.parametrize("name", ["core_parameters", "validation_perplexity"])
def test_numbers_without_end_are_no_traceback(entry, name):
    edit_json(entry / "manifest.json", lambda manifest: manifest["model"]["details"].update({name: 10**400}))
    seal_anew(entry)
    board = entry.parents[1]
    for command in (("check", board), ("write", board), ("build", board, "-o", entry.parents[3] / "site")):
        done = call("board", *command)
        assert done.returncode in {0, 1}, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slowest
def test_evidence_that_unpacks_to_more_than_is_read_is_refused_before(entry):
    """A page of one 250 MB text, repeated, is only kilobytes in the file."""
    whole = read_evidence(entry / "evidence.parquet").table
    schema = whole.schema.with_metadata(pa.parquet.read_schema(entry / "evidence.parquet").metadata)
    text = pa.array(["a" * (250 << 20)])
    rows = pa.table([whole["logprob"].slice(0, 1), text], schema=schema)
    with pa.parquet.ParquetWriter(
        entry / "evidence.parquet", schema, compression="zstd",
        use_dictionary=False, write_statistics=False,  # either would read the whole text for each page
    ) as file:  # fmt: skip
        for _ in range(5):
            file.write_table(rows)
    seal_anew(entry)
    level, said = wrong(entry)
    assert (level, "bytes when unpacked, but at most" in said) == ("whole", True)


def test_a_figure_that_a_browser_would_run_is_named(entry):
    board = entry.parents[1]
    (board / "curves").mkdir()
    (board / "curves.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    (board / "curves" / f"{entry.name}.parquet").symlink_to(entry / "evidence.parquet")
    found = wrong_with_board(board)
    assert f"curves/{entry.name}.parquet is a link" in found
    assert "curves.svg contains code that a browser would run, so tseval did not draw this figure" in found
