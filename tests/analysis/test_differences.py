from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from drawn_items import crossed, design_of, draw_items
from scipy.stats import t as student
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.sandwich_covariance import cov_cluster
from statsmodels.stats.weightstats import ttost_paired

from tseval.analysis.differences import differences, holm, judge_differences
from tseval.errors import RunError


def independent(n_items):
    return design_of(np.zeros((n_items, 0), int))


def models(*shares, n_items=200, seed=0):
    """Draw verdicts of several models on independent items."""
    return np.random.default_rng(seed).random((n_items, len(shares))) < np.array(shares)


def test_without_factors_it_is_the_paired_t_test():
    correct = models(0.8, 0.7)
    (found,) = differences(correct, independent(200))
    expected = ttest_rel(*correct.T.astype(float))
    interval = expected.confidence_interval()
    assert found.p == pytest.approx(expected.pvalue, rel=1e-10)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert (found.df, found.n_items) == (199, 200)


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("shares", [(0.8, 0.75), (0.6, 0.7)])
def test_without_factors_the_test_of_equivalence_is_that_of_statsmodels(shares, margin):
    correct = models(*shares)
    (found,) = differences(correct, independent(200))
    p, *_ = ttost_paired(*correct.T.astype(float), -margin, margin)
    assert found.p_beyond(margin) == pytest.approx(p, rel=1e-9)


def test_with_a_factor_the_error_is_that_of_statsmodels():
    first, codes = draw_items((13,), (1.0,), per_cell=20)
    second, _ = draw_items((13,), (1.0,), per_cell=20, seed=5)
    (found,) = differences(np.stack([first, second], axis=1), design_of(codes))
    gap = first.astype(float) - second
    fitted = sm.OLS(gap, np.ones(len(gap))).fit()
    se = np.sqrt(cov_cluster(fitted, codes[:, 0])[0, 0])
    assert found.value == pytest.approx(gap.mean())
    assert found.se == pytest.approx(se, rel=1e-10)
    assert found.df == 12
    assert found.p == pytest.approx(2 * student.sf(abs(gap.mean()) / se, 12), rel=1e-9)


def test_pairs_come_in_order_and_the_other_way_round_turns_the_sign():
    correct = models(0.9, 0.5, 0.7)
    pairs = list(combinations(range(3), 2))
    for (one, other), found in zip(pairs, differences(correct, independent(200)), strict=True):
        assert found.value == pytest.approx(correct[:, one].mean() - correct[:, other].mean())
        (turned,) = differences(correct[:, [other, one]], independent(200))
        assert (turned.value, turned.low, turned.p) == pytest.approx((-found.value, -found.high, found.p))


def test_models_with_the_same_verdicts_may_still_differ_on_other_words():
    verdicts, codes = draw_items((14, 10), (0.5, 0.5))
    (found,) = differences(np.stack([verdicts, verdicts], axis=1), design_of(codes))
    # Worst case: each of ten entries is completely right or wrong, and none shows a difference.
    t = student.ppf(0.975, 9)
    assert (found.value, found.p) == (0, 1)
    assert found.high == -found.low == pytest.approx(t * np.sqrt(t**2 / (10 + t**2) / 10))


def test_a_single_verdict_that_differs_changes_next_to_nothing():
    # 14 verbs with 200 items each, all correct. If a model failed on one verb in five, 14 verbs would miss it
    # once in twenty draws.
    codes = np.repeat(np.arange(14), 200)[:, None]
    correct = np.ones((2800, 3), bool)
    correct[5, 1] = False
    alike, flipped, _ = differences(correct[:, [0, 2, 1]], design_of(codes))
    assert alike.same
    assert not flipped.same
    assert (flipped.low, flipped.high) == pytest.approx((alike.low, alike.high), abs=0.001)
    assert alike.high == pytest.approx(0.289, abs=0.0005)
    assert [one.word for one in judge_differences([alike, flipped], 0.02)] == ["same verdicts", "undecided"]


def test_always_right_against_always_wrong_is_told_by_entries_not_by_items():
    correct = np.stack([np.ones(500, bool), np.zeros(500, bool)], axis=1)
    codes = np.repeat(np.arange(5), 100)[:, None]
    (found,) = differences(correct, design_of(codes))
    assert found.p == pytest.approx(2 * student.sf(np.sqrt(5), 4))
    (many,) = differences(correct, design_of(crossed(500)))
    assert many.p < 1e-50


@pytest.mark.parametrize(("n_verbs", "word"), [(20, "undecided"), (1000, "equivalent")])
def test_nearly_equal_models_are_equivalent_on_many_words_alone(n_verbs, word):
    # 20 verbs cannot exclude a kind of verb on which one model fails, however small the observed error is.
    one, verbs = np.ones(n_verbs * 50, bool), np.repeat(np.arange(n_verbs), 50)
    other = one.copy()
    other[[0, 60]] = False
    (pair,) = differences(np.stack([one, other], axis=1), design_of(verbs[:, None]))
    assert pair.se < 0.6 * pair.unseen
    assert judge_differences([pair], 0.02)[0].word == word


def test_holms_correction_is_that_of_statsmodels():
    p = np.random.default_rng(2).random(9) ** 4
    assert holm(p.tolist()) == pytest.approx(multipletests(p, method="holm")[1])


def test_each_word_says_what_it_should():
    correct = models(0.9, 0.6, 0.88, n_items=400)
    correct[:, 2] = correct[:, 0]
    correct[:2, 2] ^= True
    pairs = differences(correct, independent(400))
    assert [one.word for one in judge_differences(pairs, 0.02)] == ["better", "equivalent", "worse"]
    assert [one.word for one in judge_differences(pairs, 0.001)] == ["better", "undecided", "worse"]


def test_more_pairs_need_surer_differences():
    pairs = differences(models(0.75, 0.68, 0.71, 0.72, n_items=600), independent(600))
    alone = judge_differences(pairs[:1], 0.02)[0]
    among = judge_differences(pairs, 0.02)[0]
    assert pairs[0].p == alone.p_holm < 0.05 < among.p_holm
    assert (alone.word, among.word) == ("better", "undecided")


@pytest.mark.parametrize("margin", [0, 1, -0.02, 2])
def test_a_margin_is_between_0_and_1(margin):
    with pytest.raises(RunError) as caught:
        judge_differences([], margin)
    assert str(caught.value) == (
        f"--margin {margin:g}: the margin must be a difference of accuracies, above 0 and below 1.\n"
        "  Write the smallest difference that matters to you, such as --margin 0.02."
    )
