from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from drawn_items import crossed, design_of, draw_items
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from tseval.analysis.design import Factors, of_pairs


def spread_of_mean(values, design):
    found = design.spread(np.asarray(values, float)[:, None])
    return float(found.variances[0]), found.df


def variance_of_mean(values, design):
    return spread_of_mean(values, design)[0]


def cells_of(codes, chosen):
    """Return each item's cell; an item without an entry is a separate cell."""
    return [
        ("alone", item) if (entries := codes[item, list(chosen)]).min() < 0 else tuple(entries.tolist())
        for item in range(len(codes))
    ]


def by_a_plain_loop(values, rows, codes):
    """Compute the equation of `Design.spread` and the degrees of freedom, one item at a time."""
    names, items = sorted(set(rows.tolist())), range(len(values))
    of_row = {row: [item for item in items if rows[item] == row] for row in names}
    means = {row: np.mean([values[item] for item in own]) for row, own in of_row.items()}
    within = {}
    for row, own in of_row.items():
        centre, n = (means[row], len(own)) if len(own) > 1 else (np.mean(list(means.values())), len(names))
        within[row] = sum((values[item] - centre) ** 2 for item in own) * n / max(n - 1, 1) / len(own)
    independent = sum(within[row] / len(own) for row, own in of_row.items()) / len(names) ** 2
    total = independent
    lone = [row for row, own in of_row.items() if len(own) == 1]
    df: float = len(values) - len(names) + len(lone) * (1 - 1 / len(names))
    for size in range(1, codes.shape[1] + 1):
        for chosen in combinations(range(codes.shape[1]), size):
            cell = cells_of(codes, chosen)
            if len(set(cell)) < len(values):
                between, own = one_combination(values, rows, cell)
                total += (-1) ** (size + 1) * (between - independent)
                df = min(df, own) if size == 1 else df
    return max(total, independent), max(df, 1)


def one_combination(values, rows, cell):
    """Compute the sum over the cells of a set of factors, and its degrees of freedom by whole matrices."""
    names, n, cells = sorted(set(rows.tolist())), len(values), sorted(set(cell), key=str)
    single = [row for row in names if len({cell[i] for i in range(n) if rows[i] == row}) == 1]
    # The matrix that subtracts means from items, (items, items), and the matrix that sums items to cells.
    away, add = np.zeros((n, n)), np.zeros((len(cells), n))
    for i in range(n):
        own = [j for j in range(n) if rows[j] == rows[i]]
        share = sum(cell[j] == cell[i] for j in own) / len(own)
        if rows[i] in single:
            share = 1.0 / len(names)
            for row in names:
                same = [j for j in range(n) if rows[j] == row]
                away[i, same] -= 1 / len(same) / len(names)
        else:
            away[i, own] -= 1 / len(own)
        away[i, i] += 1
        add[cells.index(cell[i]), i] = 1 / len(own) / len(names) / np.sqrt(1 - share)
    between = float(((add @ away @ values) ** 2).sum())
    # Rows of a single cell are pooled as if they were one row.
    alone = np.isin(rows, single)
    for k in np.flatnonzero(alone):
        away[k] = [(k == j) - alone[j] / np.sum(rows == rows[j]) / len(names) for j in range(n)]
    covariance = add @ away @ away.T @ add.T
    return between, np.trace(covariance) ** 2 / np.trace(covariance @ covariance)


@pytest.mark.parametrize("seed", range(5))
def test_two_factors_of_even_entries_agree_with_statsmodels(seed):
    values, codes = draw_items((11, 7), (1.0, 0.5), per_cell=3, seed=seed)
    fitted = sm.OLS(values.astype(float), np.ones(len(values))).fit()
    expected = float(cov_cluster_2groups(fitted, codes[:, 0], codes[:, 1])[0][0, 0])
    assert variance_of_mean(values, design_of(codes)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("levels", [(6, 5, 7), (6, 5, 5, 8)])
def test_any_number_of_factors_and_rows_agrees_with_a_plain_loop(levels, missing):
    values, codes = draw_items(levels, (0.5,) * len(levels), keep=0.7)
    random = np.random.default_rng(1)
    codes = np.where(random.random(codes.shape) < missing, -1, codes)
    rows = random.integers(0, 3, len(values))
    expected = by_a_plain_loop(values.astype(float), rows, codes)
    assert spread_of_mean(values, design_of(codes, rows)) == pytest.approx(expected, rel=1e-9)


def test_pairs_of_columns_have_the_variance_of_their_differences():
    columns = [draw_items((9, 6, 5), (1.0, 0.5, 0.5), seed=seed)[0].astype(float) for seed in (0, 7, 8)]
    design = design_of(crossed(9, 6, 5))
    both = design.spread(np.stack(columns, axis=1), of_pairs)
    for one, other in combinations(range(3), 2):
        found = both.variances[one, other], both.df
        assert found == pytest.approx(spread_of_mean(columns[one] - columns[other], design), rel=1e-9)


def test_without_clustering_the_variance_is_not_below_that_of_independent_items():
    equal = 0
    for seed in range(40):
        values, codes = draw_items((8, 7, 6), (0.0, 0.0, 0.0), seed=seed)
        independent = values.mean() * (1 - values.mean()) / (len(values) - 1)
        found = variance_of_mean(values, design_of(codes))
        assert found >= independent * (1 - 1e-12)
        equal += found == pytest.approx(independent)
    assert equal > 5  # otherwise the floor would not be tested


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


def test_a_factor_may_have_too_few_entries_among_the_items_that_count():
    codes = crossed(5, 6)
    counted = codes[:, 0] < 4
    among = design_of(codes).among(counted)
    assert (among.clusters, among.fixed) == ({"b": 6}, ("a",))


def test_entries_that_hold_most_of_the_weight_are_worth_less():
    codes = np.repeat(np.arange(5), [96, 1, 1, 1, 1])[:, None]
    assert design_of(codes).fewest_words() == pytest.approx(1 / (0.96**2 + 4 * 0.01**2))


def test_rows_weigh_alike_whatever_their_size():
    rows = np.array([0, 0, 0, 2, 2])
    values = np.array([[1.0], [1], [0], [0], [0]])
    design = design_of(np.zeros((5, 0), int), rows)
    assert design.means(values)[0] == pytest.approx((2 / 3 + 0) / 2)
    assert spread_of_mean(values[:, 0], design) == pytest.approx(((2 / 9 * 3 / 2 / 3 + 0) / 4, 3))


def test_categories_and_texts_are_the_same_factor():
    texts = pd.Series(["is", None, "laughs", "is"])
    as_text, as_category = (Factors.of(pd.DataFrame({"verb": c})) for c in (texts, texts.astype("category")))
    assert as_text.codes.tolist() == as_category.codes.tolist() == [[0], [-1], [1], [0]]
