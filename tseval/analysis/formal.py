"""Headline numbers on formal languages: accuracy by distance, error by attractors, error by pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tseval.analysis.accuracy import require_features
from tseval.analysis.comparisons import ESTIMATED, count_clustered, marks, seed_means
from tseval.analysis.design import Design, Factors, estimate
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


@dataclass(frozen=True, slots=True)
class Measure:
    """What a paper reports of a language.

    Attributes:
        feature: What it is broken down by.
        of: Heading of its column.
        quantity: Whether the paper gives the share that is right, or that is wrong.
        summary: How it is made one number: the mean of all rows, each counted once; the largest of them; or
            the share of all verdicts.
        source: The paper.
    """

    feature: str
    of: str
    quantity: Literal["accuracy", "error"]
    summary: Literal["mean", "largest", "all"]
    source: str


# By the beginning of the suite's name.
MEASURES = {
    "dyck": Measure("distance", "Distance", "accuracy", "mean", "Hewitt et al. 2020"),
    "generalised_dyck": Measure("attractors", "Attractors", "error", "largest", "Bernardy & Lappin 2022"),
    "cross_serial": Measure("m_plus_n", "m + n", "error", "all", "Bernardy & Lappin 2022"),
}


def measure_of(suite: str) -> Measure:
    """Find what is reported of a suite.

    Args:
        suite: Its name.

    Raises:
        RunError: The suite is not a formal language.
    """
    for name, measure in MEASURES.items():
        if suite.startswith(f"{name}_"):
            return measure
    raise RunError(
        f"these runs are on {suite}, which is not a formal language.\n"
        "  Make a run on one, tseval run --suite 'dyck(k=4,m=3)', or print these with tseval table."
    )


def by_feature(verdicts: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Break the verdicts of a run down as the paper does.

    Returns:
        One row for every value of the feature that occurs, ascending: the feature, `n_items`, `n_wrong`, then
        `value`, accuracy or error, and what `count_clustered` tells of it.

    Raises:
        SuiteError: The suite has no such feature.
    """
    require_features(verdicts, (measure.feature,))
    rows = count_clustered(verdicts, [measure.feature]).reset_index()
    rows = rows.sort_values(measure.feature, ignore_index=True)
    found = rows[[measure.feature, "n_items"]].assign(
        n_wrong=rows["n_items"] - rows["n_correct"], value=rows["accuracy"]
    )
    found = found.join(rows[[*ESTIMATED[1:]]])
    if measure.quantity == "accuracy":
        return found
    return found.assign(value=found["n_wrong"] / found["n_items"], low=1 - rows["high"], high=1 - rows["low"])


def by_feature_of_seeds(seeds: Sequence[pd.DataFrame], measure: Measure) -> pd.DataFrame:
    """Break the verdicts of several seeds down as the paper does: means over seeds.

    Args:
        seeds: The verdicts of each, the same items in the same order.
        measure: What the paper reports.

    Returns:
        As `by_feature`, without `n_wrong`, and with `n_seeds` and `spread`, the standard deviation between
        seeds. Intervals are for other seeds too.

    Raises:
        SuiteError: The suite has no such feature.
    """
    require_features(seeds[0], (measure.feature,))
    found = seed_means({"": seeds}, (measure.feature,))
    rows = found.rows[[measure.feature]].join(found.of_rows[""]).rename(columns={"accuracy": "value"})
    rows = rows.sort_values(measure.feature, ignore_index=True)
    if measure.quantity == "accuracy":
        return rows
    return rows.assign(value=1 - rows["value"], low=1 - rows["high"], high=1 - rows["low"])


def headline(rows: pd.DataFrame, measure: Measure) -> float:
    """Make the rows of a run one number, the headline of the paper."""
    if measure.summary == "mean":
        return float(rows["value"].mean())
    if measure.summary == "largest":
        return float(rows["value"].max())
    return float(rows["n_wrong"].sum() / rows["n_items"].sum())


def headline_interval(verdicts: pd.DataFrame, measure: Measure) -> tuple[float, float] | None:
    """Give the 95% interval of the headline, for other strings drawn alike.

    Returns:
        Its ends; None where the headline is the largest of several numbers, which was chosen for being
        so, and where no verdict counts.

    Raises:
        SuiteError: The suite has no such feature.
    """
    require_features(verdicts, (measure.feature,))
    if measure.summary == "largest":
        return None
    correct, decidable = marks(verdicts)
    each = np.unique(verdicts[measure.feature].to_numpy(), return_inverse=True)[1]
    rows = each if measure.summary == "mean" else None
    found = estimate(correct, decidable, Design.of(Factors.of_verdicts(verdicts), rows))
    if found is None:
        return None
    return (found.low, found.high) if measure.quantity == "accuracy" else (1 - found.high, 1 - found.low)
