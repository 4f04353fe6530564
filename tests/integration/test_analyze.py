"""`tseval analyze` on runs made a moment before, as a user meets it."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from in_process import call, printed, refuse, succeed
from scipy.stats import sem
from scipy.stats import t as student
from small import make_case, make_run, make_suite

from tseval.runs import read_run

WORDS = {"laughs": -1.0, "laugh": -2.0, "are": -1.5, "is": -1.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models on a few items of `agreement`, and one of them on its profile."""
    folder = tmp_path_factory.mktemp("analyses")
    (folder / "mine").mkdir()
    (folder / "mine" / "lexicon.yaml").write_text(
        "noun: {a: [author, pilot], b: [guard, chef]}\nverb: {main: [laughs, swims]}\n"
    )
    (folder / "mine" / "pp.jinja").write_text(
        "---\nconstruction: PP\nphenomenon: Agreement\nlexicon: lexicon.yaml\n"
        "slots: {subject: noun.a, other: noun.b, verb: verb.main}\n"
        "features:\n  number: subject.number\n  n_intervening: 1\n  distance: 3\n"
        "  n_attractors: 1 if other.number != subject.number else 0\n---\n"
        "grammatical: the {{ subject }} near the {{ other }} {{ verb | agree(subject) }}\n"
        "ungrammatical: the {{ subject }} near the {{ other }} {{ verb | disagree(subject) }}\n"
    )
    for name, more in (("a", []), ("b", ["--score", "critical"])):
        succeed("run", "--model", "bundled:lstm", "--suite", "mine", "--out", name, *more, cwd=folder)
    succeed("run", "--model", "bundled:lstm", "--suite", "mine:profile", "--out", "p", cwd=folder)
    return folder


def analyze(*arguments, cwd):
    return printed("analyze", *arguments, cwd=cwd)


def test_attractors_prints_the_counts_of_the_run(folder):
    found = json.loads(analyze("attractors", "a", "--format", "json", cwd=folder))
    verdicts = read_run(folder / "a").verdicts
    rows = {(row["n_intervening"], row["n_attractors"]): row for row in found["rows"]}
    for k in (0, 1):
        own = verdicts[verdicts["n_attractors"] == k]
        assert (rows[1, k]["n_items"], rows[1, k]["n_correct"]) == (len(own), own["correct"].sum()) != (0, 0)
        assert rows[1, k]["accuracy"] == own["correct"].mean()
        assert rows[1, k]["low"] < rows[1, k]["accuracy"] < rows[1, k]["high"]
    assert (rows[0, 0]["n_items"], rows[0, 0]["accuracy"]) == (0, None)
    printed = analyze("attractors", "a", cwd=folder)
    assert "- No items with these numbers of intervening nouns and attractors: 0 and 0." in printed
    assert "suite:mine@" in printed


def test_two_runs_of_one_model_stand_beside_each_other_under_names_of_their_own(folder):
    printed = analyze("attractors", "a", "b", cwd=folder)
    assert "lstm (a)" in printed
    assert "lstm (b)" in printed
    assert "- The runs are scored in different ways (lstm (a): sentence, lstm (b): critical)." in printed


def test_attractors_held_fixed_leave_the_non_attractors(folder):
    rows = analyze("attractors", "a", "--distance", "3", "--attractors", "0", "--format", "csv", cwd=folder)
    assert [line.split(",")[:3] for line in rows.splitlines()] == [
        ["model", "n_non_attractors", "n_items"], ["lstm", "0", "0"], ["lstm", "1", "16"]
    ]  # fmt: skip


