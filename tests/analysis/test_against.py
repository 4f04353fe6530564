"""Models against one of them, row by row: against the estimators one by one, and sums by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

from tseval.analysis.comparisons import against
from tseval.errors import RunError

PER_ROW = 60
ROWS = ("Simple", "Coordination", "In a clause")  # in the order of the table


def verdicts(seed, *, entries=True, unknown=()):
    """Verdicts on three rows, the long one first; `unknown` rows are undecidable."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            (dependency, phenomenon, construction, "good > bad", f"v{i % 6}")
            for dependency, phenomenon, construction in (
                ("long", "Reflexives", "In a clause"),
                ("short", "Agreement", "Simple"),
                ("short", "Agreement", "Coordination"),
            )
            for i in range(PER_ROW)
        ],
        columns=["dependency", "phenomenon", "construction", "contrast", "verb.entry"],
    )
    known = dict(zip([f"v{i}" for i in range(6)], random.uniform(0.2, 0.95, 6), strict=True))
    frame["correct"] = random.random(len(frame)) < frame["verb.entry"].map(known)
    frame["undecidable"] = frame["construction"].isin(unknown)
    frame["correct"] &= ~frame["undecidable"]
    frame["tie"] = False
    frame["number"] = ["sing", "plur"] * (len(frame) // 2)
    return frame if entries else frame.drop(columns="verb.entry")


def alone(frames):
    """Models, each on its own."""
    return {name: [frame] for name, frame in frames.items()}


def test_rows_stand_in_the_order_of_the_table_and_each_is_compared_on_its_own():
    frames = {name: verdicts(seed, entries=False) for seed, name in enumerate("abc")}
    found = against(alone(frames), "b", (), 0.02)
    assert found.rows["construction"].tolist() == ["Simple", "Coordination", "In a clause"]
    assert list(found.of_rows) == ["a", "c"]
    p = []
    for name in "ac":
        for place, construction in enumerate(found.rows["construction"]):
            own = frames["b"]["construction"] == construction
            one, other = (frames[model]["correct"][own].astype(float) for model in (name, "b"))
            test = ttest_rel(one, other)
            ends = test.confidence_interval()
            row = found.of_rows[name].iloc[place]
            assert row["difference"] == pytest.approx(one.mean() - other.mean())
            assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-9)
            assert found.rows["accuracy"][place] == pytest.approx(other.mean())
            p.append(test.pvalue)
    told = [value for own in found.of_rows.values() for value in own["p_holm"]]
    assert told == pytest.approx(multipletests(p, method="holm")[1], rel=1e-9), "all are one family"


def test_means_count_each_row_once_and_cluster_entries_across_rows():
    frames = {"a": verdicts(1), "b": verdicts(2)}
    # A row with twice as many items still counts once.
    frames = {name: pd.concat([frame, frame[:PER_ROW]], ignore_index=True) for name, frame in frames.items()}
    found = against(alone(frames), "b", (), 0.02)
    assert found.means["over"].tolist() == [
        "Short-range dependency", "Long-range dependency", "Agreement", "Reflexives", "All rows",
    ]  # fmt: skip
    gap = frames["a"]["correct"].astype(float) - frames["b"]["correct"]
    rows = frames["a"]["construction"]
    of_rows = gap.groupby(rows).mean()
    whole = found.of_means["a"].iloc[-1]
    assert whole["difference"] == pytest.approx(of_rows.mean())
    assert found.means["accuracy"].iloc[-1] == pytest.approx(
        frames["b"]["correct"].groupby(rows).mean().mean()
    )
    influence = (gap - rows.map(of_rows)) / rows.map(rows.value_counts()) / 3
    sums = influence.groupby(frames["a"]["verb.entry"]).sum()
    assert whole["se"] == pytest.approx(np.sqrt(6 / 5 * (sums**2).sum()), rel=1e-10)
    assert whole["clusters"] == {"verb": 6}


def test_a_row_that_a_model_cannot_decide_takes_its_means_and_nothing_from_the_others():
    frames = {"a": verdicts(1, unknown=["Simple"]), "b": verdicts(2), "c": verdicts(3)}
    found = against(alone(frames), "b", (), 0.02)
    lost = found.of_rows["a"].iloc[0]
    assert (lost["n_items"], pd.isna(lost["outcome"])) == (0, True)
    assert found.of_means["a"]["outcome"].isna().tolist() == [True, False, True, False, True]
    assert not found.of_means["c"]["outcome"].isna().any()
    fewer = against(alone({name: frames[name] for name in "bc"}), "b", (), 0.02)
    numbers = ["n_items", "difference", "se", "low", "high", "p"]
    pd.testing.assert_frame_equal(found.of_rows["c"][numbers], fewer.of_rows["c"][numbers])


