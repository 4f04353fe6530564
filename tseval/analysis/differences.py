"""Paired differences of models and of means over seeds, with intervals and tests clustered by entry."""

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
    """The difference in accuracy of two models, or of two means over seeds, on the same items.

    `p` is the two-sided probability of a difference at least as large if the models were equally good.
    `unseen` is the standard error if no entry showed a difference: it covers entries that were not drawn.
    `same` is true if the verdicts are the same on every item.
    """

    df: float
    p: float
    unseen: float
    same: bool

    def p_beyond(self, margin: float) -> float:
        """Test whether the difference may be as large as a margin, by two one-sided tests.

        The G entries may by chance include none of a kind on which the models differ. So the standard error
        is never smaller than the standard error for models without any observed difference.

        Source: Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach
        for assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
        Biopharmaceutics. Departure: the least standard error.
        """
        return upper_tail((margin - abs(self.value)) / max(self.se, self.unseen), self.df)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result for a pair of models, among all pairs of a table: corrected p and a word.

    The word is about the first model. It is `same verdicts` if the two agree on every item; `equivalent` if
    the difference is smaller than the margin (it need not be 0); else `better` or `worse` if there is a
    difference; else `undecided`.
    """

    p_holm: float
    p_beyond: float
    word: Outcome


def differences(correct: NDArray[np.bool_], design: Design) -> list[Difference]:
    """Compare all pairs of models by what they get right, (items, models)."""
    return differences_of_seeds([column[:, None] for column in correct.T], design)


def paired_errors(
    values: NDArray[np.float64], design: Design
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the standard error of the difference between any two models.

    The errors are for new draws of entries. The variance is never less than that of independent items (the
    paired t-test), and never less than entries that were not drawn may add (`tseval.analysis.unseen`).

    Args:
        values: (items, models), 1 where a model is right, 0 where it is wrong, or the share of right seeds.

    Returns:
        Means, (models,); the standard errors of their differences and the degrees of freedom of these,
        (models, models) each.
    """
    means, spread = design.means(values), design.spread(values, of_pairs)
    shared = weighted_products(values, design.weights())
    often = np.clip(means[:, None] + means - 2 * shared, 0, 1)
    observed = spread.variances
    least, df_of_least = hidden_variances(values, observed, often, design, spread.df)
    variances = np.maximum(observed, least)
    # The part that is assumed has other degrees of freedom than the observed part (Satterthwaite).
    squares = observed**2 / spread.df + (variances - observed) ** 2 / df_of_least
    df = np.divide(variances**2, squares, out=np.full_like(squares, spread.df), where=squares > 0)
    df[variances == observed] = spread.df
    for matrix, value in ((variances, 0), (df, spread.df)):  # a model compared with itself
        np.fill_diagonal(matrix, value)
    return means, np.sqrt(variances), df


def judge_differences(pairs: Sequence[Difference], margin: float) -> list[Comparison]:
    """Summarise each pair of a table in a word, with one error rate for all pairs together.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics.
    """
    if not 0 < margin < 1:
        raise RunError(
            f"--margin {margin:g}: the margin must be a difference of accuracies, above 0 and below 1.\n"
            "  Write the smallest difference that matters to you, such as --margin 0.02."
        )
    different = holm([pair.p for pair in pairs])
    within = holm([pair.p_beyond(margin) for pair in pairs])
    return [
        Comparison(p, beyond, SAME if pair.same else _word(pair.value, p, beyond))
        for pair, p, beyond in zip(pairs, different, within, strict=True)
    ]


def holm(p: Sequence[float]) -> list[float]:
    """Correct p values for their number by Holm's method; the order is kept."""
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

    The interval is for new draws of entries. The variance is never less than that of independent items, for
    which the interval is that of the t-test.
    """
    is_known = ~np.isnan(values)
    if not is_known.any():
        return None
    subset, n_items = design.among(is_known), int(is_known.sum())
    column = values[is_known, None]
    spread, value = subset.spread(column), float(subset.means(column)[0])
    se, df = sqrt(float(spread.variances[0])) or nan, spread.df
    half = quantile(df) * se
    return Average(value, se, value - half, value + half, df, n_items, subset.clusters, subset.fixed)


def over_seeds(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over seeds, (rows, seeds) to (rows,), and the standard deviation (NaN for one seed)."""
    has_seeds = values.shape[1] > 1
    return values.mean(axis=1), values.std(axis=1, ddof=1) if has_seeds else np.full(len(values), nan)


