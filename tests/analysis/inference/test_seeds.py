import numpy as np
import pytest
from drawn_items import design_of, draw_items
from scipy.stats import t as student

from tseval.analysis.design import estimate, score_interval
from tseval.analysis.differences import differences, differences_of_seeds, mean_of_seeds
from tseval.analysis.ranks import rank_sets, ranks_of_seeds


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


def drawn(n_seeds, better=0.0, seed=0):
    """Verdicts of several seeds on items of 8 verbs, 40 each, (items, seeds), and the codes of the verbs."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(8), 40)[:, None]
    shares = 0.5 + better + 0.02 * codes + 0.04 * random.standard_normal(n_seeds)
    return random.random((len(codes), n_seeds)) < shares, codes


def by_hand(first, second, codes):
    """How much better the second is, its standard error and degrees of freedom."""
    of_items = second.mean(axis=1) - first.mean(axis=1)
    of_verbs = [of_items[codes[:, 0] == verb].mean() for verb in range(8)]
    several = [one for one in (first, second) if one.shape[1] > 1]
    between_seeds = sum(one.mean(axis=0).var(ddof=1) / one.shape[1] for one in several)
    # Items are never surer than if they were independent.
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


def test_pairs_of_single_models_are_told_as_models_are_beside_architectures_of_several_seeds():
    models, codes = drawn(3, seed=5)
    design = design_of(codes)
    alone = differences(models, design)
    assert differences_of_seeds(np.split(models, 3, axis=1), design) == alone
    several, _ = drawn(3, 0.1, seed=6)
    beside = differences_of_seeds([*np.split(models, 3, axis=1), several], design)
    of_models = [beside[place] for place in (0, 1, 3)]
    for one, other in zip(of_models, alone, strict=True):
        assert (one.low, one.high, one.p, one.df) == pytest.approx(
            (other.low, other.high, other.p, other.df), rel=1e-9
        )


@pytest.mark.parametrize("seeds", [(3, 3), (5, 2), (1, 3)])
def test_two_architectures_are_told_apart_where_a_t_test_of_their_means_does(seeds):
    outcomes = set()
    for number in range(30):
        (first, codes), (second, _) = (
            drawn(n, better, 2 * number + place)
            for place, (n, better) in enumerate(zip(seeds, (0, 0.08), strict=True))
        )
        gap, se, df = by_hand(first, second, codes)
        p = 2 * student.sf(abs(gap) / se, df)
        if 0.045 < p < 0.055:
            continue  # a critical value of 10,000 draws has an error
        found = ranks_of_seeds([first, second], design_of(codes))
        assert bool(found.better.any()) == (p < 0.05)
        assert found.means == pytest.approx([first.mean(), second.mean()])
        outcomes.add(p < 0.05)
    assert outcomes == {True, False}


def test_architectures_of_one_seed_have_the_ranks_of_models():
    models, codes = drawn(4, seed=3)
    models[:, 0] |= np.arange(len(codes)) % 3 == 0
    alone = ranks_of_seeds(np.split(models, 4, axis=1), design_of(codes))
    ranked = rank_sets(models, design_of(codes))
    assert (alone.low, alone.high) == (ranked.low, ranked.high)
    assert ranked.better.any()


def test_seeds_that_are_alike_to_the_last_item_have_the_ranks_of_any_of_them():
    first, codes = drawn(1, 0.2, seed=1)
    second, _ = drawn(1, seed=2)
    found = ranks_of_seeds([np.repeat(one, 3, axis=1) for one in (first, second)], design_of(codes))
    assert (found.low, found.high) == ((1, 2), (1, 2))
    equal = ranks_of_seeds([np.repeat(first, 3, axis=1)] * 2, design_of(codes))
    assert (equal.low, equal.high) == ((1, 1), (2, 2))
