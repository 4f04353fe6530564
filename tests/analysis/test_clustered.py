"""Intervals and differences from verdicts, against statsmodels, scipy and sums by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from tseval.analysis.breakdowns import joint_grid, with_intervals
from tseval.analysis.comparisons import pairwise, share_entries

SIZES = (8, 12)  # verbs, and items of each verb


def verdicts(share, seed=0, *, entries=True, undecidable=(), **features):
    """Draw verdicts of a model whose accuracy differs by verb; all verbs have the same number of items."""
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
    rows = pairwise({name: [frame] for name, frame in frames.items()}, margin=0.1).set_index(
        ["first", "second"]
    )
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


def test_a_pair_that_can_decide_nothing_together_has_no_difference_and_takes_none_from_the_others():
    frames = three()
    frames["d"] = frames["a"].assign(undecidable=True, correct=False)
    rows = pairwise({name: [frame] for name, frame in frames.items()})
    lost = rows["second"] == "d"
    assert rows[lost][["difference", "p", "low", "outcome", "clusters"]].isna().all(axis=None)
    assert rows[lost]["n_items"].tolist() == [0, 0, 0]
    kept = rows[~lost].reset_index(drop=True)
    columns = ["first", "second", "difference", "se", "p", "p_holm", "p_beyond", "outcome"]
    pd.testing.assert_frame_equal(
        kept[columns], pairwise({name: [frame] for name, frame in three().items()})[columns]
    )


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
