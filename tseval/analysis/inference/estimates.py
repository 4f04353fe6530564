"""Accuracies, and means of accuracies, with intervals that know which items share words."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.quantiles import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design


@dataclass(frozen=True, slots=True)
class Estimate:
    """An accuracy, or a mean of accuracies, and how sure it is.

    Attributes:
        value: The accuracy, or the mean over rows, each counted once.
        se: Its standard error; 0 where all verdicts of each row are alike.
        low: Lower end of its 95% interval.
        high: Upper end.
        df: Degrees of freedom of the quantile; None for the normal one, where items are independent.
        n_items: Number of decidable items.
        n_eff: How many independent items the items are worth.
        clusters: Factors whose entries are regarded as drawn, with their numbers of entries.
        fixed: Factors with too few entries for that.
    """

    value: float
    se: float
    low: float
    high: float
    df: float | None
    n_items: int
    n_eff: float
    clusters: dict[str, int]
    fixed: tuple[str, ...]


def estimate(correct: NDArray[np.bool_], decidable: NDArray[np.bool_], design: Design) -> Estimate | None:
    """Estimate the accuracy of a row, or the mean over rows, each counted once.

    Items are a sample of all that their lexicon could have made: the interval is for accuracy with other
    entries of the same kind. It is Wilson's, for as many items as these are worth, n_eff = p(1 - p) / V,
    with the quantile of t for one less than the smallest factor has entries; never narrower than if items
    were independent. Where all verdicts are alike V is 0, and the items are worth `Design.fewest_words`.

    Args:
        correct: (items,).
        decidable: (items,), which items count.
        design: Rows and entries of the items. A row in which nothing is decidable is left out.

    Returns:
        None where no item is decidable.
    """
    if not decidable.any():
        return None
    among = design.among(decidable)
    means, influence = among.deviations(correct[decidable, None].astype(np.float64))
    p, variance = float(means[0]), float(among.variance(influence)[0])
    independent = float((influence**2).sum(axis=0)[0])
    n_items = len(influence)
    if independent == 0:
        n_eff = among.fewest_words()
    elif variance == independent and among.rows.min() == among.rows.max():
        n_eff = float(n_items)
    else:
        n_eff = p * (1 - p) / variance
    low, high = score_interval(p, n_eff, quantile(among.df))
    return Estimate(p, sqrt(variance), low, high, among.df, n_items, n_eff, among.clusters, among.fixed)


def score_interval(p: float, n: float, quantile: float) -> tuple[float, float]:
    """Give the ends of Wilson's interval of a share, for any number of items and any quantile.

    It holds the shares π from which p lies no further than the quantile times √(π(1 - π)/n).

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA
    22(158); in the order of operations of scipy's `binomtest`, with which it agrees to the last bit.
    `scipy.stats` itself takes longer to import than a table to print.
    """
    scale = 2 * (n + quantile**2)
    centre = (2 * n * p + quantile**2) / scale
    half = quantile / scale * sqrt(4 * n * p * (1 - p) + quantile**2)
    return 0.0 if p == 0 else centre - half, 1.0 if p == 1 else centre + half