def test_a_profile_has_a_row_for_each_word(folder):
    found = json.loads(analyze("profile", "p", "--where", "n_attractors=1", "--format", "json", cwd=folder))
    assert [(row["position"], row["word"], row["varies"]) for row in found["rows"]] == [
        (1, "the", False), (2, "author", True), (3, "near", False), (4, "the", False), (5, "guards", True)
    ]  # fmt: skip
    verdicts = read_run(folder / "p").verdicts
    chosen = verdicts[(verdicts["n_attractors"] == 1) & (verdicts["position"] == 5)]
    ratio = pd.Series(2.718281828459045 ** (chosen["worse_score"] - chosen["better_score"]).astype(float))
    assert found["rows"][4]["confidence"] == pytest.approx((1 / (1 + ratio)).mean())
    options = ["--where", "n_attractors=0", "--where", "n_attractors=1", "--case", "pp"]
    printed = analyze("profile", "p", *options, cwd=folder)
    assert " (author) |" in printed
    assert "- Items with case pp and n_attractors 0 or 1." in printed


def test_a_profile_of_items_of_one_length(tmp_path):
    """Two of three items have two words before the verb."""
    pairs = [("the author laughs", "the author laugh"), ("the tall author laughs", "the tall author laugh"),
             ("the pilot laughs", "the pilot laugh")]  # fmt: skip
    lines = (json.dumps({"good": good, "bad": bad}) + "\n" for good, bad in pairs)
    (tmp_path / "pairs.jsonl").write_text("".join(lines))
    succeed("run", "--model", "bundled:lstm", "--suite", "./pairs.jsonl:profile", "--out", "p", cwd=tmp_path)
    found = json.loads(analyze("profile", "p", "--words", "2", "--format", "json", cwd=tmp_path))
    assert [(row["position"], row["n_items"]) for row in found["rows"]] == [(1, 2), (2, 2)]
    assert "Items with 2 words before the verb." in found["notes"]


def test_rows_are_those_of_the_table_with_their_intervals(folder):
    found = json.loads(analyze("rows", "a", "b", "--by", "n_attractors", "--format", "json", cwd=folder))
    of_table = json.loads(
        call("table", "a", "b", "--by", "n_attractors", "--format", "json", cwd=folder).stdout
    )
    told = ("model", "construction", "n_attractors", "accuracy", "low", "high")
    own = [tuple(row[name] for name in told) for row in found["rows"] if row.get("construction")]
    assert own == [tuple(row[name] for name in told) for row in of_table["rows"]]
    assert len(own) == 4


def test_pairs_are_counted_item_by_item(folder):
    found = json.loads(analyze("pairwise", "a", "b", "--format", "json", cwd=folder))
    right = [read_run(folder / name).verdicts["correct"].tolist() for name in "ab"]
    cells = Counter(zip(*right, strict=True))
    whole = found["rows"][0]
    assert whole["n_intervening"] is None
    assert [whole[name] for name in ("both", "only_first", "only_second", "neither")] == [
        cells[a, b] for a in (True, False) for b in (True, False)
    ]
    assert len(found["rows"]) == 2  # all items, and those with one intervening noun: the same
    table = analyze("pairwise", "a", "b", "--format", "csv", cwd=folder)
    assert [line.split(",")[0] for line in table.splitlines()] == ["n_intervening", "", "1"]
    by_number = analyze("pairwise", "a", "b", "--by", "number", cwd=folder)
    assert "**Pairs, number: plur**" in by_number
    assert "**Pairs, intervening nouns: 1**" in analyze("pairwise", "a", "b", cwd=folder)


def test_differences_are_printed_with_intervals_and_a_word(folder):
    found = json.loads(analyze("pairwise", "a", "b", "--margin", "0.5", "--format", "json", cwd=folder))
    first, second = (read_run(folder / name).verdicts["correct"].astype(float) for name in "ab")
    whole = found["rows"][0]
    assert whole["difference"] == pytest.approx(first.mean() - second.mean())
    assert whole["low"] <= whole["difference"] <= whole["high"]
    assert {"se", "df", "p", "p_holm", "p_beyond", "p_mcnemar", "p_mcnemar_holm"} <= set(whole)
    assert whole["fixed"] == ["subject", "other", "verb"]
    assert whole["clusters"] == {}
    printed = analyze("pairwise", "a", "b", "--margin", "0.5", cwd=folder)
    assert f"| {whole['outcome']}" in printed
    assert "**McNemar's test, items independent, all items**" in printed
    assert "- Intervals are of 95%, items independent. What has fewer than 5 entries in a row" in printed
    assert "the difference is surely smaller than 0.5" in printed
    table = analyze("pairwise", "a", "b", "--format", "csv", cwd=folder).splitlines()
    assert '"subject, other, verb"' in table[1]


