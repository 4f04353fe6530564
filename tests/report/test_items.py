"""`tseval items`: every item of a run with its sentences, checked against the suite and plain arithmetic."""

import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest
from in_process import call
from supplied import LAU_RATINGS

import tseval

PAIRS = [
    ("good", "bad", "margin"),
    ("the author laughs .", "the author laugh .", "author"),
    ("the pilots zzyzx laugh .", "the pilots zzyzx laughs .", "pilot"),
    ("=the surgeon smiles .", "=the surgeon smile .", "surgeon"),
    ("the farmers swim .", "the farmers swims .", "farmer"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run the bundled model on a sample of a grammar, a table of pairs, ratings, and regions."""
    folder = tmp_path_factory.mktemp("items")
    (folder / "pairs.csv").write_text("\n".join(map(",".join, PAIRS)) + "\n", "utf-8")
    (folder / "rated.csv").write_text(
        "".join(LAU_RATINGS.read_text("utf-8").splitlines(keepends=True)[:30]), "utf-8"
    )
    for name, suite in (
        ("sampled", "marvin_linzen --case simple_agrmt --case prep_anim --sample 25"),
        ("on_pairs", "pairs.csv"), ("rated", "rated.csv"), ("regions", "filler_gap --sample 2"),
    ):  # fmt: skip
        ended = call(
            "run", "--model", "bundled:lstm", "--suite", *suite.split(), "--quiet", "--out", name, cwd=folder
        )
        assert ended.returncode == 0, ended.stderr
    return folder


def listed(folder, run, *options):
    """Return the rows that a command writes as JSON lines."""
    ended = call("items", run, *options, "-o", "all.jsonl", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in (folder / "all.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_sentences_and_margins_are_those_of_suite_and_model(runs):
    rows = listed(runs, "sampled")
    suite = {case.name: [*case.items()] for case in tseval.load_suite("marvin_linzen").cases}
    scores = {
        row["sentence"]: row["logprob"]
        for row in pq.read_table(runs / "sampled/sentences.parquet").to_pylist()
    }
    assert len(rows) == 50
    for row in rows:
        item = suite[row["case"]][row["item"]]
        assert (row["better"], row["worse"]) == tuple(f"{text} ." for text in item.sentences.values())
        assert row["margin"] == pytest.approx(scores[row["better"]] - scores[row["worse"]], abs=1e-9)
        assert row["outcome"] == ("right" if row["margin"] > 0 else "wrong")
        changed = [
            pair
            for pair in zip(row["better"].split(), row["worse"].split(), strict=True)
            if pair[0] != pair[1]
        ]
        assert [(row["better_differs"], row["worse_differs"])] == changed
        assert row["n_attractors"] == item.features["n_attractors"]


def test_wrong_items_are_sorted_by_margin(runs):
    everything = listed(runs, "sampled")
    wrong = listed(runs, "sampled", "--wrong", "--sort", "margin")
    expected = sorted(row["margin"] for row in everything if row["margin"] <= 0)
    assert [row["margin"] for row in wrong] == expected
    assert 0 < len(wrong) < len(everything)
    assert {row["case"] for row in listed(runs, "sampled", "--case", "prep_anim")} == {"prep_anim"}
    assert {row["n_attractors"] for row in listed(runs, "sampled", "--where", "n_attractors=1")} == {1}


def test_unknown_words_and_features_of_a_table_are_listed(runs):
    rows = listed(runs, "on_pairs", "--suite", "pairs.csv")
    assert [row["feature.margin"] for row in rows] == [row[2] for row in PAIRS[1:]]
    assert rows[1]["better_unknown"] == rows[1]["worse_unknown"] == "zzyzx"
    assert rows[1]["better_read"] == "the pilots <unk> laugh ."
    assert (rows[0]["better_unknown"], rows[0]["better_read"]) == (None, None)


def test_every_format_holds_the_same_and_a_sheet_runs_no_formula(runs):
    rows = listed(runs, "on_pairs", "--suite", "pairs.csv")
    for name in ("all.csv", "all.tsv", "all.xlsx"):
        assert call("items", "on_pairs", "--suite", "pairs.csv", "-o", name, cwd=runs).returncode == 0
    comma, tab = pd.read_csv(runs / "all.csv"), pd.read_csv(runs / "all.tsv", sep="\t")
    sheet = openpyxl.load_workbook(runs / "all.xlsx")["items"]
    headings, *cells = sheet.iter_rows(values_only=True)
    assert list(comma) == list(tab) == list(headings) == list(rows[0])
    for column in ("better", "worse", "outcome"):
        values = [row[column] for row in rows]
        assert [row[headings.index(column)] for row in cells] == values
        # A spreadsheet executes cells that begin with one of these characters.
        guarded = [f"'{text}" if text[0] in "=+-@" else text for text in values]
        assert comma[column].tolist() == tab[column].tolist() == guarded
    assert "'=the surgeon smiles ." in comma["better"].tolist()
    np.testing.assert_allclose(comma["margin"], [row["margin"] for row in rows], rtol=1e-12)
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n", "inlineStr"}
    assert sheet.cell(4, headings.index("better") + 1).value == "=the surgeon smiles ."


def test_rated_sentences_and_regions_are_listed_too(runs):
    rated = listed(runs, "rated", "--suite", "rated.csv")
    assert {row["outcome"] for row in rated} == {"rated"}
    assert all(row["worse"] is None and row["better"] and row["better_score"] < 0 for row in rated)
    regions = listed(runs, "regions")
    assert all(row["better"].count(" | ") == 3 for row in regions if row["construction"] == "Object gap")


def test_few_are_printed_and_the_note_says_how_to_get_all(runs):
    ended = call("items", "sampled", "--limit", "3", cwd=runs)
    assert ended.stdout.count("\n| prep_anim[") + ended.stdout.count("\n| simple_agrmt[") == 3
    assert "The first 3 of 50 items. To write all of them: -o items.csv" in ended.stdout
    assert len(json.loads(call("items", "sampled", "--json", cwd=runs).stdout)["rows"]) == 50


@pytest.mark.parametrize(
    ("arguments", "words", "fix"),
    [
        (["sampled", "-o", "x.doc"], "-o x.doc: the ending .doc is not one of .csv", "Write -o x.csv"),
        (
            ["sampled", "--where", "colour=red"],
            "have no feature with the name 'colour'",
            "Features: ",
        ),
        (
            ["sampled", "--suite", "filler_gap"],
            "sampled: the suite filler_gap does not have the case",
            "--suite SUITE",
        ),
        (["on_pairs"], "there is no suite 'pairs'", "--suite SUITE"),
        (["bhatt2020"], "bhatt2020 is a leaderboard of published accuracies", "Name folders of runs"),
    ],
)
def test_what_cannot_be_listed_is_one_message(arguments, words, fix, runs):
    ended = call("items", *arguments, cwd=runs)
    assert ended.returncode == 2
    assert words in ended.stderr.replace("tseval: ", "")
    assert fix in ended.stderr
