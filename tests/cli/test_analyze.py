"""`tseval analyze` on new runs, as users call it."""

import json
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from in_process import printed, refuse, succeed
from small import make_case, make_run, make_suite

from tseval.runs import read_run

WORDS = {"laughs": -1.0, "laugh": -2.0, "are": -1.5, "is": -1.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run two models on a few items of `agreement`, and one of them on the profile."""
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


@pytest.mark.slow
def test_attractors_prints_the_counts_of_the_run(folder):
    found = json.loads(analyze("attractors", "a", "--format", "json", cwd=folder))
    verdicts = read_run(folder / "a").verdicts
    rows = {(row["n_intervening"], row["n_attractors"]): row["accuracy"] for row in found["rows"]}
    accuracies = verdicts.groupby("n_attractors")["correct"].mean()
    assert rows == {(0, 0): None, (1, 0): accuracies[0], (1, 1): accuracies[1]}
    assert analyze("attractors", "a", "-o", "out", cwd=folder) == ""
    printed = analyze("attractors", "a", cwd=folder)
    assert (folder / "out").read_text() == printed
    assert "- No items with these numbers of intervening nouns and attractors: 0 and 0." in printed
    assert "suite:mine@" in printed


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


def test_pairs_are_counted_item_by_item_and_their_differences_have_a_word(folder):
    found = json.loads(analyze("pairwise", "a", "b", "--margin", "0.5", "--format", "json", cwd=folder))
    right = [read_run(folder / name).verdicts["correct"].tolist() for name in "ab"]
    cells = Counter(zip(*right, strict=True))
    whole = found["rows"][0]
    assert [whole[name] for name in ("both", "only_first", "only_second", "neither")] == [
        cells[a, b] for a in (True, False) for b in (True, False)
    ]
    assert whole["difference"] == pytest.approx((sum(right[0]) - sum(right[1])) / len(right[0]))
    assert whole["fixed"] == ["subject", "other", "verb"]
    assert len(found["rows"]) == 1, "only the table over all items"
    by = ("pairwise", "a", "b", "--by", "n_intervening", "--format", "json")
    assert [row["n_intervening"] for row in json.loads(analyze(*by, cwd=folder))["rows"]] == [None, 1]
    printed = analyze("pairwise", "a", "b", "--margin", "0.5", cwd=folder)
    assert f"| {whole['outcome']}" in printed
    assert printed.count("**Pairs, ") == 1
    assert "**Pairs, intervening nouns: 1**" in analyze(*by[:-2], cwd=folder)
    assert "**McNemar's test (items treated as independent), all items**" in printed
    assert "- 95% intervals treat items as independent. They do not generalise beyond factors" in printed
    assert "the difference is significantly smaller than 0.5" in printed
    assert "**Pairs, number: plur**" in analyze("pairwise", "a", "b", "--by", "number", cwd=folder)


@pytest.mark.slow
def test_figures_are_drawn_as_svg_and_png(folder, tmp_path):
    for analysis, run in (("attractors", "a"), ("profile", "p"), ("rows", "a")):
        files = [tmp_path / f"{analysis}.{kind}" for kind in ("svg", "png")]
        analyze(analysis, run, "--figure", files[0], "--figure", files[1], cwd=folder)
        assert ET.parse(files[0]).getroot().tag.endswith("svg")  # noqa: S314 - ours
        assert files[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attractors", "nowhere"], "'nowhere' is not the folder of a run or a leaderboard"),
        (
            ["attractors", "bhatt2020"],
            "is a leaderboard of published accuracies, which has no items to analyse",
        ),
        (
            ["attractors", "a", "--where", "n_attractors=5"],
            "no item has n_attractors=5.\n  Choose a value of n_attractors that items have: 0, 1.",
        ),
        (
            ["attractors", "a", "--where", "number"],
            "is not a condition on items. Write --where FEATURE=VALUE",
        ),
        (
            ["attractors", "a", "--case", "xx"],
            "no item has case=xx.\n  Choose a value of case that items have: pp.",
        ),
        (
            ["attractors", "a", "--figure", "a.gif"],
            "a figure cannot have this name. Choose a name that ends in .svg or .pdf or .png",
        ),
        (["rows", "a", "b", "--group"], "lstm (a) and lstm (b) are two runs of the same model"),
        (
            ["profile", "p", "--words", "4"],
            "no item has 4 words before the verb.\n  Choose a number of words that items have: 5.",
        ),
        (
            ["profile", "a", "--words", "5"],
            "no feature with the name 'position'.\n  A profile needs a run of a suite's :pr",
        ),
        (["pairwise", "a"], "a comparison of models in pairs needs at least two runs"),
        (["pairwise", "a", "b", "--by", "tense"], "no feature with the name 'tense'"),
        (["pairwise", "a", "b", "--margin", "nan"], "above 0 and below 1.\n  Write the smallest difference"),
        (["attractors"], "Missing argument 'RUN...'"),
    ],
)
def test_what_cannot_be_analysed_is_one_message(folder, arguments, message):
    assert message in refuse("analyze", *arguments, cwd=folder).stderr


def test_a_figure_of_nothing_is_refused_and_the_table_says_so(tmp_path):
    features = {"n_intervening": [0], "n_attractors": [0]}
    suite = make_suite(make_case("one", [("the author laughs", "the author laugh")], features=features))
    make_run(suite, WORDS, unknown=("laughs", "laugh"), path=tmp_path / "r")
    for more in ([], ["--attractors", "0"]):
        done = refuse("analyze", "attractors", tmp_path / "r", *more, "--figure", tmp_path / "a.svg")
        assert "so the figure would be empty" in done.stderr
        assert "1 are undecidable (not counted)" in analyze("attractors", tmp_path / "r", *more, cwd=tmp_path)