def test_models_that_decide_nothing_together_get_dashes_and_a_reason(tmp_path):
    suite = make_suite(make_case("one", [("the author laughs", "the author laugh")]))
    make_run(suite, WORDS, path=tmp_path / "a", model="a")
    make_run(suite, WORDS, path=tmp_path / "b", model="b", unknown=("laughs", "laugh"))
    printed = analyze("pairwise", "a", "b", cwd=tmp_path)
    assert "nan" not in printed.lower()
    assert "- Where no item is decidable for both models there is no difference to tell." in printed
    (row,) = json.loads(analyze("pairwise", "a", "b", "--format", "json", cwd=tmp_path))["rows"]
    assert (row["n_items"], row["difference"], row["outcome"], row["clusters"]) == (0, None, None, None)


@pytest.mark.parametrize("form", ["md", "csv", "json", "latex"])
def test_every_form_is_written_to_a_file_as_it_is_printed(folder, tmp_path, form):
    printed = analyze("attractors", "a", "--format", form, cwd=folder)
    assert analyze("attractors", "a", "--format", form, "-o", tmp_path / "out", cwd=folder) == ""
    assert (tmp_path / "out").read_text() == printed


def test_the_means_of_a_profile_have_intervals_of_student(folder):
    found = json.loads(analyze("profile", "p", "--format", "json", cwd=folder))
    verdicts = read_run(folder / "p").verdicts
    for row in found["rows"]:
        own = verdicts[verdicts["position"] == row["position"]]
        confidence = 1 / (1 + np.exp(own["worse_score"] - own["better_score"]))
        low, high = student.interval(0.95, len(own) - 1, confidence.mean(), sem(confidence))
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-12)
        assert row["low"] <= row["confidence"] <= row["high"]


def test_figures_are_drawn_as_svg_and_png(folder, tmp_path):
    for analysis, run in (("attractors", "a"), ("profile", "p"), ("rows", "a")):
        files = [tmp_path / f"{analysis}.{kind}" for kind in ("svg", "png")]
        analyze(analysis, run, "--figure", files[0], "--figure", files[1], cwd=folder)
        assert ET.parse(files[0]).getroot().tag.endswith("svg")  # noqa: S314 - ours
        assert files[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attractors", "nowhere"], "there is no run or board at 'nowhere'"),
        (["attractors", "bhatt2020"], "is a published board: it has no items to analyse"),
        (["attractors", "a", "a"], "'a' is named twice"),
        (["attractors", "a", "p"], "are over different items"),
        (["attractors", "a", "--where", "n_attractors=5"], "no item has n_attractors '5'.\n  Values: 0, 1."),
        (["attractors", "a", "--attractors", "5"], "no item has n_attractors '5'"),
        (["attractors", "a", "--where", "number"], "write FEATURE=VALUE"),
        (["attractors", "a", "--case", "xx"], "no item has case 'xx'.\n  Values: pp."),
        (["attractors", "a", "--figure", "a.gif"], "the name of a figure ends in .svg or .pdf or .png"),
        (["rows", "a", "b", "--group"], "lstm (a) and lstm (b) are of one model, not of two seeds"),
        (["rows", "a", "--by", "tense"], "no feature 'tense'"),
        (["profile", "p", "--words", "4"], "no item has 4 words before the verb.\n  There are items with 5."),
        (["profile", "a", "--words", "5"],
         "no feature 'position'.\n  A profile needs a run of a suite's :profile"),
        (["profile", "a"], "no feature 'position'.\n  A profile needs a run of a suite's :profile"),
        (["pairwise", "a"], "pairs need two runs or more"),
        (["pairwise", "a", "b", "--by", "tense"], "no feature 'tense'"),
        (["pairwise", "a", "b", "--margin", "0"], "a margin is a difference of accuracies, between 0 and 1"),
        (["pairwise", "a", "b", "--margin", "nan"], "and nan is not.\n  Give the smallest difference"),
        (["pairwise", "a", "b", "--margin", "x"], "'x' is not a valid float"),
        (["pairwise", "a", "p"], "are over different items"),
        (["attractors"], "Missing argument 'RUN...'"),
    ],
)  # fmt: skip
def test_what_cannot_be_analysed_is_one_message(folder, arguments, message):
    assert message in refuse("analyze", *arguments, cwd=folder).stderr


