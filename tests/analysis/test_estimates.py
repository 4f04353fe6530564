from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_items import crossed, design_of, draw_items
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import average, differences, differences_of_seeds, mean_of_seeds
from tseval.analysis.estimates import estimate
from tseval.analysis.intervals import quantile, score_interval
from tseval.analysis.measures import pearson, spearman
from tseval.analysis.ranks import ranks_of_seeds


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
    away = t**2 / (10 + t**2)  # Wilson's interval for 10 of 10
    ends = (1 - away, 1.0) if right else (0.0, away)
    assert (found.low, found.high) == pytest.approx(ends)
    assert (found.se, found.n_eff) == (0, pytest.approx(10))


def test_one_item_has_an_interval():
    found = of_all(np.array([True]), design_of(np.zeros((1, 2), int)))
    wilson = binomtest(1, 1).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, 1))
    assert found.fixed == ("a", "b")


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
    # Balanced data: the mean over rows of each entry, and the variance of these means.
    of_entries = [
        np.mean([correct[(rows == row) & (codes[:, 0] == entry)].mean() for row in range(3)])
        for entry in range(12)
    ]
    assert found.se == pytest.approx(np.std(of_entries, ddof=1) / np.sqrt(12), rel=1e-10)


def test_rows_that_are_all_right_and_all_wrong_have_a_mean_with_an_interval():
    codes, rows = crossed(6, 2)[:, :1], crossed(6, 2)[:, 1]
    found = of_all(rows == 0, design_of(codes, rows))
    assert (found.value, found.se, found.n_eff) == (0.5, 0, pytest.approx(6))
    assert 0 < found.low < 0.5 < found.high < 1


@pytest.mark.parametrize("df", [1, 4, 9, 13.5, 1000])
def test_quantiles_are_scipys(df):
    assert quantile(df) == pytest.approx(student.ppf(0.975, df), rel=1e-12)


# Means of numbers with intervals, against scipy and statsmodels.
def draw(n_levels, per_level, spread, seed=0):
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_levels), per_level)
    return random.normal(3, 1, len(codes)) + spread * random.normal(size=n_levels)[codes], codes[:, None]


def test_what_is_no_number_is_left_out_and_one_number_has_no_interval():
    values, codes = draw(9, 4, 2)
    values[:4] = np.nan
    found = average(values, design_of(codes))
    assert found == average(values[4:], design_of(codes[4:]))
    assert found.clusters == {"a": 8}
    alone = average(np.array([np.nan, 2.0]), design_of(np.zeros((2, 1), np.int64)))
    assert (alone.value, alone.n_items) == (2.0, 1)
    assert np.isnan([alone.se, alone.low, alone.high]).all()
    assert average(np.full(3, np.nan), design_of(codes[:3])) is None


def test_seeds_that_agree_on_every_item_are_as_one_run():
    correct, codes = draw_items((12, 7), (0.7, 0.5), per_cell=3)
    design = design_of(codes)
    found = mean_of_seeds(np.repeat(correct[:, None], 3, axis=1), design)
    alone = estimate(correct, np.ones(len(correct), bool), design)
    assert found.value == pytest.approx(alone.value)
    assert found.spread == 0
    assert (found.se, found.low, found.high) == pytest.approx((alone.se, alone.low, alone.high))


def test_the_variance_is_that_between_seeds_and_that_between_entries():
    codes = np.repeat(np.arange(8), 50)[:, None]
    shares = np.array([0.5, 0.7, 0.9])
    correct = np.random.default_rng(1).random((400, 3)) < shares - 0.05 * codes + 0.1
    found = mean_of_seeds(correct, design_of(codes))
    of_seeds = correct.mean(axis=0)
    of_entries = [correct[codes[:, 0] == entry].mean() for entry in range(8)]
    between_seeds, between_entries = of_seeds.var(ddof=1) / 3, np.var(of_entries, ddof=1) / 8
    assert found.of_seeds == pytest.approx(of_seeds)
    assert found.spread == pytest.approx(of_seeds.std(ddof=1))
    assert found.se**2 == pytest.approx(between_seeds + between_entries)
    # Banerjee's interval: each part of the variance uses the quantile of its own degrees of freedom.
    parts = (between_seeds, 2), (between_entries, 7)
    mixed = sum(part * student.ppf(0.975, df) ** 2 for part, df in parts) / found.se**2
    assert student.ppf(0.975, found.df) == pytest.approx(np.sqrt(mixed))
    n_eff = found.value * (1 - found.value) / found.se**2
    expected = score_interval(found.value, n_eff, student.ppf(0.975, found.df))
    assert (found.low, found.high) == pytest.approx(expected)


def test_seeds_that_are_always_right_have_an_interval():
    found = mean_of_seeds(np.ones((30, 3), bool), design_of(np.repeat(np.arange(6), 5)[:, None]))
    assert (found.value, found.se, found.high) == (1, 0, 1)
    assert found.low == pytest.approx(6 / (6 + student.ppf(0.975, 5) ** 2))