def test_nothing_decidable_is_no_number_anywhere():
    unknown = ["Simple", "Coordination", "In a clause"]
    found = against(
        alone({"a": verdicts(1, unknown=unknown), "b": verdicts(2, unknown=unknown)}), "b", (), 0.02
    )
    for frame in (found.of_rows["a"], found.of_means["a"]):
        assert frame.drop(columns="n_items").isna().all(axis=None)
    assert found.rows["accuracy"].isna().all()
    with pytest.raises(RunError, match="a margin is a difference"):
        against(alone({"a": verdicts(1, unknown=unknown), "b": verdicts(2)}), "b", (), 7)


def test_rows_are_broken_down_by_features_and_by_entries():
    frames = {"a": verdicts(1), "b": verdicts(2)}
    found = against(alone(frames), "b", ("number", "verb.entry"), 0.02)
    assert len(found.rows) == 3 * 6  # each verb has one number in these items
    row = found.rows[found.rows["verb.entry"] == "v3"].index[0]
    own = (frames["a"]["verb.entry"] == "v3") & (
        frames["a"]["construction"] == found.rows["construction"][row]
    )
    gap = frames["a"]["correct"][own].astype(float).mean() - frames["b"]["correct"][own].astype(float).mean()
    assert found.of_rows["a"]["difference"][row] == pytest.approx(gap)


def test_seeds_are_averaged_on_what_all_of_both_can_decide_and_the_reference_has_their_spread():
    groups = {
        "a": [verdicts(1), verdicts(2, unknown=["Simple"]), verdicts(3)],
        "b": [verdicts(4), verdicts(5)],
        "c": [verdicts(6)],
    }
    found = against(groups, "b", (), 0.02)
    assert found.of_rows["a"]["n_items"].tolist() == [0, PER_ROW, PER_ROW]
    assert found.of_rows["c"]["n_items"].tolist() == [PER_ROW] * 3
    of_rows = {
        name: np.array([[one["correct"][one["construction"] == row].mean() for one in seeds] for row in ROWS])
        for name, seeds in groups.items()
    }
    assert found.rows["accuracy"].tolist() == pytest.approx(of_rows["b"].mean(axis=1))
    assert found.rows["spread"].tolist() == pytest.approx(of_rows["b"].std(axis=1, ddof=1))
    assert found.means["spread"].iloc[-1] == pytest.approx(of_rows["b"].mean(axis=0).std(ddof=1))
    for name, known in (("a", [1, 2]), ("c", [0, 1, 2])):
        gaps = of_rows[name].mean(axis=1) - of_rows["b"].mean(axis=1)
        assert found.of_rows[name]["difference"][known].tolist() == pytest.approx(gaps[known])
    assert against(groups, "c", (), 0.02).rows["spread"].isna().all(), "one seed has no spread"


def test_a_difference_of_means_over_rows_holds_what_seeds_and_entries_vary():
    groups = {"a": [verdicts(seed) for seed in (1, 2, 3)], "b": [verdicts(seed) for seed in (4, 5)]}
    found = against(groups, "b", (), 0.02).of_means["a"].iloc[-1]
    rows, verbs = (groups["a"][0][name] for name in ("construction", "verb.entry"))
    marks = {name: np.stack([one["correct"] for one in seeds], axis=1) for name, seeds in groups.items()}
    of_seeds = [pd.DataFrame(one).groupby(rows).mean().mean() for one in marks.values()]
    gap = pd.Series(marks["a"].mean(axis=1) - marks["b"].mean(axis=1))
    influence = (gap - rows.map(gap.groupby(rows).mean())) / PER_ROW / 3
    between_verbs = 6 / 5 * (influence.groupby(verbs).sum() ** 2).sum()
    between_seeds = of_seeds[0].var() / 3 + of_seeds[1].var() / 2
    assert found["difference"] == pytest.approx(of_seeds[0].mean() - of_seeds[1].mean())
    assert found["se"] ** 2 == pytest.approx(between_verbs + between_seeds)
    df = (between_verbs + between_seeds) ** 2 / (between_verbs**2 / 5 + between_seeds**2 / 1)
    assert found["df"] == pytest.approx(df)
