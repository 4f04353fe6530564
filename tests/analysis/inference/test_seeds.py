import numpy as np
import pytest
from drawn_items import design_of, draw_items
from scipy.stats import t as student

from tseval.analysis.inference.estimates import estimate, score_interval
from tseval.analysis.inference.seeds import mean_of_seeds


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
    assert found.df == pytest.approx(
        (between_seeds + between_entries) ** 2 / (between_seeds**2 / 2 + between_entries**2 / 7)
    )
    n_eff = found.value * (1 - found.value) / found.se**2
    expected = score_interval(found.value, n_eff, student.ppf(0.975, found.df))
    assert (found.low, found.high) == pytest.approx(expected)


def test_seeds_that_are_always_right_have_an_interval():
    found = mean_of_seeds(np.ones((30, 3), bool), design_of(np.repeat(np.arange(6), 5)[:, None]))
    assert (found.value, found.se, found.high) == (1, 0, 1)
    assert found.low == pytest.approx(6 / (6 + student.ppf(0.975, 5) ** 2))