def drawn(n_seeds, better=0.0, seed=0):
    """Draw verdicts of seeds on 40 items for each of 8 verbs, (items, seeds), and the verbs' codes."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(8), 40)[:, None]
    shares = 0.5 + better + 0.02 * codes + 0.04 * random.standard_normal(n_seeds)
    return random.random((len(codes), n_seeds)) < shares, codes


def by_hand(first, second, codes):
    """Compute by how much the second is better, its standard error and degrees of freedom."""
    of_items = second.mean(axis=1) - first.mean(axis=1)
    of_verbs = [of_items[codes[:, 0] == verb].mean() for verb in range(8)]
    several = [one for one in (first, second) if one.shape[1] > 1]
    between_seeds = sum(one.mean(axis=0).var(ddof=1) / one.shape[1] for one in several)
    # Items never have less variance than independent items.
    between_verbs = max(np.var(of_verbs, ddof=1) / 8, np.var(of_items, ddof=1) / len(of_items))
    fewer = min(one.shape[1] for one in several) - 1
    df = (between_seeds + between_verbs) ** 2 / (between_seeds**2 / fewer + between_verbs**2 / 7)
    return of_items.mean(), np.sqrt(between_seeds + between_verbs), df


@pytest.mark.parametrize("seeds", [(3, 3), (5, 2), (1, 3)])
def test_a_difference_of_means_has_the_interval_of_a_t_test_of_their_means(seeds):
    for number in range(10):
        (first, codes), (second, _) = (drawn(n, 0.1, 2 * number + place) for place, n in enumerate(seeds))
        gap, se, df = by_hand(first, second, codes)
        (found,) = differences_of_seeds([second, first], design_of(codes))
        assert (found.value, found.se, found.df) == pytest.approx((gap, se, df))
        ends = np.clip(student.interval(0.95, df, gap, se), -1, 1)
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-10)
        assert found.p == pytest.approx(2 * student.sf(abs(gap) / se, df))
        assert (found.n_items, found.clusters) == (len(codes), {"a": 8})


@pytest.mark.parametrize("n_seeds", [2, 3])
def test_seeds_that_differ_from_a_model_by_the_same_on_every_item_say_nothing_of_other_words(n_seeds):
    n_items = 12
    shares = np.arange(n_items)[:, None] % n_seeds == np.arange(n_seeds)  # each item is correct for one seed
    (found,) = differences_of_seeds([shares, np.ones((n_items, 1), bool)], without_factors(n_items))
    often, score = 1 - 1 / n_seeds, student.ppf(0.975, n_items - 1) ** 2
    # Wilson's ends: (p - often)² = score p (1 - p) / n.
    upper = max(np.roots([1 + score / n_items, -2 * often - score / n_items, often**2]))
    se = np.sqrt(upper / n_items)
    assert (found.value, found.se) == pytest.approx((-often, se))
    assert found.p == pytest.approx(2 * student.sf(often / se, n_items - 1))


def test_pairs_of_single_models_are_told_as_models_are_beside_architectures_of_several_seeds():
    models, codes = drawn(3, seed=5)
    design = design_of(codes)
    alone = differences(models, design)
    assert differences_of_seeds(np.split(models, 3, axis=1), design) == alone
    several, _ = drawn(3, 0.1, seed=6)
    beside = differences_of_seeds([*np.split(models, 3, axis=1), several], design)
    of_models = [beside[place] for place in (0, 1, 3)]
    for one, other in zip(of_models, alone, strict=True):
        expected = pytest.approx((other.low, other.high, other.p, other.df), rel=1e-9)
        assert (one.low, one.high, one.p, one.df) == expected


def test_two_architectures_are_told_apart_where_a_t_test_of_their_means_does():
    seeds, outcomes = (5, 2), set()
    for number in range(30):
        (first, codes), (second, _) = (
            drawn(n, better, 2 * number + place)
            for place, (n, better) in enumerate(zip(seeds, (0, 0.08), strict=True))
        )
        gap, se, df = by_hand(first, second, codes)
        p = 2 * student.sf(abs(gap) / se, df)
        if 0.045 < p < 0.055:
            continue  # a critical value from 10,000 draws has an error
        found = ranks_of_seeds([first, second], design_of(codes))
        assert bool(found.better.any()) == (p < 0.05)
        assert found.means == pytest.approx([first.mean(), second.mean()])
        outcomes.add(p < 0.05)
    assert outcomes == {True, False}


# Correlations against scipy, their errors against the jackknife, their intervals against the true value.
BOTH: dict[str, Any] = {"pearson": (pearson, stats.pearsonr), "spearman": (spearman, stats.spearmanr)}


@pytest.fixture(params=BOTH)
def both(request):
    """Return a correlation of tseval and of scipy."""
    return BOTH[request.param]


def design_of_correlations(**factors):
    return Design.of(Factors.of(pd.DataFrame(factors)))


def alone(n):
    return Design.of(Factors.of(pd.DataFrame(index=range(n))))


def measures(n, rho=0.5, seed=0, steps=None):
    """Draw two correlated measures; with `steps`, the second is rounded to few values, so that ties occur."""
    x, y = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
    return x, y if steps is None else np.round(y * steps) / steps


@pytest.mark.parametrize("steps", [None, 1])
@pytest.mark.parametrize("n", [3, 4, 17, 300])
def test_a_correlation_is_that_of_scipy(both, steps, n):
    ours, theirs = both
    x, y = measures(n, steps=steps, seed=n)
    found = ours(x, y, alone(n))
    assert found.value == pytest.approx(theirs(x, y).statistic, abs=1e-11)


def test_clustered_its_error_is_that_of_leaving_out_whole_clusters(both):
    ours, theirs = both
    n, k = 600, 60
    item = np.repeat(np.arange(k), n // k)
    x, y = np.array(measures(n)) + np.array(measures(k, seed=1))[:, item]
    left_out = [theirs(x[item != g], y[item != g]).statistic for g in range(k)]
    jackknife = np.sqrt((k - 1) / k * np.sum((left_out - np.mean(left_out)) ** 2))
    found = ours(x, y, design_of_correlations(item=item))
    assert found.se == pytest.approx(jackknife, rel=0.05)
    assert found.se > 1.3 * ours(x, y, alone(n)).se


def test_the_interval_is_symmetric_on_the_scale_of_fisher_and_never_narrower_than_fishers(both):
    ours, _ = both
    x, y = measures(50)
    found = ours(x, y, alone(50))
    ends = np.arctanh([found.low, found.value, found.high])
    assert ends[2] - ends[1] == pytest.approx(ends[1] - ends[0], abs=1e-9)
    assert ends[2] - ends[1] >= stats.norm.ppf(0.975) / np.sqrt(47) - 1e-9


def test_the_interval_of_three_sentences_says_nothing():
    x, y = measures(3)
    found = pearson(x, y, alone(3))
    assert (found.low, found.high) == (-1, 1)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_perfect_correlation_has_no_interval(both, sign):
    ours, _ = both
    found = ours(np.arange(9.0), sign * np.arange(9.0), alone(9))
    assert found.value == sign
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_what_does_not_vary_has_no_correlation(both):
    ours, _ = both
    assert ours(np.zeros(9), np.arange(9.0), alone(9)) is None
    assert ours(np.arange(9.0), np.full(9, 3.1), alone(9)) is None
    assert ours(np.arange(2.0), np.arange(2.0), alone(2)) is None


@pytest.mark.parametrize("scale", [1e308, 1e-308, 1e200, 1.0])
def test_a_correlation_has_no_scale(scale):
    x, y = np.array([1.0, -1.0, 0.75, 0.25, -0.5]), np.array([0.5, -0.25, 1.0, -0.75, 0.125])
    expected = stats.pearsonr(x, y).statistic
    assert pearson(x * scale, y, alone(5)).value == pytest.approx(expected)
    assert pearson(y, x * scale, alone(5)).value == pytest.approx(expected)


# Intervals contain the true value as often as their level says; `benchmarks/coverage.py` has more.
LEVELS, STRENGTHS = (20, 14, 10), (0.5, 0.5, 0.5)
SIMULATIONS = 300


def true_accuracy():
    """Return the accuracy over all possible entries: the mean of a logistic function of a normal variable."""
    spread = np.sqrt(np.square(STRENGTHS).sum())
    return quad(lambda x: expit(0.3 + spread * x) * norm.pdf(x), -10, 10)[0]


def test_clustered_intervals_hold_the_accuracy_and_wilsons_do_not():
    truth, held = true_accuracy(), np.zeros(2)
    for seed in range(SIMULATIONS):
        correct, codes = draw_items(LEVELS, STRENGTHS, seed=seed)
        for place, design in enumerate((design_of(codes), design_of(codes[:, :0]))):
            found = estimate(correct, np.ones(len(correct), bool), design)
            held[place] += found.low <= truth <= found.high
    clustered, wilson = held / SIMULATIONS
    assert 0.92 <= clustered <= 0.98
    assert wilson < 0.4


# Standard errors of a published LSTM on Marvin & Linzen, against pandas sums over every set of three factors,
# with the signs of Cameron, Gelbach & Miller (2011). Each cell is corrected for its share of the mean. All
# errors in *Simple* are with one verb, and the effective sample size of seven verbs is at most seven.


# Small samples: the interval is finite, contains the accuracy, and is not a point.
@pytest.mark.parametrize("verdicts", [[1], [0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1]])
@pytest.mark.parametrize("kind", ["one entry", "an entry each", "missing cells", "a row each"])
def test_little_input_has_an_honest_interval(verdicts, kind):
    n = len(verdicts)
    codes = np.zeros(n, int) if kind == "one entry" else np.arange(n)
    if kind == "missing cells":
        codes[::2] = -1
    rows = np.arange(n) if kind == "a row each" else None
    correct, design = np.array(verdicts, bool), design_of(codes[:, None], rows)
    found = of_all(correct, design)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0.2
    (difference,) = differences(np.stack([correct, ~correct], axis=1), design)
    assert -1 <= difference.low < difference.high <= 1
    assert 0 < difference.p <= 1
