from itertools import product

import numpy as np
import pytest
from drawn_items import crossed, design_of, draw_items
from scipy.stats import rankdata

from tseval.analysis.ranks import mean_rank_intervals


def every_draw(correct, rows, entries, n_entries):
    """Mean ranks of the first model in every way to draw entries with replacement."""
    found = []
    for drawn in product(range(n_entries), repeat=n_entries):
        ranks = []
        for row in np.unique(rows):
            right = sum(correct[(rows == row) & (entries == entry)].sum(axis=0) for entry in drawn)
            ranks.append(rankdata(-right, method="min")[0])
        found.append(np.mean(ranks))
    return np.array(found)


def test_the_interval_is_that_of_all_draws_of_the_entries():
    random = np.random.default_rng(6)
    entries, rows = crossed(5, 3, 4)[:, 0], crossed(5, 3, 4)[:, 1]
    correct = random.random((60, 3)) < np.array([0.6, 0.5, 0.55])
    exact = every_draw(correct, rows, entries, 5)
    low, high = mean_rank_intervals(correct, design_of(entries[:, None], rows))
    for end, share in ((low[0], 0.025), (high[0], 0.975)):
        # The draws are a sample: the end lies between quantiles nearby.
        assert np.quantile(exact, share - 0.015) <= end <= np.quantile(exact, share + 0.015)


def test_models_that_every_word_tells_apart_keep_their_ranks():
    codes = crossed(6, 7)
    correct = np.stack([np.zeros(42, bool), np.ones(42, bool)], axis=1)
    low, high = mean_rank_intervals(correct, design_of(codes))
    assert low.tolist() == high.tolist() == [2, 1]


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
    # One word decides every row: the rows rise and fall together, so their mean is no surer than one of them.
    entries, rows = np.repeat(np.arange(5), 8), np.tile(np.arange(8), 5)
    correct = np.stack([entries < 3, entries >= 3], axis=1)
    low, high = mean_rank_intervals(correct, design_of(entries[:, None], rows))
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_same_table_gives_the_same_interval_in_any_order(order):
    correct = np.stack([draw_items((6, 9), (1, 1), seed=seed)[0] for seed in range(3)], axis=1)
    straight = mean_rank_intervals(correct, design_of(crossed(6, 9)))
    found = mean_rank_intervals(correct[:, order], design_of(crossed(6, 9)))
    assert [ends.tolist() for ends in found] == [ends[list(order)].tolist() for ends in straight]
