"""Paired differences of models and of means over seeds; intervals and tests clustered by entry."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import nan, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from tseval.analysis.design import Design, of_pairs, weighted_products
from tseval.analysis.estimates import Average, worth
from tseval.analysis.intervals import error_rate, quantile, score_interval, upper_end, upper_tail
from tseval.analysis.unseen import hidden_variances
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


Outcome = Literal["better", "worse", "equivalent", "undecided", "same verdicts"]
SAME: Outcome = "same verdicts"


@dataclass(frozen=True, slots=True)
class Difference(Average):
    """How much more of the same items one model gets right than another, or the mean of one's seeds.

    `p` is the probability of a difference at least as large, in either direction, if they were equally good;
    `unseen` the standard error if no entry showed a difference: what entries that were not drawn may do.
    """

    df: float
    p: float
    unseen: float
    same: bool

    def p_beyond(self, margin: float) -> float:
        """Test whether the difference may be as large as a margin, by two one-sided tests.

        Of G entries none may be of a kind that one model lacks, though such a kind is not rare. So the
        standard error is never taken for less than if no difference had been seen at all.

        Source: Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach
        for assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
        Biopharmaceutics. Departure: the least standard error.
        """
        return upper_tail((margin - abs(self.value)) / max(self.se, self.unseen), self.df)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of a pair of models, among all pairs of a table: corrected p, and a word.

    The word is of the first model: `same verdicts` where the two have no other on any item; `equivalent`
    where any difference is smaller than the margin, though there may be one; else `better` or `worse` where
    there is one; else `undecided`.
    """

    p_holm: float
    p_beyond: float
    word: Outcome


def differences(correct: NDArray[np.bool_], design: Design) -> list[Difference]:
    """Set all pairs of models against each other by what they get right, (items, models)."""
    return differences_of_seeds([column[:, None] for column in correct.T], design)


