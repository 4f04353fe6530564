"""Forgers of entries who know the format: each way round verification that was found is closed."""

import shutil
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from forged import board_of_pairs, edit_json, evidence_forged, seal_anew, with_key
from in_process import call

from tseval.adapters import open_model
from tseval.boards import About, read_definition
from tseval.boards.check import verify_entry, wrong_with_board
from tseval.boards.folder import add_entries, new_board, write_pages
from tseval.errors import TsevalError
from tseval.evaluation import evaluate
from tseval.evidence import read_evidence
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language

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
    alphabet = parse_language(DYCK).alphabet
    torch.manual_seed(1)
    network = LanguageModel(Sizes("srn", len(alphabet) + 2, 8, 12, 1))
    words = Vocabulary(("<eos>", "<unk>", *alphabet), lowercase=False)
    save_checkpoint(root / "srn.pt", network, words, training={}, validation_perplexity=None)
    evaluate(open_model(str(root / "srn.pt")), load_suite(DYCK), out=root / "run")
    new_board(root / "board", DYCK)
    return add_entries(root / "board", [root / "run"], About())[0]


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
    """Edit the table of evidence, and let counts and written files follow, as far as they can be made."""
    evidence_forged(entry, None, edit)
    seal_anew(entry)
    with suppress(TsevalError):  # nothing follows from some forgeries
        write_pages(entry.parents[1], read_definition(entry.parents[1]))


def wrong(entry, model=None):
    """Give the level that is wrong, and what is said; a check of the board says the same."""
    report = verify_entry(entry, model=model, share=1.0)
    (found,) = (check for check in report.checks if not check.ok)
    if model is None:
        assert wrong_with_board(entry.parents[1]) == [f"{entry.name}: {found.found}"]
    return found.level, found.found


@pytest.mark.parametrize("part", ["fingerprint", "terminator", "model", "score", "suite"])
def test_a_part_of_the_protocol_does_not_stand_for_one_of_the_key(entry, part):
    def edit(key):
        key["protocol"][part], key[part] = key[part], "ab" * 32 if part == "fingerprint" else key[part]

    forge_key(entry, edit)
    level, said = wrong(entry)
    assert (level, "key.protocol does not follow" in said) == ("whole", True)


@pytest.mark.parametrize(
    ("name", "value"), [("tseval: words", "corrected"), ("words", None), ("state", True)]
)
def test_a_protocol_that_the_model_does_not_have_is_found_by_asking(entry, lstm, name, value):
    forge_key(entry, lambda key: key["protocol"].update({name: value}))
    level, said = wrong(entry, lstm)
    assert (level, f"{name}: " in said) == ("rerun", True)


def test_another_terminator_than_the_suites_does_not_follow(entry):
    forge_key(entry, lambda key: key.update(terminator="<eos>"))
    assert wrong(entry) == (
        "recomputed",
        "manifest.json: key.terminator is '<eos>', but None follows from the suite",
    )


def test_scores_that_follow_from_no_evidence_are_refused(entry):
    forge_key(entry, lambda key: key.update(score="sentence/penlp"))
    assert wrong(entry)[0] == "whole"


def test_a_model_of_words_has_no_pieces(entry):
    """Sums over sentences are made of pieces where there are some: the words would say nothing of them."""
    with_evidence(entry, lambda table: table.append_column("pieces", table["logprob"]))
    assert wrong(entry) == (
        "plausible", "there is a column 'pieces', but words of a model of kind 'native' have no pieces"
    )  # fmt: skip


def test_a_model_of_words_leaves_no_first_token_unscored(entry):
    """Items whose sentences begin with different ones are undecidable: whoever forges chooses which."""
    tokens = [7] + [None] * (read_evidence(entry / "evidence.parquet").table.num_rows - 1)
    with_evidence(entry, lambda table: table.append_column("unscored", pa.array(tokens, pa.int64())))
    assert wrong(entry)[0] == "plausible"


def test_pieces_that_are_missing_are_no_traceback(entry):
    nothing = [None, *[-1.0] * (read_evidence(entry / "evidence.parquet").table.num_rows - 1)]
    with_evidence(entry, lambda table: table.append_column("pieces", pa.array(nothing, pa.float32())))
    level, said = wrong(entry)
    assert (level, "'pieces' should hold numbers" in said) == ("whole", True)


