"""Means of architectures' runs that differ in their random seed: how sure, how far apart, in what order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.differences import Difference, degrees, differences, paired_errors
from tseval.analysis.inference.estimates import score_interval
from tseval.analysis.inference.quantiles import normal_scores, quantile
from tseval.analysis.inference.rank_sets import rank_sets, ranks_that_may_be

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design
    from tseval.analysis.inference.rank_sets import RankSets


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


def ranks_of_seeds(architectures: Sequence[NDArray[np.bool_]], design: Design) -> RankSets:
    """Find the ranks that architectures may have by their means over seeds.

    They hold for other seeds and other entries. As the degrees of freedom of differences are others for every
    pair, each statistic is turned into the normal score of its probability. Of an architecture with one seed
    nothing is known of others: its rank is that of this very model.

    Args:
        architectures: (items, seeds) each, what every seed gets right.
        design: Rows and entries of the items.

    Source: Mogstad et al. 2024 (`rank_sets`).
    """
    if all(correct.shape[1] == 1 for correct in architectures):
        return rank_sets(np.concatenate(architectures, axis=1), design)
    apart = _Apart.of(architectures, design)
    gaps = apart.means[:, None] - apart.means
    t = np.divide(gaps, apart.errors, out=np.zeros_like(gaps), where=apart.errors > 0)
    scores = normal_scores(t, apart.df)
    errors = np.divide(gaps, scores, out=apart.errors.copy(), where=scores != 0)
    return ranks_that_may_be(apart.means, errors, apart.covariance, None)


def differences_of_seeds(architectures: Sequence[NDArray[np.bool_]], design: Design) -> list[Difference]:
    """Set all pairs of architectures against each other, by their means over seeds.

    Intervals and tests are for other seeds and other entries. Of an architecture with one seed nothing is
    known of others: what is told is of this very model.

    Args:
        architectures: (items, seeds) each, what every seed gets right.
        design: Rows and entries of the items.

    Returns:
        One for each pair, in the order of `itertools.combinations`: the first against all after it, ...
    """
    if all(correct.shape[1] == 1 for correct in architectures):
        return differences(np.concatenate(architectures, axis=1), design)
    apart = _Apart.of(architectures, design)
    return [
        Difference.of(
            float(apart.means[one] - apart.means[other]),
            float(apart.errors[one, other]),
            float(apart.df[one, other]),
            design,
        )
        for one, other in combinations(range(len(architectures)), 2)
    ]


@dataclass(frozen=True, slots=True)
class _Apart:
    """How far the means of any two architectures may be apart by their seeds and their words.

    The variance of a difference is that of the items' means over seeds, clustered by entry, and for each of
    the two that between its seeds, by their number. The degrees of freedom are Satterthwaite's, of entries
    and of the fewer seeds: with those of all seeds of the two, too much is told apart where seeds differ
    much.

    Attributes:
        means: (architectures,), over seeds and items.
        errors: Standard errors of their differences, (architectures, architectures), 0 on the diagonal.
        df: Degrees of freedom of these.
        covariance: A covariance of the means, from which to take how differences are correlated.

    Source: Satterthwaite 1946 (`mean_of_seeds`).
    """

    means: NDArray[np.float64]
    errors: NDArray[np.float64]
    df: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @classmethod
    def of(cls, architectures: Sequence[NDArray[np.bool_]], design: Design) -> _Apart:
        of_items = np.stack([correct.mean(axis=1) for correct in architectures], axis=1)
        means, of_words, covariance = paired_errors(of_items, design)
        of_seeds, degrees_of_seeds = np.zeros(len(means)), np.full(len(means), np.inf)
        for place, correct in enumerate(architectures):
            if (n_seeds := correct.shape[1]) > 1:
                accuracies, _ = design.deviations(correct.astype(np.float64))
                of_seeds[place] = accuracies.var(ddof=1) / n_seeds
                degrees_of_seeds[place] = n_seeds - 1
        of_both = of_seeds[:, None] + of_seeds
        np.fill_diagonal(of_both, 0)
        variances = of_words**2 + of_both
        fewer = np.minimum(degrees_of_seeds[:, None], degrees_of_seeds)
        squares = of_words**4 / degrees(design) + of_both**2 / fewer
        df = np.divide(variances**2, squares, out=np.ones_like(squares), where=squares > 0)
        return cls(means, np.sqrt(variances), df, covariance + np.diag(of_seeds))
