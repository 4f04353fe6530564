"""Differences between nearly equal models: the bound for entries that are not in the sample."""

import numpy as np
import pytest
from drawn_items import design_of
from scipy.stats import beta, norm
from scipy.stats import t as student

from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import differences, judge_differences


def grid(n_rows, n_verbs, n_items, shared=True):
    """Make rows of a lexicon of verbs, either the same verbs in each row or different ones."""
    rows, verbs, _ = (axis.ravel() for axis in np.indices((n_rows, n_verbs, n_items)))
    codes = verbs if shared else rows * n_verbs + verbs
    return Design.of(Factors(("verb",), codes[:, None]), rows)


def with_flips(design, n_flips, seed=0):
    """Compare a model with a copy in which `n_flips` random verdicts are inverted."""
    random = np.random.default_rng(seed)
    one = random.random(len(design.rows)) < 0.7
    other = one.copy()
    other[random.permutation(len(one))[:n_flips]] ^= True
    (found,) = differences(np.stack([one, other], axis=1), design)
    return found


def half_width(found):
    return (found.high - found.low) / 2


def test_in_one_row_the_bound_is_wilsons_for_the_entries_and_near_the_exact_one():
    for n_verbs in (7, 20, 200):
        found = with_flips(grid(1, n_verbs, 10), 0)
        t = student.ppf(0.975, n_verbs - 1)
        assert half_width(found) == pytest.approx(t * np.sqrt(t**2 / (n_verbs + t**2) / n_verbs), rel=1e-9)
        exact = beta.ppf(0.975, 1, n_verbs)  # Clopper & Pearson, for 0 of n
        assert exact <= half_width(found) < 1.7 * exact


@pytest.mark.parametrize("shared", [True, False])
def test_a_mean_over_rows_combines_what_its_rows_may_hide(shared):
    n_rows, n_verbs = 16, 10
    found = with_flips(grid(n_rows, n_verbs, 5, shared), 0)
    t = student.ppf(0.975, n_rows * (n_verbs - 1))  # for the sum over all rows
    n_words = n_verbs if shared else n_rows * n_verbs  # all words together show how often entries differ
    highest = t**2 / (n_words + t**2)
    assert half_width(found) == pytest.approx(t * np.sqrt(highest / n_verbs / n_rows), rel=1e-9)
    assert half_width(found) < half_width(with_flips(grid(1, n_verbs, 5), 0)) / np.sqrt(n_rows)


def test_intervals_change_gradually_with_the_number_of_verdicts_that_differ():
    # Like Marvin & Linzen's 3,000 contrasts: 19 rows with 20 subjects each.
    design = grid(19, 20, 8)
    n_flips = (0, 1, 2, 3, 5, 8, 12, 20, 30)
    widths = [np.mean([half_width(with_flips(design, n, seed)) for seed in range(8)]) for n in n_flips]
    assert widths[0] <= widths[1] <= 0.06
    ratios = np.array(widths[1:]) / widths[:-1]
    assert ((ratios > 0.4) & (ratios < 1.25)).all(), widths
    assert widths[-1] < 0.006


def test_what_is_seen_on_many_entries_alone_counts():
    # If most entries differ, the interval is that of the paired t-test by entries, without other assumptions.
    design = grid(1, 30, 20)
    random = np.random.default_rng(3)
    pair = random.random((600, 2)) < [0.7, 0.6]
    (found,) = differences(pair, design)
    gaps = (pair[:, 0].astype(float) - pair[:, 1]).reshape(30, 20).mean(axis=1)
    by_entry = gaps.std(ddof=1) / np.sqrt(30)
    alone = (pair[:, 0].astype(float) - pair[:, 1]).std(ddof=1) / np.sqrt(600)
    assert found.se == pytest.approx(max(by_entry, alone), rel=1e-9)
    assert found.df == pytest.approx(29)


@pytest.mark.parametrize("n_flips", [0, 1, 2, 5])
def test_fourteen_verbs_never_make_two_models_equivalent(n_flips):
    found = with_flips(grid(19, 14, 10), n_flips)
    assert judge_differences([found], 0.02)[0].word in {"same verdicts", "undecided"}


def test_a_copy_that_lacks_one_verb_in_twenty_is_held_and_not_called_equivalent():
    # Drawn in plain numpy: 20 verbs with 10 items each; the copy fails on the verbs that it does not know.
    random, accuracy, held, equivalent = np.random.default_rng(1), 0.8, 0, 0
    design = grid(1, 20, 10)
    for _ in range(200):
        one = random.random(200) < accuracy
        lacks = random.random(20) < 0.05
        other = one & ~np.repeat(lacks, 10)
        (found,) = differences(np.stack([one, other], axis=1), design)
        held += found.low <= 0.05 * accuracy <= found.high
        equivalent += judge_differences([found], 0.02)[0].word == "equivalent"
    assert held >= 186  # .93
    assert equivalent <= 10  # .05


def test_independent_items_are_their_own_entries():
    found = with_flips(design_of(np.zeros((3000, 0), int)), 0)
    z = norm.ppf(0.975)
    assert half_width(found) == pytest.approx(z * np.sqrt(z**2 / (3000 + z**2) / 3000), rel=2e-3)