@pytest.mark.parametrize("seen", [" the", "the ", "the\u00a0", "the\x1f"])
def test_a_word_is_seen_with_nothing_around_it(entry, seen):
    def edit(table):
        column = [seen, *[None] * (table.num_rows - 1)]
        return table.set_column(table.column_names.index("seen"), "seen", pa.array(column, pa.string()))

    with_evidence(entry, edit)
    level, said = wrong(entry)
    assert (level, "not one word" in said) == ("whole", True)


def with_answers(entry, name, edit):
    """Edit what was answered inside sentences, where something was."""

    def edit_table(table):
        answers = [value if value is None else edit(value) for value in table[name].to_pylist()]
        return table.set_column(table.column_names.index(name), name, pa.array(answers, pa.float64()))

    with_evidence(entry, edit_table)


def test_honest_answers_are_plausible(dyck):
    assert verify_entry(dyck).ok
    assert wrong_with_board(dyck.parents[1]) == []


def test_the_least_share_is_the_suites(dyck):
    with_answers(dyck, "wrong", lambda _: -50.0)
    assert wrong(dyck) == (
        "plausible", "'wrong' should be the least share, -0.223144 nats, wherever the suite asks"
    )  # fmt: skip


def test_answers_after_one_prefix_are_one(dyck):
    draw = np.random.default_rng(0)
    with_answers(dyck, "right", lambda _: -draw.random())
    level, said = wrong(dyck)
    assert (level, "has two answers" in said) == ("plausible", True)


@pytest.mark.parametrize("name", ["right", "wrong"])
def test_answers_stand_where_something_is_asked(dyck, name):
    with_answers(dyck, name, lambda _: None)
    level, said = wrong(dyck)
    assert level in {"recomputed", "plausible"}, said


@pytest.mark.parametrize("name", ["core_parameters", "validation_perplexity"])
def test_numbers_without_end_are_no_traceback(entry, name):
    edit_json(entry / "manifest.json", lambda manifest: manifest["model"]["details"].update({name: 10**400}))
    seal_anew(entry)
    board = entry.parents[1]
    for command in (("check", board), ("write", board), ("build", board, "-o", entry.parents[3] / "site")):
        done = call("board", *command)
        assert done.returncode in {0, 1}, done.stderr
        assert "Traceback" not in done.stderr


def test_a_number_that_python_does_not_print_is_one_message(entry):
    (entry / "entry.yaml").write_text(f"format: 0x{'f' * 4000}\n")
    assert "a whole number has more than 100 digits (line 1)" in wrong(entry)[1]


def test_evidence_that_unpacks_to_more_than_is_read_is_refused_before(entry):
    """A page of one text of 250 MB, again and again, in some kilobytes."""
    whole = read_evidence(entry / "evidence.parquet").table
    schema = whole.schema.with_metadata(pa.parquet.read_schema(entry / "evidence.parquet").metadata)
    text = pa.array(["a" * (250 << 20)])
    rows = pa.table([whole["logprob"].slice(0, 1), text], schema=schema)
    with pa.parquet.ParquetWriter(entry / "evidence.parquet", schema, compression="zstd") as file:
        for _ in range(5):
            file.write_table(rows)
    seal_anew(entry)
    level, said = wrong(entry)
    assert (level, "bytes unpacked, more than" in said) == ("whole", True)


def test_a_column_that_evidence_does_not_have_is_not_read(entry):
    with_evidence(entry, lambda table: table.append_column("more", pa.array(["x"] * table.num_rows)))
    assert "it has the columns logprob, seen, more" in wrong(entry)[1]


def test_a_figure_that_a_browser_would_run_is_named(entry):
    board = entry.parents[1]
    (board / "curves").mkdir()
    (board / "curves.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    (board / "curves" / f"{entry.name}.parquet").symlink_to(entry / "evidence.parquet")
    found = wrong_with_board(board)
    assert f"curves/{entry.name}.parquet is a link" in found
    assert "curves.svg holds what a browser would run, as no figure of tseval does" in found
