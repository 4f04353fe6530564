"""Attractor grids, profiles and pairs of models, against hand counts and closed forms."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import call
from scipy.stats import binomtest, ttest_1samp
from scipy.stats import t as student
from supplied import GARDEN_PATHS

from tseval.analysis.breakdowns import (
    by_feature,
    by_non_attractors,
    compare_examples,
    headline,
    headline_interval,
    joint_grid,
    measure_of,
    profile,
)
from tseval.analysis.comparisons import mcnemar, pairwise
from tseval.analysis.features import select
from tseval.analysis.measures import NATS_PER_BIT, mean_effects, mean_surprisals
from tseval.errors import RunError, SuiteError
from tseval.suites import load_suite
from tseval.verdicts import judge, sentences_of


def verdicts(marks, **features):
    """Make verdicts from a text: + correct, - wrong, = tie, ? undecidable."""
    frame = pd.DataFrame(
        {"case": "case", "item": range(len(marks)), "contrast": "grammatical > ungrammatical",
         "better_score": 0.0, "worse_score": 0.0, "correct": [mark == "+" for mark in marks],
         "tie": [mark == "=" for mark in marks], "undecidable": [mark == "?" for mark in marks]}
    )  # fmt: skip
    return frame.assign(**{name: pd.array(values, "Int64") for name, values in features.items()})


def test_the_grid_has_a_row_for_every_number_of_attractors_even_where_there_are_no_items():
    grid = joint_grid(verdicts("++-=?+", n_intervening=[0, 2, 2, 2, 2, 2], n_attractors=[0, 0, 0, 0, 0, 2]))
    assert list(zip(grid["n_intervening"], grid["n_attractors"], strict=True)) == [
        (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)
    ]  # fmt: skip
    assert grid["n_items"].tolist() == [1, 0, 0, 4, 0, 1]
    assert grid["n_correct"].tolist() == [1, 0, 0, 1, 0, 1]
    assert (grid["n_tied"].tolist()[3], grid["n_undecidable"].tolist()[3]) == (1, 1)
    assert grid["accuracy"].fillna(-1).tolist() == [1, -1, -1, 1 / 3, -1, 1]
    assert grid["low"].isna().tolist() == [False, True, True, False, True, False]


def test_items_without_the_features_are_left_out_of_the_grid():
    assert joint_grid(verdicts("++", n_intervening=[1, None], n_attractors=[0, None]))["n_items"].sum() == 1


def test_non_attractors_are_the_other_intervening_nouns():
    rows = by_non_attractors(verdicts("+-+", n_intervening=[1, 3, 3], n_attractors=[1, 1, 1]))
    assert rows["n_non_attractors"].tolist() == [0, 1, 2]
    assert rows["n_items"].tolist() == [1, 0, 2]
    assert rows["accuracy"].tolist()[2] == 0.5


@pytest.mark.parametrize(
    ("analysis", "frame", "said"),
    [
        (joint_grid, verdicts("+", n_attractors=[1]),
         r"no feature with the name 'n_intervening'.\n  Use a suite with"),
        (profile, verdicts("+"), r"no feature with the name 'position'.\n  A profile needs .*:profile"),
    ],
)  # fmt: skip
def test_a_run_whose_suite_lacks_what_is_analysed_is_told_how_to_make_one(analysis, frame, said):
    with pytest.raises(SuiteError, match=said):
        analysis(frame)


def scored(rows):
    frame = pd.DataFrame(rows, columns=["case", "position", "word", "better_score", "worse_score"])
    return frame.assign(undecidable=False, item=0)


def test_confidence_is_the_share_of_the_right_answer_averaged_over_items():
    rows = profile(scored([
        ("b", 2, "author", math.log(0.3), math.log(0.1)), ("b", 1, "the", math.log(0.2), math.log(0.2)),
        ("b", 2, "pilots", math.log(0.1), math.log(0.3)), ("b", 1, "the", math.log(0.04), math.log(0.01)),
        ("a", 1, "no", 0.0, 0.0),
    ]))  # fmt: skip
    assert list(zip(rows["case"], rows["position"], strict=True)) == [("b", 1), ("b", 2), ("a", 1)]
    assert rows["confidence"].tolist() == pytest.approx([(0.5 + 0.8) / 2, (0.75 + 0.25) / 2, 0.5])
    assert rows["word"].tolist() == ["the", "author", "no"]
    assert rows["varies"].tolist() == [False, True, False]
    assert rows["n_items"].tolist() == [2, 2, 1]


def test_large_differences_have_a_confidence_of_0_or_1_and_no_overflow():
    rows = profile(scored([("a", 1, "x", -1e4, -1.0), ("a", 2, "y", -1.0, -1e4)]))
    assert rows["confidence"].tolist() == [0.0, 1.0]


def test_undecidable_items_take_no_part_in_a_profile():
    frame = scored([("a", 1, "x", 0.0, 0.0), ("a", 1, "x", 1.0, 1.0)])
    frame["undecidable"] = [True, False]
    assert profile(frame)["n_items"].tolist() == [1]
    with pytest.raises(SuiteError, match="no item of these runs can be decided"):
        profile(frame.assign(undecidable=True))


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_sum(b, c):
    n = b + c
    tail = sum(math.comb(n, k) for k in range(min(b, c) + 1)) / 2**n
    assert mcnemar(b, c) == pytest.approx(min(1.0, 2 * tail), rel=1e-9)


MARKS = {"a": "++--+?+-", "b": "+-+-+++=", "c": "-------+"}


def test_a_table_counts_what_only_one_of_two_models_gets_right():
    n = [0, 0, 0, 1, 1, 1, 1, 1]
    frames = {name: verdicts(marks, n_intervening=n) for name, marks in MARKS.items()}
    rows = pairwise({name: [frame] for name, frame in frames.items()}, "n_intervening").set_index(
        ["first", "second"]
    )
    assert len(rows) == 3 * 3
    assert list(map(str, rows["n_intervening"])) == ["None"] * 3 + ["0"] * 3 + ["1"] * 3
    pair: Any  # the index has two levels
    for pair, row in rows.iterrows():
        one, other = pair
        chosen = [i for i in range(8) if pd.isna(row["n_intervening"]) or n[i] == row["n_intervening"]]
        chosen = [i for i in chosen if "?" not in (MARKS[one][i], MARKS[other][i])]
        right = [(MARKS[one][i] == "+", MARKS[other][i] == "+") for i in chosen]
        counts = [right.count((a, b)) for a, b in itertools.product((True, False), repeat=2)]
        assert row[["both", "only_first", "only_second", "neither"]].tolist() == counts
        assert row["n_items"] == len(chosen)
        assert row["p_mcnemar"] == mcnemar(counts[1], counts[2])


def test_items_are_chosen_by_case_and_values_as_they_are_printed():
    frame = verdicts("+-+-", n=[1, 2, 2, None])
    frame["case"] = ["x", "x", "y", "y"]
    assert select(frame, [("n", "2")])["item"].tolist() == [1, 2]
    assert select(frame, [("n", "2"), ("case", "y")])["item"].tolist() == [2]
    assert select(frame, [("n", "1"), ("n", "2")])["item"].tolist() == [0, 1, 2]
    assert select(frame, [])["item"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([("m", "1")], r"no feature with the name 'm'.\n  .*Features: n."),
        ([("n", "7")], r"no item has n=7.\n  Choose a value of n that items have: 1, 2."),
        ([("case", "z")], r"no item has case=z.\n  Choose a value of case that items have: x, y."),
        (
            [("n", "1"), ("case", "y")],
            r"no item meets all of these conditions: n=1 and case=y.\n  Leave out one of the conditions.",
        ),
    ],
)
def test_a_choice_that_leaves_nothing_says_what_there_is(where, message):
    frame = verdicts("+-+-", n=[1, 2, 2, None])
    frame["case"] = ["x", "x", "y", "y"]
    with pytest.raises(SuiteError, match=message):
        select(frame, where)


# Examples of parsed trees against gold trees: hand counts, set operations, and scipy intervals.
COLUMNS = ["sentence", "verb_index", "subj_index", "number", "n_attractors"]


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


# Sentences a and b, with verbs at positions 3, 5, ...
GOLD = frame(
    ("a", 3, 1, "sing", 0), ("a", 5, 4, "plur", 0), ("b", 9, 1, "sing", 2), ("b", 12, 11, "sing", 0),
    ("c", 4, 1, "plur", 1),
)  # fmt: skip
PARSED = frame(
    ("a", 3, 1, "sing", 0),  # equal
    ("a", 5, 1, "sing", 0),  # wrong subject, wrong number
    ("b", 9, 1, "sing", 1),  # one attractor missing
    ("b", 14, 13, "sing", 0),  # not a verb in gold
    ("d", 2, 1, "plur", 0),  # in a sentence without gold examples
)


def test_verbs_numbers_and_whole_examples_are_counted_by_attractors():
    found = compare_examples(GOLD, PARSED).set_index("n_attractors")
    names = ["n_gold", "n_parsed", "n_found", "n_right", "n_same_number", "n_equal"]
    counts = {
        kind: tuple(row) for kind, row in zip([None, 0, 1, 2], found[names].to_numpy().tolist(), strict=True)
    }
    assert counts == {
        None: (5, 5, 3, 3, 2, 1), 0: (3, 4, 2, 2, 1, 1), 1: (1, 1, 0, 1, 0, 0), 2: (1, 0, 1, 0, 1, 0),
    }  # fmt: skip


def test_shares_are_of_these_counts_and_intervals_are_wilsons():
    found = compare_examples(GOLD, PARSED)
    whole, none, _, two = found.to_dict("records")
    assert (whole["precision_verb"], whole["recall_verb"], whole["f1_verb"]) == pytest.approx((0.6, 0.6, 0.6))
    assert (none["precision_equal"], none["recall_equal"]) == pytest.approx((1 / 4, 1 / 3))
    assert none["f1_equal"] == pytest.approx(2 / 7)
    expected = binomtest(3, 5).proportion_ci(method="wilson")
    ends = whole["recall_verb_low"], whole["recall_verb_high"]
    assert ends == pytest.approx((expected.low, expected.high))
    assert pd.isna([two["precision_verb"], two["precision_verb_low"], two["f1_verb"]]).all()


def test_tables_of_other_sentences_are_refused():
    with pytest.raises(SuiteError, match="no sentence has exactly the same words"):
        compare_examples(GOLD, PARSED.assign(sentence="x"))


@pytest.fixture
def tables(tmp_path):
    """Write two tables of examples to files."""
    head = "sentence\tverb_index\tverb_form\tnumber\topp_verb_form\tsubj_index\tn_attractors\n"
    rows = ["the dog barks\t2\tbarks\tsing\tbark\t1\t0\n", "the dogs bark\t2\tbark\tplur\tbarks\t1\t0\n"]
    (tmp_path / "gold.tsv").write_text(head + "".join(rows))
    (tmp_path / "parsed.tsv").write_text(head + rows[0])
    bare = [line.rpartition("\t")[0] + "\n" for line in (head, *rows)]
    (tmp_path / "bare.tsv").write_text("".join(bare))
    (tmp_path / "other.tsv").write_text(head + rows[0].replace("the", "a"))
    return tmp_path


def test_the_command_prints_both_tables_and_every_format(tables):
    ended = call("data", "compare", "gold.tsv", "parsed.tsv", cwd=tables)
    assert ended.returncode == 0, ended.stderr
    assert "**Verbs of parsed.tsv against gold.tsv**" in ended.stdout
    lines = [line.replace(" ", "") for line in ended.stdout.splitlines()]
    assert "|0|2|1|1.000|0.206to1.000|0.500|0.094to0.906|0.666|1of1|" in lines
    assert "|all|2|1|1|1.000|0.206to1.000|0.500|0.094to0.906|0.666|" in lines
    ended = call("data", "compare", "gold.tsv", "parsed.tsv", "--format", "json", "-o", "c.json", cwd=tables)
    assert (ended.returncode, ended.stdout) == (0, "")
    content = json.loads((tables / "c.json").read_text())
    assert [(row["n_attractors"], row["recall_verb"]) for row in content["rows"]] == [(None, 0.5), (0, 0.5)]


@pytest.mark.parametrize(
    ("gold", "parsed", "message"),
    [
        ("gold.tsv", "bare.tsv", "bare.tsv: the table has no column 'n_attractors'."),
        ("gold.tsv", "other.tsv", "no sentence has exactly the same words in both tables"),
        ("gold.tsv", "none.tsv", "none.tsv: tseval cannot read this file"),
    ],
)
def test_tables_that_cannot_be_compared_are_named(tables, gold, parsed, message):
    ended = call("data", "compare", gold, parsed, cwd=tables)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_examples_of_one_sentence_are_a_cluster():
    # Eight sentences with three verbs each; each sentence is parsed correctly as a whole or not at all.
    gold = frame(*((str(s), verb, 1, "sing", 0) for s in range(8) for verb in (3, 6, 9)))
    parsed = gold[gold["sentence"].astype(int) < 6]
    row = compare_examples(gold, parsed).iloc[0]
    # Equivalent to eight draws with six successes, and Student's t for eight clusters: V = s² / 8.
    variance = 0.75 * 0.25 / 7
    n, t = 0.75 * 0.25 / variance, student.ppf(0.975, 7)
    half = t / (n + t * t) * (n * 0.75 * 0.25 + t * t / 4) ** 0.5
    middle = (n * 0.75 + t * t / 2) / (n + t * t)
    assert (row["recall_verb_low"], row["recall_verb_high"]) == pytest.approx((middle - half, middle + half))
    independent = binomtest(18, 24).proportion_ci(method="wilson")
    assert row["recall_verb_low"] < independent.low


# Garden-path effects from published surprisals: a design finds the words that its authors compared. The SAP
# benchmark gives GPT-2's surprisal of every word, and names three words of each sentence: the word that
# resolves the ambiguity, and the two after it.
PLACES = "critical", "critical+1", "critical+2"
BODY = "".join(
    f"{name}: {{{{ frame.{name} }}}} [critical {{{{ frame.critical }}}}] {{{{ frame.{name}_rest }}}}\n"
    for name in ("ambiguous", "clear")
)


@pytest.fixture(scope="module")
def words():
    return pd.read_csv(GARDEN_PATHS, sep="\t")


def entry(item, own):
    """Return a lexicon item: the words before the verb that resolves the ambiguity, the verb, the rest."""
    forms = {"name": f"item {item}"}
    for ambiguous, sentence in own.groupby("ambiguous"):
        (at,) = np.flatnonzero(sentence["region"] == 0)
        name, text = "ambiguous" if ambiguous else "clear", sentence["word"].tolist()
        forms |= {name: " ".join(text[:at]), "critical": text[at], f"{name}_rest": " ".join(text[at + 1 :])}
    return forms


def scored_as_published(suite, words):
    """Return the scores that a run would have if the model were the published GPT-2."""
    surprisal = {
        " ".join(own["word"]): -own["surprisal"].to_numpy(np.float32)
        for _, own in words.groupby(["construction", "item", "ambiguous"])
    }
    texts = sentences_of(suite).to_pylist()
    of_words = [surprisal[text] for text in texts]
    return pa.table(
        {"sentence": texts, "seen": texts, "logprob": [float(one.sum(dtype=np.float64)) for one in of_words],
         "words": pa.array(of_words, pa.list_(pa.float32())),
         "n_unknown": pa.array([0] * len(texts), pa.int32())}
    )  # fmt: skip


@pytest.mark.parametrize("construction", ["NPS", "NPZ", "MVRR"])
def test_garden_path_effects_are_those_of_the_published_regions(words, construction, tmp_path):
    own = words[words["construction"] == construction]
    entries = [entry(item, of_item) for item, of_item in own.groupby("item")]
    (tmp_path / "lexicon.yaml").write_text(json.dumps({"frame": {"all": entries}}))
    (tmp_path / "suite.yaml").write_text("terminator: null\n")
    formulas = "".join(f"  {place}: ambiguous.{place} > clear.{place}\n" for place in PLACES)
    (tmp_path / "paths.jinja").write_text(
        f"---\nconstruction: {construction}\nphenomenon: Garden paths\nlexicon: lexicon.yaml\n"
        f"slots: {{frame: frame.all}}\nregions: critical\npredictions:\n{formulas}---\n{BODY}"
    )
    suite = load_suite(tmp_path)
    verdicts = judge(suite, scored_as_published(suite, own), suite.score).to_pandas()
    effects: Any = mean_effects(verdicts).set_index("contrast")
    surprisals: Any = mean_surprisals(verdicts).set_index(["condition", "region"])
    for number, place in enumerate(PLACES):
        there = own[own["region"] == number]
        published = there.pivot(index="item", columns="ambiguous", values="surprisal") / NATS_PER_BIT
        differences = (published[1] - published[0]).to_numpy()
        of_items = verdicts[verdicts["contrast"] == place]
        found = (of_items["better_score"] - of_items["worse_score"]).to_numpy() / NATS_PER_BIT
        np.testing.assert_allclose(found, differences, atol=1e-6)
        assert (len(found), of_items["correct"].sum()) == (24, (differences > 0).sum())
        interval = ttest_1samp(differences, 0).confidence_interval()
        row = effects.loc[place, ["value", "low", "high"]].to_numpy(float)
        np.testing.assert_allclose(row, [differences.mean(), *interval], rtol=1e-6)
        means = [surprisals.loc[(condition, place), "value"] for condition in ("ambiguous", "clear")]
        np.testing.assert_allclose(means, [published[1].mean(), published[0].mean()], rtol=1e-7)
    assert effects.loc["critical", "low"] > 0  # GPT-2 has every one of these garden-path effects


# The numbers that papers on formal languages report, from verdicts made by hand.
def verdicts_of_formal(feature, rows):
    """Make verdicts from rows of a feature value, a number of correct items and a number of wrong items."""
    flat = [(v, right) for v, n_right, n_wrong in rows for right in [True] * n_right + [False] * n_wrong]
    frame = pd.DataFrame(flat, columns=[feature, "correct"]).assign(tie=False, undecidable=False)
    return frame.assign(dependency=None, phenomenon="Formal languages", construction="C", contrast="a > b")


@pytest.mark.parametrize(
    ("suite", "feature", "counts", "column", "values", "whole"),
    [
        # The unweighted mean over distances, the largest error, the share of strings.
        ("dyck_k2_m3", "distance", [(0, 90, 10), (2, 1, 1), (8, 0, 4)], "value", [0.9, 0.5, 0], 1.4 / 3),
        ("generalised_dyck_5_20", "attractors", [(0, 99, 1), (1, 2, 3), (3, 3, 1)], "value",
         [0.01, 0.6, 0.25], 0.6),
        ("cross_serial_8_10", "m_plus_n", [(0, 1, 0), (9, 4, 5)], "n_wrong", [0, 5], 0.5),
    ],
)  # fmt: skip
def test_formal_languages_have_the_measures_of_their_papers(suite, feature, counts, column, values, whole):
    measure = measure_of(suite)
    rows = by_feature(verdicts_of_formal(feature, counts[::-1]), measure)
    assert rows[feature].tolist() == [value for value, *_ in counts]
    assert rows[column].tolist() == values
    assert headline(rows, measure) == pytest.approx(whole)


def test_intervals_of_errors_hold_the_errors():
    measure = measure_of("generalised_dyck_5_20")
    rows = by_feature(verdicts_of_formal("attractors", [(0, 19, 1), (1, 0, 5), (2, 7, 0)]), measure)
    assert (rows["low"] <= rows["value"]).all()
    assert (rows["value"] <= rows["high"]).all()
    # Wilson's interval for 1 of 20, from the formula: (k + z²/2 ± z sqrt(k(n-k)/n + z²/4)) / (n + z²).
    z, n, k = 1.959964, 20, 1
    middle, half = k + z * z / 2, z * (k * (n - k) / n + z * z / 4) ** 0.5
    expected = [(middle - half) / (n + z * z), (middle + half) / (n + z * z)]
    assert rows[["low", "high"]].iloc[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_the_mean_over_distances_is_as_sure_as_its_rows_are_together():
    measure = measure_of("dyck_k2_m3")
    frame = verdicts_of_formal("distance", [(0, 90, 10), (2, 30, 20)])
    frame["string.entry"] = [f"s{i // 5}" for i in range(len(frame))]  # no string is in both rows
    clusters = frame["correct"].groupby(frame["string.entry"]).mean()
    errors = [part.std(ddof=1) / len(part) ** 0.5 for part in (clusters[[f"s{i}" for i in range(20)]],
              clusters[[f"s{i}" for i in range(20, 30)]])]  # fmt: skip
    low, high = headline_interval(frame, measure)
    # Wilson's interval of .75, with the n that its variance implies and t's quantile for 29 degrees.
    p, t = 0.75, 2.0452296
    n = p * (1 - p) / (sum(error**2 for error in errors) / 4)
    middle, half = p + t * t / (2 * n), t * (p * (1 - p) / n + t * t / (4 * n * n)) ** 0.5
    expected = [(middle - half) / (1 + t * t / n), (middle + half) / (1 + t * t / n)]
    assert [low, high] == pytest.approx(expected, rel=0.02)  # clusters over all rows: 30 / 29, not 20 / 19
    assert low < headline(by_feature(frame, measure), measure) < high


def test_the_largest_of_several_errors_has_no_interval():
    frame = verdicts_of_formal("attractors", [(0, 19, 1), (1, 0, 5)])
    assert headline_interval(frame, measure_of("generalised_dyck_5_20")) is None


@pytest.mark.parametrize("suite", ["marvin_linzen", "dyckens", "blimp"])
def test_other_suites_are_refused(suite):
    with pytest.raises(
        RunError, match=rf"on {suite}, which is not a formal language.\n  Score a model on a formal language"
    ):
        measure_of(suite)
