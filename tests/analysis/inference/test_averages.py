"""Means of numbers with intervals, against scipy and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from drawn_items import design_of
from scipy.stats import t as student
from scipy.stats import ttest_1samp
from statsmodels.stats.sandwich_covariance import cov_cluster

from tseval.analysis.differences import average


def draw(n_levels, per_level, spread, seed=0):
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_levels), per_level)
    return random.normal(3, 1, len(codes)) + spread * random.normal(size=n_levels)[codes], codes[:, None]


def test_without_factors_the_interval_is_that_of_the_t_test():
    values, codes = draw(4, 3, 0)
    found = average(values, design_of(codes[:, :0]))
    interval = ttest_1samp(values, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx(tuple(interval), rel=1e-12)
    assert found.value == pytest.approx(values.mean())
    assert (found.df, found.clusters) == (11, {})


def test_a_factor_with_few_entries_is_fixed():
    values, codes = draw(4, 3, 5)
    found = average(values, design_of(codes))
    assert found.se == pytest.approx(np.std(values, ddof=1) / np.sqrt(12), rel=1e-12)
    assert found.fixed == ("a",)


def test_with_a_factor_the_error_is_that_of_clusters():
    values, codes = draw(9, 4, 2)
    found = average(values, design_of(codes))
    se = np.sqrt(cov_cluster(sm.OLS(values, np.ones(len(values))).fit(), codes[:, 0])[0, 0])
    half = student.ppf(0.975, 8) * se
    assert (found.se, found.low, found.high) == pytest.approx(
        (se, values.mean() - half, values.mean() + half), rel=1e-10
    )


def test_clusters_that_differ_less_than_items_narrow_nothing():
    values = np.tile([1.0, 2.0], 8)
    found = average(values, design_of(np.repeat(np.arange(8), 2)[:, None]))
    assert found.se == pytest.approx(np.std(values, ddof=1) / 4, rel=1e-12)


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
