"""The mean of one architecture's runs that differ in their random seed."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.differences import degrees
from tseval.analysis.inference.estimates import score_interval
from tseval.analysis.inference.quantiles import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design


@dataclass(frozen=True, slots=True)
class SeedMean:
    """The mean accuracy of several seeds.

    Attributes:
        value: Mean over seeds of accuracies, or of their means over rows.
        of_seeds: The accuracy of each seed.
        spread: Standard deviation between seeds.
        se: Standard error of the mean, seeds and entries drawn anew.
        low: Lower end of its 95% interval.
        high: Upper end.
        df: Degrees of freedom of t.
    """

    value: float
    of_seeds: tuple[float, ...]
    spread: float
    se: float
    low: float
    high: float
    df: float


def mean_of_seeds(correct: NDArray[np.bool_], design: Design) -> SeedMean:
    """Average over seeds, with an interval for other seeds and other lexicon entries.

    Its variance is that between seeds, by the number of seeds, and that of each item's mean over seeds,
    clustered by entry. How seeds differ on single entries is part of both, so the interval is rather too
    wide than too narrow. The degrees of freedom are Satterthwaite's.

    Args:
        correct: (items, seeds), two seeds or more.
        design: Rows and entries of the items, all decidable.

    Source: Satterthwaite 1946, "An approximate distribution of estimates of variance components", Biometrics
    Bulletin 2(6).
    """
    n_seeds = correct.shape[1]
    of_seeds, _ = design.deviations(correct.astype(np.float64))
    means, influence = design.deviations(correct.mean(axis=1, keepdims=True))
    value, spread = float(means[0]), float(of_seeds.std(ddof=1))
    of_entries = float(design.variance(influence)[0])
    of_mean = spread**2 / n_seeds
    variance = of_entries + of_mean
    df, n_eff = float(degrees(design)), design.fewest_words()
    if variance:
        df = variance**2 / (of_mean**2 / (n_seeds - 1) + of_entries**2 / df)
        n_eff = value * (1 - value) / variance
    low, high = score_interval(value, n_eff, quantile(df))
    return SeedMean(value, tuple(map(float, of_seeds)), spread, sqrt(variance), low, high, df)
