import numpy as np
import pytest
from drawn_items import crossed, design_of, draw_items
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student

from tseval.analysis.design import estimate, quantile, score_interval


def of_all(correct, design):
    return estimate(correct, np.ones(len(correct), bool), design)


def without_factors(n_items, rows=None):
    return design_of(np.zeros((n_items, 0), int), rows)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_without_factors_the_interval_is_wilsons(counts):
    k, n = counts
    found = of_all(np.arange(n) < k, without_factors(n))
    expected = binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.value, found.n_items, found.n_eff, found.df) == (k / n, n, pytest.approx(n), None)


def test_the_interval_is_the_shares_from_which_the_accuracy_is_not_far():
    correct, codes = draw_items((14, 9, 6), (0.8, 0.5, 0.3))
    found = of_all(correct, design_of(codes))
    far = student.ppf(0.975, 5)
    for end in (found.low, found.high):
        spread = np.sqrt(end * (1 - end) / found.n_eff)
        assert abs(found.value - end) == pytest.approx(far * spread, rel=1e-9)
    assert found.n_eff == pytest.approx(found.value * (1 - found.value) / found.se**2)
    assert (found.df, found.clusters, found.fixed) == (5, {"a": 14, "b": 9, "c": 6}, ())


@st.composite
def verdicts_of_crossed_items(draw):
    codes = crossed(*draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    return np.array(draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))), codes


@given(verdicts_of_crossed_items())
def test_no_interval_is_narrower_than_wilsons_and_none_leaves_0_to_1(drawn):
    correct, codes = drawn
    found = of_all(correct, design_of(codes))
    wilson = binomtest(int(correct.sum()), len(correct)).proportion_ci(0.95, method="wilson")
    assert 0 <= found.low <= wilson.low + 1e-12
    assert wilson.high - 1e-12 <= found.high <= 1
    assert found.low <= found.value <= found.high
    assert found.n_eff <= len(correct) + 1e-9


@pytest.mark.parametrize("right", [True, False])
def test_where_all_verdicts_are_alike_items_are_worth_the_entries_of_the_smallest_factor(right):
    found = of_all(np.full(20 * 14 * 10, right), design_of(crossed(20, 14, 10)))
    t = student.ppf(0.975, 9)
    away = t**2 / (10 + t**2)  # Wilson's interval of 10 in 10
    ends = (1 - away, 1.0) if right else (0.0, away)
    assert (found.low, found.high) == pytest.approx(ends)
    assert (found.se, found.n_eff) == (0, pytest.approx(10))


def test_one_item_has_an_interval():
    found = of_all(np.array([True]), design_of(np.zeros((1, 2), int)))
    wilson = binomtest(1, 1).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, 1))
    assert found.fixed == ("a", "b")


def test_one_cluster_is_fixed_and_its_items_are_independent():
    correct, _ = draw_items((50,), (0.0,))
    alone = of_all(correct, without_factors(50))
    found = of_all(correct, design_of(np.zeros((50, 1), int)))
    assert (found.low, found.high, found.fixed) == (alone.low, alone.high, ("a",))


def test_what_is_undecidable_is_no_item():
    correct, codes = draw_items((9, 7), (0.5, 0.5), per_cell=3)
    decidable = np.random.default_rng(3).random(len(correct)) < 0.7
    kept = of_all(correct[decidable], design_of(codes[decidable]))
    assert estimate(correct & decidable, decidable, design_of(codes)) == kept
    assert estimate(correct, np.zeros(len(correct), bool), design_of(codes)) is None


def test_a_mean_counts_each_row_once_and_knows_words_across_rows():
    correct, codes = draw_items((12,), (1.5,), per_cell=30)
    rows = np.tile(np.repeat([0, 1, 2], [2, 8, 20]), 12)
    found = of_all(correct, design_of(codes, rows))
    of_rows = [correct[rows == row].mean() for row in range(3)]
    assert found.value == pytest.approx(np.mean(of_rows))
    # Balanced: the mean over rows of each entry, and how these means spread.
    of_entries = [
        np.mean([correct[(rows == row) & (codes[:, 0] == entry)].mean() for row in range(3)])
        for entry in range(12)
    ]
    assert found.se == pytest.approx(np.std(of_entries, ddof=1) / np.sqrt(12), rel=1e-10)


def test_a_mean_of_independent_rows_has_the_variances_of_the_rows():
    rows = np.repeat([0, 1], [40, 10])
    correct = np.concatenate([np.arange(40) < 30, np.arange(10) < 2])
    found = of_all(correct, without_factors(50, rows))
    variance = (0.75 * 0.25 / 40 + 0.2 * 0.8 / 10) / 4
    assert (found.value, found.se) == (pytest.approx(0.475), pytest.approx(np.sqrt(variance)))
    assert found.n_eff == pytest.approx(0.475 * 0.525 / variance)


def test_rows_that_are_all_right_and_all_wrong_have_a_mean_with_an_interval():
    codes, rows = crossed(6, 2)[:, :1], crossed(6, 2)[:, 1]
    found = of_all(rows == 0, design_of(codes, rows))
    assert (found.value, found.se, found.n_eff) == (0.5, 0, pytest.approx(6))
    assert 0 < found.low < 0.5 < found.high < 1


@pytest.mark.parametrize("df", [1, 4, 9, 13.5, 1000])
def test_quantiles_are_scipys(df):
    assert quantile(df) == pytest.approx(student.ppf(0.975, df), rel=1e-12)


def test_a_share_of_0_or_1_ends_there():
    assert score_interval(0, 3.5, 2.5)[0] == 0
    assert score_interval(1, 3.5, 2.5)[1] == 1
