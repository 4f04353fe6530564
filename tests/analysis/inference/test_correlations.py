"""Correlations against scipy, their errors against the jackknife, their intervals against the truth."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tseval.analysis.design import Design, Factors
from tseval.analysis.measures import pearson, spearman

BOTH: dict[str, Any] = {"pearson": (pearson, stats.pearsonr), "spearman": (spearman, stats.spearmanr)}


def design_of(**factors):
    return Design.of(Factors.of(pd.DataFrame(factors)))


def alone(n):
    return Design.of(Factors.of(pd.DataFrame(index=range(n))))


def measures(n, rho=0.5, seed=0, steps=None):
    """Two correlated measures; with steps the second has so few values that many are equal."""
    x, y = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
    return x, y if steps is None else np.round(y * steps) / steps


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("steps", [None, 1])
@pytest.mark.parametrize("n", [3, 4, 17, 300])
def test_a_correlation_is_that_of_scipy(name, steps, n):
    ours, theirs = BOTH[name]
    x, y = measures(n, steps=steps, seed=n)
    found = ours(x, y, alone(n))
    assert found.value == pytest.approx(theirs(x, y).statistic, abs=1e-11)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("steps", [None, 1])
def test_its_error_is_that_of_the_jackknife(name, steps):
    ours, theirs = BOTH[name]
    n = 400
    x, y = measures(n, steps=steps)
    left_out = [theirs(np.delete(x, i), np.delete(y, i)).statistic for i in range(n)]
    jackknife = np.sqrt((n - 1) / n * np.sum((left_out - np.mean(left_out)) ** 2))
    assert ours(x, y, alone(n)).se == pytest.approx(jackknife, rel=0.02)


@pytest.mark.parametrize("name", BOTH)
def test_clustered_its_error_is_that_of_leaving_out_whole_clusters(name):
    ours, theirs = BOTH[name]
    n, k = 600, 60
    item = np.repeat(np.arange(k), n // k)
    x, y = np.array(measures(n)) + np.array(measures(k, seed=1))[:, item]
    left_out = [theirs(x[item != g], y[item != g]).statistic for g in range(k)]
    jackknife = np.sqrt((k - 1) / k * np.sum((left_out - np.mean(left_out)) ** 2))
    found = ours(x, y, design_of(item=item))
    assert found.se == pytest.approx(jackknife, rel=0.05)
    assert found.se > 1.3 * ours(x, y, alone(n)).se


@pytest.mark.parametrize("name", BOTH)
def test_the_interval_is_symmetric_on_the_scale_of_fisher_and_never_narrower_than_fishers(name):
    ours, _ = BOTH[name]
    x, y = measures(50)
    found = ours(x, y, alone(50))
    ends = np.arctanh([found.low, found.value, found.high])
    assert ends[2] - ends[1] == pytest.approx(ends[1] - ends[0], abs=1e-9)
    assert ends[2] - ends[1] >= stats.norm.ppf(0.975) / np.sqrt(47) - 1e-9


def test_the_interval_of_three_sentences_says_nothing():
    x, y = measures(3)
    found = pearson(x, y, alone(3))
    assert (found.low, found.high) == (-1, 1)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_perfect_correlation_has_no_interval(name, sign):
    ours, _ = BOTH[name]
    found = ours(np.arange(9.0), sign * np.arange(9.0), alone(9))
    assert found.value == sign
    assert np.isnan(found.low)
    assert np.isnan(found.high)


@pytest.mark.parametrize("name", BOTH)
def test_what_does_not_vary_has_no_correlation(name):
    ours, _ = BOTH[name]
    assert ours(np.zeros(9), np.arange(9.0), alone(9)) is None
    assert ours(np.arange(9.0), np.full(9, 3.1), alone(9)) is None
    assert ours(np.arange(2.0), np.arange(2.0), alone(2)) is None


@pytest.mark.parametrize("name", BOTH)
def test_intervals_hold_the_correlation_of_other_items(name):
    ours, _ = BOTH[name]
    rho, k, each, n = 0.5, 20, 10, 400
    true = rho if name == "pearson" else 6 / np.pi * np.arcsin(rho / 2)
    item = np.repeat(np.arange(k), each)
    design, rng = design_of(item=item), np.random.default_rng(5)
    held = held_alone = 0
    for _ in range(n):
        of_items, own = (
            rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size) for size in (k, k * each)
        )
        x, y = (of_items[item] + own).T
        found, independent = ours(x, y, design), ours(x, y, alone(k * each))
        held += found.low <= true <= found.high
        held_alone += independent.low <= true <= independent.high
    assert held / n >= 0.92  # one share has an error of 0.011
    assert held_alone / n < 0.8


@pytest.mark.parametrize("scale", [1e308, 1e-308, 1e200, 1.0])
def test_a_correlation_has_no_scale(scale):
    x, y = np.array([1.0, -1.0, 0.75, 0.25, -0.5]), np.array([0.5, -0.25, 1.0, -0.75, 0.125])
    expected = stats.pearsonr(x, y).statistic
    assert pearson(x * scale, y, alone(5)).value == pytest.approx(expected)
    assert pearson(y, x * scale, alone(5)).value == pytest.approx(expected)
