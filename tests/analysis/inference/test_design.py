from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from drawn_items import crossed, design_of, draw_items
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

from tseval.analysis.design import Design, Factors, of_pairs


def spread_of_mean(values, design):
    found = design.spread(np.asarray(values, float)[:, None])
    return float(found.variances[0]), float(found.df[0])


def variance_of_mean(values, design):
    return spread_of_mean(values, design)[0]


def cells_of(codes, chosen):
    """The cell of every item in plain words; an item without an entry has one of its own."""
    return [
        ("alone", item) if (entries := codes[item, list(chosen)]).min() < 0 else tuple(entries.tolist())
        for item in range(len(codes))
    ]


def by_a_plain_loop(values, rows, codes):
    """The equation of `Design.spread` and the degrees of freedom, one item at a time."""
    names, items = sorted(set(rows.tolist())), range(len(values))
    of_row = {row: [item for item in items if rows[item] == row] for row in names}
    means = {row: np.mean([values[item] for item in own]) for row, own in of_row.items()}
    within = {}
    for row, own in of_row.items():
        centre, n = (means[row], len(own)) if len(own) > 1 else (np.mean(list(means.values())), len(names))
        within[row] = sum((values[item] - centre) ** 2 for item in own) * n / max(n - 1, 1) / len(own)
    independent = sum(within[row] / len(own) for row, own in of_row.items()) / len(names) ** 2
    total, of_factors = independent, []
    for size in range(1, codes.shape[1] + 1):
        for chosen in combinations(range(codes.shape[1]), size):
            cell = cells_of(codes, chosen)
            if len(set(cell)) == len(values):
                continue
            between, noise, ratio, own = one_combination(values, rows, cell, within)
            total += (-1) ** (size + 1) * ratio * (between - noise)
            if size == 1:
                of_factors.append((ratio * between, own))
    total = max(total, independent)
    df = len(values) - len(names) + sum(len(own) == 1 for own in of_row.values()) * (1 - 1 / len(names))
    for between, own in of_factors:
        df = min(df, max(min(total / between, 1) ** 2 * own, min(own, 3)))
    return total, max(df, 1)


def one_combination(values, rows, cell, within):
    """M and I of one set of factors, the ratio of squared weights, and the degrees of freedom of M."""
    names, items = sorted(set(rows.tolist())), range(len(values))
    n = Counter(zip(cell, rows.tolist(), strict=True))
    evened = [1 / (1 + 0.015 * (n[cell[i], rows[i]] - 1)) for i in items]
    weight = [evened[i] / sum(evened[j] for j in items if rows[j] == rows[i]) / len(names) for i in items]
    even = [1 / sum(rows == rows[i]) / len(names) for i in items]
    centre = {row: len(names) * sum(weight[i] * values[i] for i in items if rows[i] == row) for row in names}
    over_rows, lost = np.mean(list(centre.values())), {}
    for row in names:
        shares = Counter()
        for i in items:
            if rows[i] == row:
                shares[cell[i]] += len(names) * weight[i]
        w = np.array(list(shares.values()))
        lost[row] = 2 * (w**3).sum() / (w**2).sum() - (w**2).sum() if len(w) > 1 else 1 / len(names)
        centre[row] = centre[row] if len(w) > 1 else over_rows
    drawn, heavy, light = Counter(), Counter(), Counter()
    for i in items:
        drawn[cell[i]] += weight[i] * (values[i] - centre[rows[i]]) / np.sqrt(1 - lost[rows[i]])
        heavy[cell[i]] += even[i]
        light[cell[i]] += weight[i]
    between = sum(one**2 for one in drawn.values())
    noise = sum(weight[i] ** 2 * within[rows[i]] for i in items)
    ratio = (sum(w**2 for w in heavy.values()) - sum(w**2 for w in even)) / (
        sum(w**2 for w in light.values()) - sum(w**2 for w in weight)
    )
    single = Counter()
    for i in items:
        single[cell[i]] += weight[i] ** 2
    of_cell = max(between - noise, 0) / sum(light[c] ** 2 - single[c] for c in light)
    of_item = max(noise / sum(single.values()) - of_cell, 0)
    mixed = [of_cell * light[c] ** 2 + of_item * single[c] for c in light]
    kept = np.mean([1 - lost[row] for row in names])
    return between, noise, ratio, max(sum(mixed) ** 2 / sum(m**2 for m in mixed) * kept, 1)


