from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from drawn_items import crossed, design_of, draw_items
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

from tseval.analysis.design import Design, Factors


def variance_of_mean(values, design):
    _, influence = design.deviations(np.asarray(values, float)[:, None])
    return float(design.covariance(influence)[0, 0])


def cells_of(codes, chosen):
    """The cell of every item in plain words; an item without an entry has one of its own."""
    return [
        ("alone", item) if (entries := codes[item, list(chosen)]).min() < 0 else tuple(entries.tolist())
        for item in range(len(codes))
    ]


def by_a_plain_loop(values, rows, codes):
    """Equations 2.11 and 2.13 of Cameron, Gelbach & Miller 2011, one item at a time."""
    n_rows = len(set(rows.tolist()))
    means = {row: values[rows == row].mean() for row in set(rows.tolist())}
    sizes = {row: (rows == row).sum() for row in means}
    total = 0.0
    for size in range(1, codes.shape[1] + 1):
        for chosen in combinations(range(codes.shape[1]), size):
            sums = {}
            for item, cell in enumerate(cells_of(codes, chosen)):
                row = rows[item]
                share = (values[item] - means[row]) / (n_rows * sizes[row])
                sums[cell] = sums.get(cell, 0.0) + share
            g = len(sums)
            total += (-1) ** (size + 1) * g / (g - 1) * sum(value**2 for value in sums.values())
    return total


