"""Paired differences of models and of means over seeds; intervals and tests clustered by entry."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import nan, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from tseval.analysis.design import quantile, score_interval, upper_tail
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tseval.analysis.design import Design


ERROR_RATE = 0.05
Outcome = Literal["better", "worse", "equivalent", "undecided"]
# Of a variance; below it, what is left of a difference of variances is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more of the same items one model gets right than another, or the mean of one's seeds.

    Attributes:
        value: Accuracy of the first less that of the second, or the mean of this over rows.
        se: Its standard error.
        low: Lower end of its 95% interval.
        high: Upper end.
        df: Degrees of freedom of t; a whole number, but for means over seeds.
        p: Probability of a difference at least as large, in either direction, if the models were equally
            good.
        n_items: Number of items.
        clusters: Factors whose entries are regarded as drawn, with their numbers of entries.
        fixed: Factors with too few entries for that.
    """

    value: float
    se: float
    low: float
    high: float
    df: float
    p: float
    n_items: int
    clusters: dict[str, int]
    fixed: tuple[str, ...]

    @classmethod
    def of(cls, value: float, se: float, df: float, design: Design) -> Difference:
        """Work out interval and p of a difference from its standard error."""
        half = quantile(df) * se
        return cls(
            value=value,
            se=se,
            low=max(-1.0, value - half),
            high=min(1.0, value + half),
            df=df,
            p=min(1.0, 2 * upper_tail(abs(value) / se, df)),
            n_items=len(design.rows),
            clusters=design.clusters,
            fixed=design.fixed,
        )

    def p_beyond(self, margin: float) -> float:
        """Test whether the difference may be as large as a margin, by two one-sided tests.

        Returns:
            The larger of both p: of a difference this low if it were `margin`, and this high if it were
            `-margin`. Where it is small, the models are equivalent but for the margin.

        Source: Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach
        for assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
        Biopharmaceutics.
        """
        return upper_tail((margin - abs(self.value)) / self.se, self.df)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of a pair of models, among all pairs of a table.

    Attributes:
        p_holm: `Difference.p`, corrected for the number of pairs.
        p_beyond: `Difference.p_beyond`, corrected likewise.
        word: What this says of the first model. `equivalent` where any difference is smaller than the margin,
            though there may be one; else `better` or `worse` where there is one; else `undecided`.
    """

    p_holm: float
    p_beyond: float
    word: Outcome


def differences(correct: NDArray[np.bool_], design: Design) -> list[Difference]:
    """Set all pairs of models against each other.

    Args:
        correct: (items, models), what each model gets right.
        design: Rows and entries of these items; a mean over several rows counts each row once.

    Returns:
        One for each pair, in the order of `itertools.combinations`: the first model against all after it, ...
    """
    means, errors, _ = paired_errors(correct, design)
    df = degrees(design)
    return [
        Difference.of(float(means[one] - means[other]), float(errors[one, other]), df, design)
        for one, other in combinations(range(len(means)), 2)
    ]


def paired_errors(
    correct: NDArray[np.bool_] | NDArray[np.float64], design: Design
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the standard error of the difference between any two models.

    Entries are drawn anew; the variance is never less than if items were independent, where it is that of
    the paired t-test. Where a difference is the same for all items of a row its variance shows nothing;
    what is taken then is the variance if each entry were wholly right or wholly wrong, and models differed
    as often as they may.

    Args:
        correct: (items, models), what each model gets right, or in which share of its seeds.
        design: Rows and entries of these items.

    Returns:
        Means, (models,); standard errors of their differences, (models, models), 0 on the diagonal; and a
        covariance of the means, (models, models), from which to take how differences are correlated: the sum
        of the clustered one, less what is negative of it, and the independent one.
    """
    n_items = len(correct)
    values = correct.astype(np.float64)
    means, influence = design.deviations(values)
    clustered = design.covariance(influence)
    independent = influence.T @ influence * (n_items / max(n_items - 1, 1))
    variances = np.maximum(of_differences(clustered), of_differences(independent))
    sizes = np.diag(independent)
    worst, weighted = design.fewest_words(), values * design.weights()[:, None]
    often = means[:, None] + means - 2 * (weighted.T @ values)
    for one, other in np.argwhere(variances <= _ROUNDING * (sizes[:, None] + sizes)):
        share = min(max(float(often[one, other]), 0.0), 1.0)
        variances[one, other] = score_interval(share, worst, quantile(degrees(design)))[1] / worst
    errors = np.sqrt(variances)
    np.fill_diagonal(errors, 0)
    scales, axes = np.linalg.eigh(clustered)
    return means, errors, (axes * np.maximum(scales, 0)) @ axes.T + independent


def degrees(design: Design) -> int:
    """Give the degrees of freedom of a difference: those of the smallest factor, or of the items."""
    return max(len(design.rows) - 1, 1) if design.df is None else design.df


def compare(pairs: Sequence[Difference], margin: float) -> list[Comparison]:
    """Say in a word what is known of each pair of a table, at an error rate of 5% for all pairs together.

    Args:
        pairs: The differences of all pairs of the table.
        margin: The smallest difference of accuracies that matters, between 0 and 1.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics.
    """
    if not 0 < margin < 1:
        raise RunError(
            f"a margin is a difference of accuracies, between 0 and 1, and {margin:g} is not.\n"
            "  Give the smallest difference that matters, such as 0.02."
        )
    different = holm([one.p for one in pairs])
    within = holm([one.p_beyond(margin) for one in pairs])
    return [
        Comparison(p, beyond, _word(one.value, p, beyond))
        for one, p, beyond in zip(pairs, different, within, strict=True)
    ]


def holm(p: Sequence[float]) -> list[float]:
    """Correct several p for their number, step by step from the smallest; the order is kept."""
    adjusted, largest = [0.0] * len(p), 0.0
    for step, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - step) * p[place]))
        adjusted[place] = largest
    return adjusted


def _word(value: float, p: float, beyond: float) -> Outcome:
    if beyond < ERROR_RATE:
        return "equivalent"
    if p < ERROR_RATE:
        return "better" if value > 0 else "worse"
    return "undecided"


def of_differences(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the variance of the difference of any two, (columns, columns)."""
    variances = np.diag(covariance)
    return variances[:, None] + variances - 2 * covariance


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


def over_seeds(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the mean over seeds, (rows, seeds) to (rows,), and the standard deviation between several."""
    several = values.shape[1] > 1
    return values.mean(axis=1), values.std(axis=1, ddof=1) if several else np.full(len(values), nan)


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
    apart = SeedDifferences.of(architectures, design)
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
class SeedDifferences:
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
    def of(cls, architectures: Sequence[NDArray[np.bool_]], design: Design) -> SeedDifferences:
        """Measure them on what each seed gets right, (items, seeds) for each architecture."""
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