def test_with_one_balanced_factor_the_error_is_that_of_the_cluster_means():
    values, codes = draw_items((12,), (1.0,), per_cell=9)
    means = [values[codes[:, 0] == entry].mean() for entry in range(12)]
    expected = np.std(means, ddof=1) / np.sqrt(12)
    assert np.sqrt(variance_of_mean(values, design_of(codes))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_one_factor_of_even_entries_agrees_with_statsmodels(seed):
    values, codes = draw_items((11, 7), (1.0, 0.5), per_cell=3, seed=seed)
    fitted = sm.OLS(values.astype(float), np.ones(len(values))).fit()
    expected = float(cov_cluster(fitted, codes[:, 0])[0, 0])
    assert variance_of_mean(values, design_of(codes[:, :1])) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_two_factors_of_even_entries_agree_with_statsmodels(seed):
    values, codes = draw_items((11, 7), (1.0, 0.5), per_cell=3, seed=seed)
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
    assert spread_of_mean(values, design_of(codes, rows)) == pytest.approx(expected, rel=1e-9)


def test_factors_that_never_meet_in_an_item_add_up():
    # Two rows, each with a factor of its own: a combination of both leaves every item alone.
    values, codes = draw_items((6, 5), (1.0, 1.0), per_cell=4)
    rows = np.tile([0, 1], len(codes) // 2)
    codes = np.where(np.stack([rows == 0, rows == 1], axis=1), codes, -1)
    expected = by_a_plain_loop(values.astype(float), rows, codes)
    assert spread_of_mean(values, design_of(codes, rows)) == pytest.approx(expected, rel=1e-9)


def test_two_names_of_one_factor_count_once():
    values, codes = draw_items((9,), (1.0,), per_cell=5)
    twice = np.repeat(codes, 2, axis=1)
    once = variance_of_mean(values, design_of(codes))
    assert variance_of_mean(values, design_of(twice)) == pytest.approx(once, rel=1e-12)


def test_pairs_of_columns_have_the_variance_of_their_differences():
    columns = [draw_items((9, 6, 5), (1.0, 0.5, 0.5), seed=seed)[0].astype(float) for seed in (0, 7, 8)]
    design = design_of(crossed(9, 6, 5))
    both = design.spread(np.stack(columns, axis=1), of_pairs)
    for one, other in combinations(range(3), 2):
        found = both.variances[one, other], both.df[one, other]
        assert found == pytest.approx(spread_of_mean(columns[one] - columns[other], design), rel=1e-9)


def test_without_clustering_the_variance_is_not_below_that_of_independent_items():
    equal = 0
    for seed in range(40):
        values, codes = draw_items((8, 7, 6), (0.0, 0.0, 0.0), seed=seed)
        independent = values.mean() * (1 - values.mean()) / (len(values) - 1)
        found = variance_of_mean(values, design_of(codes))
        assert found >= independent * (1 - 1e-12)
        equal += found == pytest.approx(independent)
    assert equal > 5  # or the floor would not have been needed


def test_a_frequent_entry_is_taken_to_vary_as_the_others_do():
    # 19 verbs of 20 items, and one with as many as all of these: by their spread, not by the one distance.
    sizes = [380] + [20] * 19
    codes = np.repeat(np.arange(20), sizes)
    shares = np.tile([0.25, 0.75], 10)
    values = np.concatenate([np.arange(n) < share * n for n, share in zip(sizes, shares, strict=True)])
    found, df = spread_of_mean(values, design_of(codes[:, None]))
    assert np.sqrt(found) == pytest.approx(0.25 * np.sqrt(0.5**2 + 0.5**2 / 19), rel=0.05)
    assert df > 4


def test_items_of_which_few_share_words_are_hardly_surer_than_independent_ones():
    names = np.full((2000, 1), -1)
    names[:10, 0] = np.repeat(np.arange(5), 2)
    values = np.random.default_rng(0).random(2000) < 0.7
    variance, df = spread_of_mean(values, design_of(names))
    assert variance == pytest.approx(values.var(ddof=1) / 2000, rel=0.01)
    assert df > 1000


def test_rows_of_one_word_each_are_no_surer_than_one_row_of_these_words():
    rows = np.repeat(np.arange(6), 20)
    values = np.concatenate([np.arange(20) < right for right in (18, 10, 6, 16, 12, 14)])
    together = spread_of_mean(values, design_of(rows[:, None]))
    assert spread_of_mean(values, design_of(rows[:, None], rows)) == pytest.approx(together)
    assert together == pytest.approx((np.var([18, 10, 6, 16, 12, 14], ddof=1) / 20**2 / 6, 5))


def test_factors_with_fewer_than_five_entries_stay_fixed_and_are_named():
    codes = crossed(4, 5, 1, 6)
    design = design_of(codes, names=("said", "verb", "speaker", "subject"))
    assert design.fixed == ("said", "speaker")
    assert design.clusters == {"verb": 5, "subject": 6}
    values = np.random.default_rng(0).random(len(codes))
    both = design_of(codes[:, [1, 3]])
    assert variance_of_mean(values, design) == variance_of_mean(values, both)


def test_a_factor_that_no_item_has_is_neither_drawn_nor_fixed():
    design = design_of(np.column_stack([crossed(5, 5), np.full(25, -1)]))
    assert (design.fixed, list(design.clusters)) == ((), ["a", "b"])


def test_without_factors_items_are_independent():
    design = Design.of(Factors.of(pd.DataFrame(index=range(7))))
    assert (design.clusters, design.fixed) == ({}, ())
    found = spread_of_mean([1, 0, 0, 1, 1, 0, 1], design)
    assert found == pytest.approx((4 / 7 * 3 / 7 / 6, 6))
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
    rows = np.array([0, 0, 0, 2, 2])
    values = np.array([[1.0], [1], [0], [0], [0]])
    design = design_of(np.zeros((5, 0), int), rows)
    assert design.means(values)[0] == pytest.approx((2 / 3 + 0) / 2)
    assert spread_of_mean(values[:, 0], design) == pytest.approx(((2 / 9 * 3 / 2 / 3 + 0) / 4, 3))


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
