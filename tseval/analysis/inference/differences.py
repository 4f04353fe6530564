"""Two models on the same items: how far apart they are, and whether that is known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from tseval.analysis.inference.estimates import score_interval
from tseval.analysis.inference.quantiles import quantile, upper_tail
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design

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

    Raises:
        RunError: The margin is no such difference.

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