def test_with_one_balanced_factor_the_error_is_that_of_the_cluster_means():
    values, codes = draw_items((12,), (1.0,), per_cell=9)
    means = [values[codes[:, 0] == entry].mean() for entry in range(12)]
    expected = np.std(means, ddof=1) / np.sqrt(12)
    assert np.sqrt(variance_of_mean(values, design_of(codes))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_one_factor_agrees_with_statsmodels(seed):
    values, codes = draw_items((11, 7), (1.0, 0.5), per_cell=3, keep=0.6, seed=seed)
    fitted = sm.OLS(values.astype(float), np.ones(len(values))).fit()
    expected = float(cov_cluster(fitted, codes[:, 0])[0, 0])
    assert variance_of_mean(values, design_of(codes[:, :1])) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_two_factors_agree_with_statsmodels(seed):
    values, codes = draw_items((11, 7), (1.0, 0.5), per_cell=3, keep=0.6, seed=seed)
    fitted = sm.OLS(values.astype(float), np.ones(len(values))).fit()
    expected = float(cov_cluster_2groups(fitted, codes[:, 0], codes[:, 1])[0][0, 0])
    assert variance_of_mean(values, design_of(codes)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("levels", [(6, 5, 7), (6, 5, 5, 8)])
def test_any_number_of_factors_and_rows_agrees_with_a_plain_loop(levels, missing):
    values, codes = draw_items(levels, (0.5,) * len(levels), keep=0.7)
    random = np.random.default_rng(1)
    codes = np.where(random.random(codes.shape) < missing, -1, codes)
    rows = random.integers(0, 3, len(values))
    expected = by_a_plain_loop(values.astype(float), rows, codes)
    assert variance_of_mean(values, design_of(codes, rows)) == pytest.approx(expected, rel=1e-10)


def test_factors_that_never_meet_in_an_item_add_up():
    # Two rows, each with a factor of its own: a combination of both leaves every item alone.
    values, codes = draw_items((6, 5), (1.0, 1.0), per_cell=4)
    rows = np.tile([0, 1], len(codes) // 2)
    codes = np.where(np.stack([rows == 0, rows == 1], axis=1), codes, -1)
    expected = by_a_plain_loop(values.astype(float), rows, codes)
    assert variance_of_mean(values, design_of(codes, rows)) == pytest.approx(expected, rel=1e-10)


def test_two_names_of_one_factor_count_once():
    values, codes = draw_items((9,), (1.0,), per_cell=5)
    twice = np.repeat(codes, 2, axis=1)
    once = variance_of_mean(values, design_of(codes))
    assert variance_of_mean(values, design_of(twice)) == pytest.approx(once, rel=1e-12)


def test_the_covariance_gives_the_variance_of_every_difference():
    first, codes = draw_items((9, 6, 5), (1.0, 0.5, 0.5))
    second, _ = draw_items((9, 6, 5), (1.0, 0.5, 0.5), seed=7)
    design = design_of(codes)
    _, influence = design.deviations(np.stack([first, second], axis=1).astype(float))
    both = design.covariance(influence)
    gap = first.astype(float) - second
    assert both[0, 0] + both[1, 1] - 2 * both[0, 1] == pytest.approx(variance_of_mean(gap, design), rel=1e-10)


def test_without_clustering_the_variance_is_not_below_that_of_independent_items():
    below = 0
    for seed in range(40):
        values, codes = draw_items((8, 7, 6), (0.0, 0.0, 0.0), seed=seed)
        design = design_of(codes)
        _, influence = design.deviations(values[:, None].astype(float))
        independent = values.mean() * (1 - values.mean()) / len(values)
        below += design.covariance(influence)[0, 0] < independent
        assert design.variance(influence)[0] >= independent * (1 - 1e-12)
    assert below > 5  # or the floor would not have been needed


def test_factors_with_fewer_than_five_entries_stay_fixed_and_are_named():
    codes = crossed(4, 5, 1, 6)
    design = design_of(codes, names=("said", "verb", "speaker", "subject"))
    assert design.fixed == ("said", "speaker")
    assert design.clusters == {"verb": 5, "subject": 6}
    assert design.df == 4
    values = np.random.default_rng(0).random(len(codes))
    both = design_of(codes[:, [1, 3]])
    assert variance_of_mean(values, design) == variance_of_mean(values, both)


def test_a_factor_that_no_item_has_is_neither_drawn_nor_fixed():
    design = design_of(np.column_stack([crossed(5, 5), np.full(25, -1)]))
    assert (design.fixed, list(design.clusters)) == ((), ["a", "b"])


def test_without_factors_items_are_independent():
    design = Design.of(Factors.of(pd.DataFrame(index=range(7))))
    assert (design.clusters, design.fixed, design.df) == ({}, (), None)
    _, influence = design.deviations(np.array([[1.0], [0], [0], [1], [1], [0], [1]]))
    assert design.variance(influence)[0] == pytest.approx(4 / 7 * 3 / 7 / 7)
    assert design.fewest_words() == pytest.approx(7)


def test_a_factor_may_have_too_few_entries_among_the_items_that_count():
    codes = crossed(5, 6)
    counted = codes[:, 0] < 4
    among = design_of(codes).among(counted)
    assert (among.clusters, among.fixed) == ({"b": 6}, ("a",))


def test_at_worst_items_are_worth_the_entries_of_the_smallest_factor():
    assert design_of(crossed(7, 10, 6)).fewest_words() == pytest.approx(6)


def test_entries_that_hold_most_of_the_weight_are_worth_less():
    codes = np.repeat(np.arange(5), [96, 1, 1, 1, 1])[:, None]
    assert design_of(codes).fewest_words() == pytest.approx(1 / (0.96**2 + 4 * 0.01**2))


def test_rows_weigh_alike_whatever_their_size():
    rows = np.array([0, 0, 0, 2])
    design = design_of(np.zeros((4, 0), int), rows)
    means, influence = design.deviations(np.array([[1.0], [1], [0], [0]]))
    assert means[0] == pytest.approx((2 / 3 + 0) / 2)
    assert influence[:, 0] == pytest.approx([1 / 18, 1 / 18, -2 / 18, 0])


@given(
    st.lists(st.lists(st.sampled_from(["he", "she", None]), min_size=3, max_size=3), min_size=1, max_size=9)
)
def test_entries_are_numbered_alike_wherever_they_are_alike(entries):
    frame = pd.DataFrame(entries, columns=["a", "b", "c"], dtype=object)
    factors = Factors.of(frame)
    for place, name in enumerate(frame):
        for one, other in combinations(range(len(frame)), 2):
            alike = frame[name][one] is not None and frame[name][one] == frame[name][other]
            codes = factors.codes[[one, other], place]
            assert alike == (codes[0] >= 0 and codes[0] == codes[1])


def test_categories_and_texts_are_the_same_factor():
    texts = pd.Series(["is", None, "laughs", "is"])
    as_text, as_category = (Factors.of(pd.DataFrame({"verb": c})) for c in (texts, texts.astype("category")))
    assert as_text.codes.tolist() == as_category.codes.tolist() == [[0], [-1], [1], [0]]
