"""The step at which a row rises above chance, by an exact test for each step, corrected for their number."""

import math

import pandas as pd
import pytest
from scipy.stats import binomtest, norm
from scipy.stats import t as student
from small import make_case, make_run, make_suite

from tseval.analysis.comparisons import emergence, trajectory
from tseval.analysis.counts import count

N = 100
# Correct items of 100 at each step. By Wilson's interval, 60 is above chance (p 0.0455) and 59 is not.
RIGHT = {0: 50, 100: 60, 200: 61, 400: 63, 800: 65, 1600: 58, 3200: 70, 6400: 72}


def line(right, n=N, df=None):
    return pd.Series({"accuracy": right / n if n else math.nan, "n_eff": float(n), "df": df}, dtype=object)


def by_hand(counts):
    """Compute two-sided p by the normal distribution with chance's variance, then Holm's steps."""
    p = {step: 2 * norm.sf(abs(k / N - 0.5) / math.sqrt(0.25 / N)) for step, k in counts.items()}
    adjusted, largest = {}, 0.0
    for place, step in enumerate(sorted(p, key=lambda one: p[one])):
        largest = adjusted[step] = max(largest, min(1.0, (len(p) - place) * p[step]))
    return p, adjusted


def test_the_first_step_above_chance_is_that_of_a_hand_computation():
    found = emergence({step: line(k) for step, k in RIGHT.items()}, 0.5)
    p, adjusted = by_hand(RIGHT)
    assert found.p == pytest.approx(list(p.values()), rel=1e-9)
    assert found.p_holm == pytest.approx([adjusted[step] for step in RIGHT], rel=1e-9)
    # 72 and 70 are far above chance. p of 65 is 0.0027, times 6; of 63, 0.0093, times 5; of 61, 0.0278, times
    # 4.
    assert [step for step, above in zip(RIGHT, found.above, strict=True) if above] == [400, 800, 3200, 6400]
    assert (found.first, found.settled) == (400, 3200)


@pytest.mark.parametrize("right", range(N + 1))
def test_one_look_is_above_chance_just_where_the_95_percent_interval_is(right):
    found = emergence({1: line(right)}, 0.5)
    assert (found.first == 1) == (binomtest(right, N).proportion_ci(method="wilson").low > 0.5)


def test_few_words_need_more_by_students_t():
    five, many = (emergence({1: line(80, 20, df)}, 0.5).p[0] for df in (4, None))
    assert five > many
    accuracy = pd.Series({"accuracy": 0.8, "n_eff": 20.0, "df": 4}, dtype=object)
    expected = 2 * student.sf(0.3 / math.sqrt(0.25 / 20), 4)
    assert emergence({1: accuracy}, 0.5).p[0] == pytest.approx(expected, rel=1e-9)


def test_far_below_chance_and_nothing_decided_are_not_above():
    lines = {1: line(0), 2: line(0, 0), 3: line(100)}
    found = emergence(lines, 0.5)
    assert found.above == (False, False, True)
    assert found.p[1] is None
    assert (found.first, found.settled) == (3, 3)
    assert emergence({1: line(100), 2: line(0, 0)}, 0.5).settled is None
    never = emergence({1: line(50), 2: line(50)}, 0.5)
    assert (never.first, never.settled) == (None, None)


def test_a_moment_has_the_numbers_of_its_own_table():
    rows = [(f"the {noun} laughs", f"the {noun} laugh") for noun in ("author", "pilot", "guard", "chef")]
    suite = make_suite(make_case("a", rows), make_case("b", rows, construction="Other", dependency="long"))
    runs = {step: make_run(suite, {"laugh": worse}) for step, worse in ((0, 0.0), (10, -2.0))}
    found = trajectory({step: run.verdicts for step, run in runs.items()})
    for step, run in runs.items():
        own = count(run.verdicts)
        pd.testing.assert_frame_equal(found.of_rows[step], own[found.of_rows[step].columns])
    assert found.of_means[0]["accuracy"].tolist() == [0.0, 0.0, 0.0]
    assert found.of_means[10]["accuracy"].tolist() == [1.0, 1.0, 1.0]
    assert found.means["over"].tolist() == ["Short-range dependency", "Long-range dependency", "All rows"]