def test_a_suite_without_intervening_nouns_is_told_where_to_find_one(tmp_path):
    suite = make_suite(make_case("one", [("the author laughs", "the author laugh")]))
    make_run(suite, WORDS, path=tmp_path / "r")
    done = call("analyze", "attractors", tmp_path / "r")
    assert (done.returncode, "Take a suite whose items say it: agreement" in done.stderr) == (2, True)


@pytest.mark.parametrize("more", [[], ["--attractors", "0"]])
def test_a_figure_of_nothing_is_refused_and_the_table_says_so(tmp_path, more):
    features = {"n_intervening": [0], "n_attractors": [0]}
    suite = make_suite(make_case("one", [("the author laughs", "the author laugh")], features=features))
    make_run(suite, WORDS, unknown=("laughs", "laugh"), path=tmp_path / "r")
    done = call("analyze", "attractors", tmp_path / "r", *more, "--figure", tmp_path / "a.svg")
    assert (done.returncode, "so there is nothing to draw" in done.stderr) == (2, True)
    assert "1 are undecidable, left out" in analyze("attractors", tmp_path / "r", *more, cwd=tmp_path)


NAMES = ["<b>|x|", "=1+1", "$\\frac$", "_hidden", "a\u202eb"]


def test_names_of_models_and_words_are_only_text(tmp_path):
    rows = [("the author laughs", "the author laugh"), ("the pilots are", "the pilots is")]
    features: dict[str, list[Any]] = {"n_intervening": [0, 1], "n_attractors": [0, 1], "position": [1, 2]}
    features["word"] = ["<b>", "$\\frac$"]
    suite = make_suite(make_case("one", rows, features=features))
    runs = [f"run{i}" for i in range(len(NAMES))]
    for run, name in zip(runs, NAMES, strict=True):
        make_run(suite, WORDS, path=tmp_path / run, model=name)
    for analysis in ("attractors", "profile", "pairwise"):
        figures = [tmp_path / f"{analysis}.svg", tmp_path / f"{analysis}.png"]
        drawn = [] if analysis == "pairwise" else ["--figure", figures[0], "--figure", figures[1]]
        printed = analyze(analysis, *runs, *drawn, cwd=tmp_path)
        assert "\u202e" not in printed
        tables, _, _ = printed.partition("suite:small@")  # signatures are set as code
        assert "<b>" not in tables.replace("\\<b\\>", "")
        assert "\\<b\\>\\|x\\|" in tables
        cells = [cell for line in analyze(analysis, *runs, "--format", "csv", cwd=tmp_path).splitlines()
                 for cell in line.split(",")]  # fmt: skip
        assert "'=1+1" in cells
        assert not any(cell.startswith("=") for cell in cells)
        for figure in figures[: len(drawn) // 2 : 2]:
            tags = {element.tag.rpartition("}")[2] for element in ET.parse(figure).iter()}  # noqa: S314 - ours
            assert "b" not in tags
