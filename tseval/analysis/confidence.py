"""Intervals of mean confidences, for the figure of profiles."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import pandas as pd
from scipy.special import expit

from tseval.analysis.inference.design import Design
from tseval.analysis.inference.differences import degrees
from tseval.analysis.inference.factors import Factors
from tseval.analysis.inference.quantiles import quantile
from tseval.items import POSITION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def with_intervals(rows: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Add the ends of an interval to the mean confidences of a profile.

    The 95% interval of the mean over items, clustered by lexicon entry and never narrower than Student's for
    items that are independent; cut to 0 and 1.

    Args:
        rows: Of `tseval.analysis.profiles.profile`.
        verdicts: What they were made from.

    Returns:
        The rows with `low`, `high` and the standard error `se`, missing where there is one item only, and
        the factors: `clusters`, each with its number of entries, and `fixed`, those with too few.
    """
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    gaps = (decided["better_score"] - decided["worse_score"]).to_numpy("float64")
    confidence, factors = expit(gaps), Factors.of_verdicts(decided)
    case, position = decided["case"].to_numpy(), decided[POSITION].to_numpy("int64")
    found = []
    for name, place in zip(rows["case"], rows[POSITION], strict=True):
        own = (case == name) & (position == place)
        design = Design.of(factors.take(own))
        found.append((*_interval(confidence[own], design), design.clusters, design.fixed))
    names = ["low", "high", "se"]
    told = pd.DataFrame(found, rows.index, [*names, "clusters", "fixed"])
    return rows.join(told.astype(dict.fromkeys(names, "float64")))


def _interval(
    values: NDArray[np.float64], design: Design
) -> tuple[float, float, float] | tuple[None, None, None]:
    """Give the ends of the interval of a mean, and its standard error."""
    n_items = len(values)
    if n_items < 2:
        return None, None, None
    means, influence = design.deviations(values[:, None])
    independent = n_items / (n_items - 1) * float((influence**2).sum())
    se = sqrt(max(independent, float(design.covariance(influence)[0, 0])))
    half = quantile(degrees(design)) * se
    return max(0.0, float(means[0]) - half), min(1.0, float(means[0]) + half), se
