"""Attractor grids, profiles and pairs of models, against counts by hand and closed forms."""

import itertools
import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tseval.analysis import select
from tseval.analysis.breakdowns import by_non_attractors, joint_grid, profile
from tseval.analysis.comparisons import mcnemar, pairwise
from tseval.analysis.differences import holm
from tseval.errors import SuiteError


def verdicts(marks, **features):
    """Verdicts from a text of marks: + correct, - wrong, = tie, ? undecidable."""
    frame = pd.DataFrame(
        {
            "case": "case",
            "item": range(len(marks)),
            "contrast": "grammatical > ungrammatical",
            "better_score": 0.0,
            "worse_score": 0.0,
            "correct": [mark == "+" for mark in marks],
            "tie": [mark == "=" for mark in marks],
            "undecidable": [mark == "?" for mark in marks],
        }
    )
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
    grid = joint_grid(verdicts("++", n_intervening=[1, None], n_attractors=[0, None]))
    assert grid["n_items"].sum() == 1


def test_non_attractors_are_the_other_intervening_nouns():
    rows = by_non_attractors(verdicts("+-+", n_intervening=[1, 3, 3], n_attractors=[1, 1, 1]))
    assert rows["n_non_attractors"].tolist() == [0, 1, 2]
    assert rows["n_items"].tolist() == [1, 0, 2]
    assert rows["accuracy"].tolist()[2] == 0.5


def test_a_suite_that_says_nothing_of_intervening_nouns_has_no_grid():
    with pytest.raises(SuiteError, match=r"no feature 'n_intervening'.\n  Take a suite whose items say it"):
        joint_grid(verdicts("+", n_attractors=[1]))


def scored(rows):
    frame = pd.DataFrame(rows, columns=["case", "position", "word", "better_score", "worse_score"])
    return frame.assign(undecidable=False, item=0)


def test_confidence_is_the_share_of_the_right_answer_averaged_over_items():
    rows = profile(
        scored(
            [
                ("b", 2, "author", math.log(0.3), math.log(0.1)),
                ("b", 1, "the", math.log(0.2), math.log(0.2)),
                ("b", 2, "pilots", math.log(0.1), math.log(0.3)),
                ("b", 1, "the", math.log(0.04), math.log(0.01)),
                ("a", 1, "no", 0.0, 0.0),
            ]
        )
    )
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
    with pytest.raises(SuiteError, match="nothing in these runs can be decided"):
        profile(frame.assign(undecidable=True))


def test_a_run_of_no_profile_is_told_how_to_make_one():
    with pytest.raises(SuiteError, match=r"no feature 'position'.\n  A profile needs .*:profile"):
        profile(verdicts("+"))


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_sum(b, c):
    n = b + c
    tail = sum(math.comb(n, k) for k in range(min(b, c) + 1)) / 2**n
    assert mcnemar(b, c) == pytest.approx(min(1.0, 2 * tail), rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_definition(p):
    # A p is rejected at a level if all smaller ones are, and it is at most level / (p not yet rejected).
    adjusted = holm(p)
    for level in [*adjusted, 0.05]:
        left, rejected = sorted(range(len(p)), key=p.__getitem__), set()
        while left and p[left[0]] * len(left) <= level:
            rejected.add(left.pop(0))
        assert {i for i, value in enumerate(adjusted) if value <= level and value < 1} == {
            i for i in rejected if adjusted[i] < 1
        }


MARKS = {"a": "++--+?+-", "b": "+-+-+++=", "c": "-------+"}


def test_a_table_counts_what_only_one_of_two_models_gets_right():
    n = [0, 0, 0, 1, 1, 1, 1, 1]
    frames = {name: verdicts(marks, n_intervening=n) for name, marks in MARKS.items()}
    rows = pairwise(frames, "n_intervening").set_index(["first", "second"])
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


def test_without_a_feature_there_is_one_table():
    rows = pairwise({name: verdicts(marks) for name, marks in MARKS.items()})
    assert rows["all"].isna().all()
    assert len(rows) == 3


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
        ([("m", "1")], r"no feature 'm'.\n  .*Features: n."),
        ([("n", "7")], r"no item has n '7'.\n  Values: 1, 2."),
        ([("case", "z")], r"no item has case 'z'.\n  Values: x, y."),
        ([("n", "1"), ("case", "y")], r"no item has all of n=1 and case=y.\n  Leave one of them out."),
    ],
)
def test_a_choice_that_leaves_nothing_says_what_there_is(where, message):
    frame = verdicts("+-+-", n=[1, 2, 2, None])
    frame["case"] = ["x", "x", "y", "y"]
    with pytest.raises(SuiteError, match=message):
        select(frame, where)
