"""Means of any numbers, with intervals that know which items share words."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.differences import degrees
from tseval.analysis.inference.quantiles import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over items, and how sure it is.

    Attributes:
        value: The mean.
        se: Its standard error; not a number for a single item.
        low: Lower end of its 95% interval, likewise.
        high: Upper end, likewise.
        df: Degrees of freedom of t.
        n_items: Number of items.
        clusters: Factors whose entries are regarded as drawn, with their numbers of entries.
        fixed: Factors with too few entries for that.
    """

    value: float
    se: float
    low: float
    high: float
    df: int
    n_items: int
    clusters: dict[str, int]
    fixed: tuple[str, ...]


def average(values: NDArray[np.float64], design: Design) -> Average | None:
    """Estimate a mean over items that share words.

    Entries are drawn anew; the variance is never less than if items were independent, where the interval is
    that of the t-test.

    Args:
        values: Of any unit, (items,); those that are not numbers are left out.
        design: Entries of the items, which stand in one row.

    Returns:
        None where there is no number.
    """
    known = ~np.isnan(values)
    if not known.any():
        return None
    among, n_items = design.among(known), int(known.sum())
    means, influence = among.deviations(values[known, None])
    independent = float((influence**2).sum()) * n_items / max(n_items - 1, 1)
    se = nan if n_items == 1 else sqrt(max(float(among.variance(influence)[0]), independent))
    value, df = float(means[0]), degrees(among)
    half = quantile(df) * se
    return Average(value, se, value - half, value + half, df, n_items, among.clusters, among.fixed)
