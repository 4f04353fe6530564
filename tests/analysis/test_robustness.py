"""The effect of single words on a row: against filtering by hand, closed forms and other programs."""

import numpy as np
import pandas as pd
import pytest
from drawn_items import draw_items
from scipy.stats import nct, spearmanr, t

from tseval.analysis.robustness import (
    FEWEST_ITEMS,
    ITEMS,
    MOST_ENTRIES,
    by_factor,
    frequencies,
    robustness,
    smallest_difference,
)

NAMES = ("verb", "subject", "embedded")


def verdicts_of(correct, codes, construction="Simple", **columns):
    """Make verdicts of one row whose items have these entries."""
    frame = pd.DataFrame(
        {"dependency": "short", "phenomenon": "Agreement", "construction": construction,
         "contrast": "grammatical > ungrammatical", "correct": correct, "undecidable": False}
    )  # fmt: skip
    for name, column in zip(NAMES, np.asarray(codes).T, strict=False):
        words = pd.array([f"{name} {code}" for code in column], "str")
        frame[f"{name}.entry"] = pd.Categorical(words)
    return frame.assign(**columns)


@pytest.fixture(scope="module")
def drawn():
    correct, codes = draw_items((7, 6, 5), (1.2, 0.3, 0.3), keep=0.8, seed=5)
    return verdicts_of(correct, codes)


def side(row):
    return "above" if row["low"] > 0.5 else "below" if row["high"] < 0.5 else "neither"


@pytest.mark.slow
def test_each_entry_is_what_the_row_is_with_and_without_it(drawn):
    found = robustness(drawn)
    whole = found.rows.iloc[0]
    assert whole["accuracy"] == drawn["correct"].mean()
    assert len(found.entries) == 7 + 6 + 5
    for line in found.entries.to_dict("records"):
        has = drawn[f"{line['factor']}.entry"] == line["entry"]
        own, others = (robustness(drawn[chosen]).rows.iloc[0] for chosen in (has, ~has))
        for name in ("n_items", "accuracy", "low", "high"):
            assert line[name] == own[name]
        assert line["accuracy"] == drawn.loc[has, "correct"].mean()
        assert line["without"] == drawn.loc[~has, "correct"].mean()
        assert line["decides"] == (side(others) != side(whole))


def test_a_word_that_turns_a_row_is_named():
    # Five of six verbs are correct in three of four items, the last never: it alone makes the row uncertain.
    codes = np.stack([np.repeat(np.arange(6), 40), np.tile(np.arange(8), 30)], axis=1)
    correct = np.where(codes[:, 0] == 5, False, np.repeat(np.arange(30), 8) % 4 != 0)
    found = by_factor(robustness(verdicts_of(correct, codes)).entries).to_dict("list")
    assert found["decides"] == [("verb 5",), ()]
    assert (found["lowest"][0], found["lowest_accuracy"][0]) == ("verb 5", 0.0)
    assert found["without_high"][0] == correct[codes[:, 0] != 5].mean()


def test_the_share_of_a_single_factor_is_what_is_more_than_independence():
    correct, codes = draw_items((14,), (1.0,), per_cell=30, seed=2)
    row = robustness(verdicts_of(correct, codes)).rows.iloc[0]
    clusters = correct.reshape(14, 30).mean(axis=1)
    variance = clusters.var(ddof=1) / 14
    independent = correct.var(ddof=1) / len(correct)
    assert row["se"] == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert (row["limit"], row["n_entries"]) == ("verb", 14)
    assert row["share"] == pytest.approx(1 - independent / variance, rel=1e-12)


def test_where_words_do_not_matter_single_items_limit_a_row():
    correct, codes = draw_items((14, 20), (0.0, 0.0), seed=1)
    row = robustness(verdicts_of(correct, codes)).rows.iloc[0]
    assert row["limit"] == ITEMS
    assert row["n_entries"] is pd.NA
    assert 0.5 < row["share"] <= 1


