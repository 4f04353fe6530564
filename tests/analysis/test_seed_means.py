"""Means over seeds, row by row: against sums by hand and the estimators one by one."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from tseval.analysis.comparisons import seed_means

N_VERBS, PER_VERB = 6, 20


def verdicts(shift, seed, unknown=()):
    """Verdicts on two rows; each verb is known to an extent of its own, each seed shifts all."""
    known = np.random.default_rng(0).uniform(0.4, 0.8, N_VERBS)
    random = np.random.default_rng(seed)
    verb = np.tile(np.repeat(np.arange(N_VERBS), PER_VERB), 2)
    frame = pd.DataFrame(
        {
            "dependency": None,
            "phenomenon": "Agreement",
            "construction": np.repeat(["Simple", "Coordination"], N_VERBS * PER_VERB),
            "contrast": "good > bad",
            "verb.entry": [f"v{code}" for code in verb],
            "correct": random.random(len(verb)) < known[verb] + shift,
            "tie": False,
        }
    )
    frame["undecidable"] = frame["construction"].isin(unknown)
    return frame.assign(correct=frame["correct"] & ~frame["undecidable"])


def test_a_mean_of_seeds_has_the_spread_between_them_and_an_interval_for_seeds_and_words():
    seeds = [verdicts(shift, seed) for seed, shift in enumerate((-0.2, 0.0, 0.1))]
    found = seed_means({"srn": seeds})
    assert found.rows["construction"].tolist() == ["Simple", "Coordination"]
    for place, construction in enumerate(found.rows["construction"]):
        own = [frame[frame["construction"] == construction] for frame in seeds]
        shares = np.array([frame["correct"].mean() for frame in own])
        row = found.of_rows["srn"].iloc[place]
        assert (row["n_seeds"], row["n_items"]) == (3, N_VERBS * PER_VERB)
        assert row["accuracy"] == pytest.approx(shares.mean())
        assert row["spread"] == pytest.approx(shares.std(ddof=1))
        of_verbs = sum(frame.groupby("verb.entry")["correct"].mean() for frame in own) / 3
        variance = shares.var(ddof=1) / 3 + of_verbs.var(ddof=1) / N_VERBS
        assert row["se"] == pytest.approx(np.sqrt(variance))
        assert row["low"] < row["accuracy"] - row["se"]
        assert row["clusters"] == {"verb": N_VERBS}
    whole = found.of_means["srn"].iloc[-1]
    of_seeds = np.array([frame.groupby("construction")["correct"].mean().mean() for frame in seeds])
    assert (whole["accuracy"], whole["spread"]) == pytest.approx((of_seeds.mean(), of_seeds.std(ddof=1)))


def test_one_seed_has_no_spread_and_an_interval_for_words_alone():
    frame = verdicts(0, 1).drop(columns="verb.entry")
    found = seed_means({"srn": [frame]})
    row = found.of_rows["srn"].iloc[0]
    own = frame[frame["construction"] == "Simple"]
    ends = binomtest(int(own["correct"].sum()), len(own)).proportion_ci(method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))
    assert pd.isna(row["spread"])
    assert row["n_seeds"] == 1


def test_a_row_that_one_seed_cannot_decide_has_no_mean_and_takes_that_over_all_rows():
    groups = {"srn": [verdicts(0, 1), verdicts(0, 2, ["Simple"])], "gru": [verdicts(0, 3), verdicts(0, 4)]}
    found = seed_means(groups)
    assert found.of_rows["srn"]["accuracy"].isna().tolist() == [True, False]
    assert found.of_means["srn"]["accuracy"].isna().all()
    assert found.of_means["gru"]["accuracy"].notna().all()


def test_architectures_are_ranked_by_their_means_over_all_rows_what_is_undecidable_wrong():
    better, worse = ([verdicts(shift, seed) for seed in (1, 2, 3)] for shift in (0.15, -0.15))
    found = seed_means({"srn": worse, "gru": better, "lstm": [verdicts(0.15, 4, ["Simple"])]}).ranks
    assert found.low == found.high == (2, 1, 3)
    assert found.means[2] == pytest.approx(verdicts(0.15, 4, ["Simple"])["correct"].mean())
    assert seed_means({"gru": better}).ranks is None