@dataclass(frozen=True, slots=True)
class SeedMean(Average):
    """The mean accuracy of several seeds, with the spread between them."""

    of_seeds: tuple[float, ...]
    spread: float


def mean_of_seeds(correct: NDArray[np.bool_], design: Design) -> SeedMean:
    """Average over seeds, with an interval for other seeds and other lexicon entries.

    The variance is the sum of two: the variance between seeds divided by their number, and that of the items'
    means over seeds, clustered by entry. Both contain how seeds differ on single entries, so the interval is
    rather too wide than too narrow. The squared quantiles of both are averaged, weighted by their variances.
    The degrees of freedom are those with this quantile.

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
        means: (architectures,), the accuracy of each.
        value: (pairs,), the accuracy of the first architecture of a pair minus that of the second.
        se: (pairs,), the standard errors of the differences.
        df: (pairs,), their degrees of freedom.
        p: (pairs,), the probability of a difference at least as large if both were equally good.
        unseen: The standard error of a difference if no entry showed one.
    """

    means: NDArray[np.float64]
    value: NDArray[np.float64]
    se: NDArray[np.float64]
    df: NDArray[np.float64]
    p: NDArray[np.float64]
    unseen: float


def compare_means(architectures: Sequence[NDArray[np.bool_]], design: Design) -> PairedMeans:
    """Compare all pairs of architectures by their means over seeds.

    Intervals and tests are for other seeds and other entries. The variance of a difference is the sum of
    three: that of the items' means over seeds, clustered by entry, and for each of the two the variance
    between its seeds divided by their number. The degrees of freedom are Satterthwaite's, of entries and of
    the smaller number of seeds. With those of all seeds of the two, the test finds too many differences if
    seeds differ much. If an architecture has one seed, the result is about this model, not about other seeds.

    Args:
        architectures: Which items each gets right, (items, seeds).

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
    smaller_df = np.minimum(df_of_seeds[:, None], df_of_seeds)
    squares = of_words**4 / df_of_words + of_both**2 / smaller_df
    df = np.divide(variances**2, squares, out=df_of_words.copy(), where=squares > 0)
    df = np.where(of_both == 0, df_of_words, df)
    first, second = np.triu_indices(len(architectures), 1)
    value, se, df = means[first] - means[second], np.sqrt(variances[first, second]), df[first, second]
    p = np.minimum(1.0, 2 * upper_tail(np.abs(value) / se, df))
    return PairedMeans(means, value, se, df, p, unseen)


def differences_of_seeds(architectures: Sequence[NDArray[np.bool_]], design: Design) -> list[Difference]:
    """Return the difference of each pair of architectures (`compare_means`), with intervals."""
    compared = compare_means(architectures, design)
    # The verdicts of an architecture if all its seeds agree on every item; else None.
    verdicts_if_equal = [
        correct[:, 0].tobytes() if (correct == correct[:, :1]).all() else None for correct in architectures
    ]
    results = []
    columns = (column.tolist() for column in (compared.value, compared.se, compared.df, compared.p))
    for (i, j), value, se, df, p in zip(combinations(range(len(architectures)), 2), *columns, strict=True):
        half = quantile(df) * se
        difference = Difference(
            value=value,
            se=se,
            low=max(-1.0, value - half),
            high=min(1.0, value + half),
            df=df,
            p=p,
            unseen=compared.unseen,
            same=verdicts_if_equal[i] is not None and verdicts_if_equal[i] == verdicts_if_equal[j],
            n_items=len(design.rows),
            clusters=design.clusters,
            fixed=design.fixed,
        )
        results.append(difference)
    return results