def paired_errors(
    values: NDArray[np.float64], design: Design
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the standard error of the difference between any two models.

    Entries are drawn anew; the variance is never less than if items were independent, where it is that of
    the paired t-test, and never less than what entries that were not drawn may do (`tseval.analysis.unseen`).

    Args:
        values: (items, models), what each model gets right, or in which share of its seeds.

    Returns:
        Means, (models,); the standard errors of their differences and the degrees of freedom of these,
        (models, models) each.
    """
    means, spread = design.means(values), design.spread(values, of_pairs)
    shared = weighted_products(values, design.weights())
    often = np.clip(means[:, None] + means - 2 * shared, 0, 1)
    seen = spread.variances
    least, df_of_least = hidden_variances(values, seen, often, design, spread.df)
    variances = np.maximum(seen, least)
    # What is assumed beyond what was seen has degrees of freedom of its own (Satterthwaite).
    squares = seen**2 / spread.df + (variances - seen) ** 2 / df_of_least
    df = np.divide(variances**2, squares, out=np.full_like(squares, spread.df), where=squares > 0)
    df[variances == seen] = spread.df
    for matrix, nothing in ((variances, 0), (df, spread.df)):  # of a model and itself
        np.fill_diagonal(matrix, nothing)
    return means, np.sqrt(variances), df


def judge_differences(pairs: Sequence[Difference], margin: float) -> list[Comparison]:
    """Say in a word what is known of each pair of a table, at one error rate for all pairs together.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics.
    """
    if not 0 < margin < 1:
        raise RunError(
            f"--margin {margin:g}: the margin must be a difference of accuracies, above 0 and below 1.\n"
            "  Write the smallest difference that matters to you, such as --margin 0.02."
        )
    different = holm([one.p for one in pairs])
    within = holm([one.p_beyond(margin) for one in pairs])
    return [
        Comparison(p, beyond, SAME if one.same else _word(one.value, p, beyond))
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
    if beyond < error_rate():
        return "equivalent"
    if p < error_rate():
        return "better" if value > 0 else "worse"
    return "undecided"


def average(values: NDArray[np.float64], design: Design) -> Average | None:
    """Estimate a mean over items that share words.

    Entries are drawn anew; the variance is never less than if items were independent, where the interval is
    that of the t-test.
    """
    known = ~np.isnan(values)
    if not known.any():
        return None
    among, n_items = design.among(known), int(known.sum())
    chosen = values[known, None]
    spread, value = among.spread(chosen), float(among.means(chosen)[0])
    se, df = sqrt(float(spread.variances[0])) or nan, spread.df
    half = quantile(df) * se
    return Average(value, se, value - half, value + half, df, n_items, among.clusters, among.fixed)


def over_seeds(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over seeds, (rows, seeds) to (rows,), and the standard deviation between several."""
    several = values.shape[1] > 1
    return values.mean(axis=1), values.std(axis=1, ddof=1) if several else np.full(len(values), nan)


@dataclass(frozen=True, slots=True)
class SeedMean(Average):
    """The mean accuracy of several seeds, with the spread between them."""

    of_seeds: tuple[float, ...]
    spread: float


def mean_of_seeds(correct: NDArray[np.bool_], design: Design) -> SeedMean:
    """Average over seeds, with an interval for other seeds and other lexicon entries.

    Its variance is that between seeds, by the number of seeds, and that of each item's mean over seeds,
    clustered by entry. How seeds differ on single entries is part of both, so the interval is rather too
    wide than too narrow. The quantiles of both are mixed as their variances are, and the degrees of freedom
    those that have this quantile.

    Source: Banerjee 1960, "Approximate confidence interval for linear functions of means of k populations
    when the population variances are not equal", Sankhya 22.
    """
    from scipy.special import stdtridf  # noqa: PLC0415 - slow to import

    n_seeds = correct.shape[1]
    of_seeds, of_items = design.means(correct.astype(np.float64)), correct.mean(axis=1, keepdims=True)
    value, spread, words = float(of_seeds.mean()), float(of_seeds.std(ddof=1)), design.spread(of_items)
    of_entries, of_mean = float(words.variances[0]), spread**2 / n_seeds
    variance, df = of_entries + of_mean, words.df
    if of_mean:
        mixed = quantile(df) ** 2 * of_entries + quantile(n_seeds - 1) ** 2 * of_mean
        df = float(stdtridf(upper_end(), sqrt(mixed / variance)))
    n_eff = worth(of_items, variance, design)
    low, high = score_interval(value, n_eff, quantile(df))
    return SeedMean(
        value, sqrt(variance), low, high, df, len(correct), design.clusters, design.fixed,
        tuple(map(float, of_seeds)), spread,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """The differences between the means of all pairs of architectures, in the order of `combinations`.

    Attributes:
        means: (architectures,), what each gets right.
        value: (pairs,), how much more the first of a pair gets right; so are its standard error, degrees of
            freedom, and the p of a difference at least as large if both were equally good.
        unseen: The standard error of a difference if no entry showed one.
    """

    means: NDArray[np.float64]
    value: NDArray[np.float64]
    se: NDArray[np.float64]
    df: NDArray[np.float64]
    p: NDArray[np.float64]
    unseen: float


def compare_means(architectures: Sequence[NDArray[np.bool_]], design: Design) -> PairedMeans:
    """Set all pairs of architectures against each other, by their means over seeds.

    Intervals and tests are for other seeds and other entries. The variance of a difference is that of the
    items' means over seeds, clustered by entry, and for each of the two that between its seeds, by their
    number. The degrees of freedom are Satterthwaite's, of entries and of the fewer seeds: with those of all
    seeds of the two, too much is told apart where seeds differ much. Of an architecture with one seed nothing
    is known of others: what is told is of this very model.

    Args:
        architectures: What each gets right, (items, seeds).

    Source: Satterthwaite 1946, "An approximate distribution of estimates of variance components", Biometrics
    Bulletin 2(6).
    """
    values = np.empty((len(design.rows), len(architectures)))
    for place, correct in enumerate(architectures):
        values[:, place] = correct.mean(axis=1)
    means, of_words, df_of_words = paired_errors(values, design)
    df_of_all = float(df_of_words[0, 0])
    unseen = sqrt(score_interval(0, worst := design.fewest_words(), quantile(df_of_all))[1] / worst)
    of_seeds, df_of_seeds = np.zeros(len(means)), np.full(len(means), np.inf)
    for place, correct in enumerate(architectures):
        if (n_seeds := correct.shape[1]) > 1:
            of_seeds[place] = design.means(correct.astype(np.float64)).var(ddof=1) / n_seeds
            df_of_seeds[place] = n_seeds - 1
    of_both = of_seeds[:, None] + of_seeds
    variances = of_words**2 + of_both
    fewer = np.minimum(df_of_seeds[:, None], df_of_seeds)
    squares = of_words**4 / df_of_words + of_both**2 / fewer
    df = np.divide(variances**2, squares, out=df_of_words.copy(), where=squares > 0)
    df = np.where(of_both == 0, df_of_words, df)
    first, second = np.triu_indices(len(architectures), 1)
    value, se, df = means[first] - means[second], np.sqrt(variances[first, second]), df[first, second]
    p = np.minimum(1.0, 2 * upper_tail(np.abs(value) / se, df))
    return PairedMeans(means, value, se, df, p, unseen)


def differences_of_seeds(architectures: Sequence[NDArray[np.bool_]], design: Design) -> list[Difference]:
    """Return the difference of each pair of architectures (`compare_means`), with intervals."""
    compared = compare_means(architectures, design)
    # What all seeds of an architecture say alike, item by item; None where they differ.
    alike = [own[:, 0].tobytes() if (own == own[:, :1]).all() else None for own in architectures]
    found = []
    columns = (column.tolist() for column in (compared.value, compared.se, compared.df, compared.p))
    for (one, other), value, se, df, p in zip(
        combinations(range(len(architectures)), 2), *columns, strict=True
    ):
        half = quantile(df) * se
        told = Difference(
            value=value,
            se=se,
            low=max(-1.0, value - half),
            high=min(1.0, value + half),
            df=df,
            p=p,
            unseen=compared.unseen,
            same=alike[one] is not None and alike[one] == alike[other],
            n_items=len(design.rows),
            clusters=design.clusters,
            fixed=design.fixed,
        )
        found.append(told)
    return found