def test_a_factor_of_too_few_entries_is_looked_at_but_limits_nothing():
    # "no" licenses, "few" does not: half of the items depend on one word.
    codes = np.stack([np.tile(np.arange(2), 100), np.repeat(np.arange(20), 10)], axis=1)
    found = robustness(verdicts_of(codes[:, 0] == 0, codes))
    assert found.rows["limit"].tolist() == [ITEMS]
    factors = by_factor(found.entries)
    assert factors["decides"].tolist() == [("verb 0", "verb 1"), ()]
    assert (factors["without_low"][0], factors["without_high"][0]) == (0.0, 1.0)


def test_rows_are_told_apart_and_undecidable_items_left_out(drawn):
    other = verdicts_of([True] * 6, np.zeros((6, 1), int), "Hard", undecidable=True)
    found = robustness(pd.concat([drawn, other]))
    assert found.rows["construction"].tolist() == ["Simple", "Hard"]
    assert found.rows["n_items"].tolist() == [len(drawn), 0]
    assert found.rows.iloc[1, 5:].isna().all()
    assert set(found.entries["construction"]) == {"Simple"}
    half = drawn.assign(undecidable=np.arange(len(drawn)) % 2 == 0)
    pd.testing.assert_frame_equal(robustness(half).entries, robustness(half[~half["undecidable"]]).entries)


def test_a_row_of_equal_verdicts_has_no_smallest_difference():
    row = robustness(verdicts_of([True] * 40, np.arange(40)[:, None] % 8)).rows.iloc[0]
    assert row[["limit", "share", "smallest_difference"]].isna().all()
    assert row["low"] < row["accuracy"] == 1.0


def test_entries_of_few_items_are_passed_over_and_counted():
    codes = np.array([[0]] * FEWEST_ITEMS + [[1]] * (FEWEST_ITEMS - 1) + [[-1]] * 3)
    frame = verdicts_of(np.arange(len(codes)) % 2 == 0, codes)
    frame["verb.entry"] = frame["verb.entry"].where(frame["verb.entry"] != "verb -1")
    found = robustness(frame)
    assert (found.entries["entry"].tolist(), found.n_passed_over) == (["verb 0"], 1)


def test_of_very_many_entries_those_with_most_items_are_looked_at():
    sizes = np.full(MOST_ENTRIES + 3, FEWEST_ITEMS)
    sizes[:2] = 4 * FEWEST_ITEMS
    codes = np.repeat(np.arange(len(sizes)), sizes)[:, None]
    found = robustness(verdicts_of(np.arange(len(codes)) % 3 == 0, codes))
    assert (len(found.entries), found.n_passed_over) == (MOST_ENTRIES, 3)
    assert {"verb 0", "verb 1"} <= set(found.entries["entry"])


@pytest.mark.parametrize("df", [6, 13, 40, None])
def test_the_smallest_difference_is_shown_four_times_in_five(df):
    # The power of a t-test, by the noncentral t distribution.
    degrees = df or 10**6
    noncentral = smallest_difference(0.02, df) / (np.sqrt(2) * 0.02)
    critical = t.ppf(0.975, degrees)
    power = nct.sf(critical, degrees, noncentral) + nct.cdf(-critical, degrees, noncentral)
    assert power == pytest.approx(0.8, abs=0.015)


def test_frequency_is_that_of_the_rarest_word_and_is_correlated_by_ranks(drawn):
    entries = robustness(drawn).entries
    assert frequencies(["is Short", "laughs", "zebra"], {"is": 9, "short": 2, "laughs": 5}) == [2, 5, 0]
    random = np.random.default_rng(0)
    entries = entries.assign(frequency=random.integers(0, 6, len(entries)))
    for line in by_factor(entries).to_dict("records"):
        own = entries[entries["factor"] == line["factor"]]
        assert line["rho"] == pytest.approx(spearmanr(own["accuracy"], own["frequency"]).statistic)
    assert by_factor(entries.assign(frequency=3))["rho"].isna().all()
    assert by_factor(entries.groupby("factor").head(4))["rho"].isna().all()
