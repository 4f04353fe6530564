"""Intervals and differences from verdicts, against statsmodels, scipy and sums by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest, ttest_rel
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.sandwich_covariance import cov_cluster
from statsmodels.stats.weightstats import ttost_paired

from tseval.analysis.breakdowns import joint_grid, with_intervals
from tseval.analysis.comparisons import count_clustered, pairwise, share_entries

SIZES = (8, 12)  # verbs, and items of each


def verdicts(share, seed=0, *, entries=True, undecidable=(), **features):
    """Verdicts of a model that knows each verb to another extent; every verb has as many items."""
    random = np.random.default_rng(seed)
    verb = np.repeat(np.arange(SIZES[0]), SIZES[1])
    known = random.uniform(share - 0.3, share + 0.3, SIZES[0])
    frame = pd.DataFrame({"correct": random.random(len(verb)) < known[verb], "tie": False})
    frame["undecidable"] = np.isin(np.arange(len(verb)), undecidable)
    frame["correct"] &= ~frame["undecidable"]
    if entries:
        frame["verb.entry"] = pd.Categorical([f"v{code}" for code in verb])
        frame["place.entry"] = np.where(verb % 2, "near", "beside")
    return frame.assign(**features)


def test_with_one_factor_the_error_is_that_of_the_means_of_its_entries():
    frame = verdicts(0.6)
    (row,) = count_clustered(frame.assign(all=1), ["all"]).to_dict("records")
    means = frame.groupby("verb.entry", observed=True)["correct"].mean()
    assert row["accuracy"] == frame["correct"].mean()
    assert row["se"] == pytest.approx(means.std(ddof=1) / np.sqrt(SIZES[0]), rel=1e-12)
    assert row["df"] == SIZES[0] - 1
    assert row["clusters"] == {"verb": 8}
    assert row["fixed"] == ("place",)
    worth = row["accuracy"] * (1 - row["accuracy"]) / row["se"] ** 2
    assert row["n_eff"] == pytest.approx(worth)
    ends = binomtest(int(frame["correct"].sum()), len(frame)).proportion_ci(method="wilson")
    assert row["low"] < ends.low < ends.high < row["high"]


def test_without_entries_the_interval_is_wilsons():
    frame = verdicts(0.6, entries=False, undecidable=(3, 4), half=[0, 1] * 48)
    rows = count_clustered(frame, ["half"])
    for half, row in zip(rows.index, rows.to_dict("records"), strict=True):
        own = frame[(frame["half"] == half) & ~frame["undecidable"]]
        ends = binomtest(int(own["correct"].sum()), len(own)).proportion_ci(method="wilson")
        assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-12)
        assert (row["n_items"], row["n_undecidable"], row["n_eff"]) == (48, 1, 47)
        assert row["clusters"] == {}
        assert np.isnan(row["df"])


def test_each_cell_of_the_grid_is_clustered_by_its_own_entries():
    n = np.arange(96) % 2
    frame = verdicts(0.5, n_intervening=n, n_attractors=0)
    grid = joint_grid(frame).set_index(["n_intervening", "n_attractors"])
    rows: Any = grid.to_dict("index")  # by both numbers
    for place in (0, 1):
        own = frame[n == place]
        means = own.groupby("verb.entry", observed=True)["correct"].mean()
        assert rows[place, 0]["se"] == pytest.approx(means.std(ddof=1) / np.sqrt(8), rel=1e-12)
    assert rows[1, 1]["n_items"] == 0
    assert pd.isna(rows[1, 1]["se"])


def three(entries=True):
    shares = {"a": 0.8, "b": 0.5, "c": 0.6}
    return {name: verdicts(share, seed, entries=entries) for seed, (name, share) in enumerate(shares.items())}


def test_without_entries_a_difference_is_tested_as_pairs_are_by_t():
    frames = three(entries=False)
    frames["b"] = frames["b"].assign(undecidable=np.arange(96) < 10)
    rows = pairwise(frames, margin=0.1).set_index(["first", "second"])
    decidable = ~frames["b"]["undecidable"]
    expected = []
    for one, other in rows.index:
        chosen = decidable if "b" in (one, other) else np.ones(96, bool)
        first, second = (frames[name]["correct"][chosen].astype(float) for name in (one, other))
        test = ttest_rel(first, second)
        ends = test.confidence_interval()
        row: Any = rows.loc[(one, other)]
        assert row["n_items"] == len(first)
        assert row["difference"] == pytest.approx(first.mean() - second.mean())
        assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-9)
        expected.append((test.pvalue, ttost_paired(first, second, -0.1, 0.1)[0]))
    p, beyond = zip(*expected, strict=True)
    assert rows["p"].tolist() == pytest.approx(p, rel=1e-9)
    assert rows["p_holm"].tolist() == pytest.approx(multipletests(p, method="holm")[1], rel=1e-9)
    assert rows["p_beyond"].tolist() == pytest.approx(multipletests(beyond, method="holm")[1], rel=1e-9)


def test_with_entries_a_difference_is_clustered_by_them():
    frames = three()
    row: Any = pairwise(frames).set_index(["first", "second"]).loc[("a", "b")]
    gap = frames["a"]["correct"].to_numpy(float) - frames["b"]["correct"].to_numpy(float)
    codes = frames["a"]["verb.entry"].cat.codes.to_numpy()
    se = np.sqrt(cov_cluster(sm.OLS(gap, np.ones(len(gap))).fit(), codes)[0, 0])
    assert row["se"] == pytest.approx(se, rel=1e-10)
    assert row["p"] == pytest.approx(2 * student.sf(abs(gap.mean()) / se, 7), rel=1e-9)
    assert (row["df"], row["clusters"], row["fixed"]) == (7, {"verb": 8}, ("place",))
    assert row["p_mcnemar"] < row["p"], "items of one verb are no independent draws"


def test_a_model_and_itself_are_said_to_have_the_same_verdicts():
    frame = verdicts(0.5)
    assert pairwise({"a": frame, "b": frame})["outcome"].tolist() == ["same verdicts"]


def test_a_model_and_nearly_itself_are_undecided_on_few_words_and_equivalent_on_many():
    one, other = verdicts(0.5), verdicts(0.5)
    other.loc[0, "correct"] ^= True
    assert pairwise({"a": one, "b": other})["outcome"].tolist() == ["undecided"]
    many = [pd.concat([one] * 100, ignore_index=True).drop(columns=["verb.entry", "place.entry"])] * 2
    many[1] = many[1].assign(correct=many[1]["correct"] ^ (many[1].index < 10))
    assert pairwise(dict(zip("ab", many, strict=True)))["outcome"].tolist() == ["equivalent"]


def test_a_pair_that_can_decide_nothing_together_has_no_difference_and_takes_none_from_the_others():
    frames = three()
    frames["d"] = frames["a"].assign(undecidable=True, correct=False)
    rows = pairwise(frames)
    lost = rows["second"] == "d"
    assert rows[lost][["difference", "p", "low", "outcome", "clusters"]].isna().all(axis=None)
    assert rows[lost]["n_items"].tolist() == [0, 0, 0]
    kept = rows[~lost].reset_index(drop=True)
    columns = ["first", "second", "difference", "se", "p", "p_holm", "p_beyond", "outcome"]
    pd.testing.assert_frame_equal(kept[columns], pairwise(three())[columns])


def test_a_run_from_before_factors_were_kept_takes_those_of_the_others():
    frames = {"old": verdicts(0.5, 1, entries=False), "new": verdicts(0.6, 2)}
    for order in (["old", "new"], ["new", "old"]):
        shared = share_entries({name: frames[name] for name in order})
        assert list(shared) == order
        for frame in shared.values():
            assert frame["verb.entry"].tolist() == frames["new"]["verb.entry"].tolist()
    alone = share_entries({"old": frames["old"]})["old"]
    pd.testing.assert_frame_equal(alone, frames["old"])


def test_confidence_is_clustered_by_entry_and_never_surer_than_student():
    random = np.random.default_rng(4)
    frame = verdicts(0.5, case="pp", position=3, worse_score=0.0)
    pull = random.normal(0, 2, SIZES[0])[frame["verb.entry"].cat.codes]
    frame["better_score"] = pull + random.normal(0, 0.3, len(frame))
    rows = pd.DataFrame({"case": ["pp"], "position": [3]})
    (clustered,) = with_intervals(rows, frame).to_dict("records")
    confidence = 1 / (1 + np.exp(-frame["better_score"]))
    means = confidence.groupby(frame["verb.entry"], observed=True).mean()
    se = means.std(ddof=1) / np.sqrt(SIZES[0])
    expected = confidence.mean() + np.array([-1, 1]) * student.ppf(0.975, 7) * se
    assert (clustered["low"], clustered["high"]) == pytest.approx(tuple(expected))
    assert (clustered["clusters"], clustered["fixed"]) == ({"verb": 8}, ("place",))
    shuffled = frame.assign(better_score=random.permutation(frame["better_score"]))
    (loose,) = with_intervals(rows, shuffled).to_dict("records")
    assert loose["se"] >= confidence.std(ddof=1) / np.sqrt(len(frame)) * (1 - 1e-12)
    (alone,) = with_intervals(rows, frame[:1]).to_dict("records")
    assert np.isnan(alone["low"])
