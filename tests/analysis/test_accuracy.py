import math
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from small import make_case, make_suite

from tseval.analysis import check_features, count, exact_accuracy, wilson
from tseval.errors import SuiteError


def verdicts(*rows, **features):
    """Verdicts from (construction, verdict) pairs; + correct, - wrong, = tie, ? undecidable."""
    frame = pd.DataFrame(
        [
            {
                "case": "case",
                "item": i,
                "construction": construction,
                "phenomenon": "P",
                "dependency": "short",
                "contrast": "grammatical > ungrammatical",
                "better_score": -1.0,
                "worse_score": -1.0,
                "correct": mark == "+",
                "tie": mark == "=",
                "undecidable": mark == "?",
            }
            for i, (construction, mark) in enumerate(rows)
        ]
    )
    return frame.assign(**features)


def test_accuracy_is_correct_over_decidable_with_ties_among_the_wrong():
    counts = count(verdicts(("A", "+"), ("A", "+"), ("A", "-"), ("A", "="), ("A", "?")))
    (row,) = counts.to_dict("records")
    assert (row["n_items"], row["n_correct"], row["n_tied"], row["n_undecidable"]) == (5, 2, 1, 1)
    assert row["accuracy"] == 0.5
    assert exact_accuracy(counts) == [Fraction(2, 4)]


def test_a_row_without_decidable_items_has_no_accuracy():
    counts = count(verdicts(("A", "?"), ("B", "+")))
    assert counts[["accuracy", "low", "high"]].isna().all(axis=1).tolist() == [True, False]
    assert exact_accuracy(counts) == [None, Fraction(1)]


def test_cases_of_one_construction_are_pooled_by_item():
    frame = verdicts(("A", "+"), ("A", "-"), ("A", "-"), ("A", "-"))
    frame["case"] = ["animate", "inanimate", "inanimate", "inanimate"]
    assert count(frame)["accuracy"].tolist() == [0.25]  # a mean of cases would be 0.5


def test_short_dependencies_come_first_and_a_phenomenon_stands_together():
    frame = verdicts(("C1", "+"), ("C2", "+"), ("C3", "+"), ("C4", "+"), ("C5", "+"))
    frame["dependency"] = ["long", "short", "long", "short", None]
    frame["phenomenon"] = ["P", "Q", "Q", "P", "P"]
    rows = count(frame)
    assert rows["construction"].tolist() == ["C2", "C4", "C1", "C3", "C5"]
    interleaved = verdicts(("C1", "+"), ("C2", "+"), ("C3", "+"))
    interleaved["phenomenon"] = ["P", "Q", "P"]
    assert count(interleaved)["construction"].tolist() == ["C1", "C3", "C2"]


def test_a_breakdown_splits_rows_by_value_in_order_and_keeps_missing_values_last():
    frame = verdicts(*[("A", "+")] * 5, n=pd.array([10, 2, None, 2, None], dtype="Int64"))
    rows = count(frame, ["n"])
    assert [None if pd.isna(n) else n for n in rows["n"]] == [2, 10, None]
    assert rows["n_items"].tolist() == [2, 1, 2]


def test_breakdowns_by_two_features_add_up_to_the_whole():
    frame = verdicts(
        *[("A", m) for m in "+-=?++"], x=list("aabbab"), y=[True, False, True, False, True, True]
    )
    rows, whole = count(frame, ["x", "y"]), count(frame)
    for name in ("n_items", "n_correct", "n_tied", "n_undecidable"):
        assert rows[name].sum() == whole[name].sum()


def test_an_unknown_feature_gets_the_nearest_name():
    with pytest.raises(SuiteError) as caught:
        count(verdicts(("A", "+"), attractor="x", number="y"), ["atractor"])
    assert str(caught.value) == (
        "the suite has no feature 'atractor' to break the table down by.\n"
        "  Did you mean 'attractor'? Features: attractor, number."
    )


def test_an_unknown_feature_is_told_before_anything_is_scored():
    suite = make_suite(make_case("a", [("a b", "a c")], features={"number": ["sing"]}))
    check_features(suite, ["number"])
    with pytest.raises(SuiteError, match="no feature 'verb'"):
        check_features(suite, ["number", "verb"])


@given(st.integers(1, 30000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_wilsons_closed_form(counts):
    k, n = counts
    z, p = 1.959963984540054, k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert wilson(k, n) == pytest.approx((max(0, centre - half), min(1, centre + half)), abs=1e-9)


@given(st.integers(1, 300000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_scipys_to_the_last_bit(counts):
    interval = binomtest(*counts).proportion_ci(0.95, method="wilson")
    assert wilson(*counts) == (interval.low, interval.high)


def test_no_items_have_no_interval():
    assert wilson(0, 0) is None


def test_lexicon_entries_break_a_table_down_as_the_same_texts_do():
    marks = [("A", "+"), ("A", "-"), ("A", "+"), ("A", "-")]
    words = ["swims", "laughs", "swims", None]
    frame = verdicts(*marks, verb=words).assign(**{"verb.entry": pd.Categorical(words, ["swims", "laughs"])})
    by_entry, by_text = count(frame, "verb.entry"), count(frame, "verb")
    assert by_entry["verb.entry"].tolist()[:2] == by_text["verb"].tolist()[:2] == ["laughs", "swims"]
    assert by_entry["verb.entry"].isna().tolist() == [False, False, True]
    rest = [name for name in by_text if name != "verb"]
    assert by_entry[rest].equals(by_text[rest])
