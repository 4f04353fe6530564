from itertools import combinations, permutations, product

import numpy as np
import pytest
from drawn_items import crossed, design_of, draw_items
from scipy.stats import rankdata, ttest_rel
from statsmodels.stats.multitest import multipletests

from tseval.analysis.ranks import RankSets, mean_rank_intervals, rank_sets


def independent(n_items):
    return design_of(np.zeros((n_items, 0), int))


def of_shares(*shares, n_items=400):
    return rank_sets(np.random.default_rng(0).random((n_items, len(shares))) < shares, independent(n_items))


def test_models_far_apart_have_one_rank_each():
    found = of_shares(0.2, 0.9, 0.5)
    assert (found.low, found.high) == ((3, 1, 2), (3, 1, 2))
    assert found.tied() == []


def test_equal_models_may_have_any_rank():
    found = of_shares(0.5, 0.5, 0.5, 0.5)
    assert (found.low, found.high) == ((1,) * 4, (4,) * 4)
    assert sorted(*found.tied()) == [0, 1, 2, 3]


def test_models_are_told_apart_where_holms_correction_of_their_pairs_does():
    # An independent check: scipy's paired t-test and statsmodels' correction.
    correct = np.random.default_rng(3).random((500, 6)) < np.linspace(0.5, 0.75, 6)
    pairs = list(combinations(range(6), 2))
    columns = correct.T.astype(float)
    tests = [ttest_rel(columns[one], columns[other]) for one, other in pairs]
    told, *_ = multipletests([test.pvalue for test in tests], 0.05, "holm")
    better = np.zeros((6, 6), bool)
    for (one, other), test, apart in zip(pairs, tests, told, strict=True):
        first, second = (one, other) if test.statistic > 0 else (other, one)
        better[first, second] = apart
    found = rank_sets(correct, independent(500))
    assert (found.better == better).all()
    assert 0 < better.sum() < 15
    assert found.low == tuple(1 + better.sum(axis=0))
    assert found.high == tuple(6 - better.sum(axis=1))


def every_group(better):
    """Find the largest groups of models without a difference between any two, by trying all groups."""
    n = len(better)
    apart = better | better.T
    free = [
        set(group)
        for size in range(2, n + 1)
        for group in combinations(range(n), size)
        if not apart[np.ix_(group, group)].any()
    ]
    return [group for group in free if not any(group < other for other in free)]


@pytest.mark.parametrize("seed", range(20))
def test_ties_are_all_largest_groups_of_models_that_are_not_told_apart(seed):
    random = np.random.default_rng(seed)
    better = np.triu(random.random((8, 8)) < 0.4, 1)
    found = RankSets(-np.arange(8.0), (1,) * 8, (8,) * 8, better).tied()
    assert all(list(group) == sorted(group) for group in found)
    assert sorted(map(sorted, found)) == sorted(map(sorted, every_group(better)))


def test_a_pair_that_is_not_told_apart_stands_in_a_group_though_they_are_no_neighbours():
    correct = np.zeros((400, 3), bool)
    correct[:280, 0] = correct[12:280, 1] = correct[np.random.default_rng(1).permutation(400)[:264], 2] = True
    assert rank_sets(correct, independent(400)).tied() == [(0, 2), (1, 2)]


def test_the_order_of_the_columns_does_not_matter():
    correct = np.random.default_rng(4).random((300, 4)) < np.array([0.5, 0.75, 0.62, 0.6])
    straight = rank_sets(correct, independent(300))
    for order in permutations(range(4)):
        found = rank_sets(correct[:, list(order)], independent(300))
        assert found.low == tuple(straight.low[place] for place in order)
        assert found.high == tuple(straight.high[place] for place in order)


def test_a_model_that_is_far_below_widens_no_set_of_the_others():
    correct = np.random.default_rng(4).random((400, 4)) < np.array([0.95, 0.8, 0.6, 0.05])
    with_it, without = rank_sets(correct, independent(400)), rank_sets(correct[:, :3], independent(400))
    assert (with_it.low[:3], with_it.high[:3]) == (without.low, without.high)
    assert (with_it.low[3], with_it.high[3]) == (4, 4)


def test_one_model_has_one_rank():
    found = rank_sets(np.array([[True], [False]]), independent(2))
    assert (found.low, found.high, found.tied()) == ((1,), (1,), [])


def test_rank_sets_over_several_rows_rank_the_means():
    rows = np.repeat([0, 1], [900, 100])
    shares = np.where(rows[:, None] == 0, [0.5, 0.55], [0.95, 0.4])
    correct = np.random.default_rng(0).random((1000, 2)) < shares
    found = rank_sets(correct, design_of(np.zeros((1000, 0), int), rows))
    expected = [(correct[:900, m].mean() + correct[900:, m].mean()) / 2 for m in range(2)]
    assert found.means == pytest.approx(expected)
    assert (found.low, found.high) == ((1, 2), (1, 2))


def every_draw(correct, rows, entries, n_entries):
    """Return the mean ranks of the first model for every way to draw entries with replacement."""
    found = []
    for drawn in product(range(n_entries), repeat=n_entries):
        ranks = []
        for row in np.unique(rows):
            right = sum(correct[(rows == row) & (entries == entry)].sum(axis=0) for entry in drawn)
            ranks.append(rankdata(-right, method="min")[0])
        found.append(np.mean(ranks))
    return np.array(found)


@pytest.mark.slow
def test_the_interval_is_that_of_all_draws_of_the_entries():
    random = np.random.default_rng(6)
    entries, rows = crossed(5, 3, 4)[:, 0], crossed(5, 3, 4)[:, 1]
    correct = random.random((60, 3)) < np.array([0.6, 0.5, 0.55])
    exact = every_draw(correct, rows, entries, 5)
    low, high = mean_rank_intervals(correct, design_of(entries[:, None], rows))
    for end, share in ((low[0], 0.025), (high[0], 0.975)):
        # The draws are a sample, so the end is between nearby quantiles.
        assert np.quantile(exact, share - 0.015) <= end <= np.quantile(exact, share + 0.015)


@pytest.mark.slow
def test_entries_of_two_factors_are_drawn_apart_and_count_together():
    # A pigeonhole bootstrap in plain numpy, with other random draws.
    random, codes = np.random.default_rng(5), np.tile(crossed(8, 6), (30, 1))
    drawn = [draw_items((8, 6), (0.8, 0.8), seed=seed)[0] for seed in range(4)]
    rows = [np.stack([own ^ (random.random(48) < 0.25) for own in drawn], axis=1) for _ in range(30)]
    found = []
    for _ in range(4000):
        times = [
            np.bincount(random.integers(n, size=n), minlength=n)[codes[:48, at]] for at, n in ((0, 8), (1, 6))
        ]
        right = np.stack([(times[0] * times[1]) @ row for row in rows])
        found.append(rankdata(-right, method="min", axis=1).mean(axis=0))
    ends = mean_rank_intervals(np.concatenate(rows), design_of(codes, np.repeat(np.arange(30), 48)))
    assert np.stack(ends) == pytest.approx(np.quantile(found, [0.025, 0.975], axis=0), abs=0.08)


def test_an_interval_reaches_to_the_mean_rank_itself_and_no_further_than_there_are_models():
    correct = np.stack([draw_items((6, 6), (1, 1), seed=seed)[0] for seed in range(5)], axis=1)
    low, high = mean_rank_intervals(correct, design_of(crossed(6, 6)))
    ranks = rankdata(-correct.sum(axis=0), method="min")
    assert ((low >= 1) & (low <= ranks) & (ranks <= high) & (high <= 5)).all()


def test_independent_items_are_drawn_one_by_one():
    correct = np.random.default_rng(0).random((2000, 2)) < np.array([0.6, 0.5])
    low, high = mean_rank_intervals(correct, design_of(np.zeros((2000, 0), int)))
    assert (low.tolist(), high.tolist()) == ([1, 2], [1, 2])
    close = np.random.default_rng(0).random((50, 2)) < np.array([0.55, 0.5])
    low, high = mean_rank_intervals(close, design_of(np.zeros((50, 0), int)))
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])


def test_all_rows_are_drawn_together():
    # One word decides every row. So the rows rise and fall together, and their mean has the same variance as
    # one row.
    entries, rows = np.repeat(np.arange(5), 8), np.tile(np.arange(8), 5)
    correct = np.stack([entries < 3, entries >= 3], axis=1)
    low, high = mean_rank_intervals(correct, design_of(entries[:, None], rows))
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])
