"""The ranks that models may have: which are told apart, and which are not.

Source: Mogstad, Romano, Shaikh & Wilhelm 2024, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Review of Economic Studies 91(1), sections 3.1
and 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.differences import ERROR_RATE, degrees, of_differences, paired_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design

_DRAWS = 10_000
# The same table gives the same sets, whatever the order of its columns.
_SEED = 0


@dataclass(frozen=True, slots=True)
class RankSets:
    """The ranks that models may have, all of them right together with 95% confidence.

    Attributes:
        means: (models,), what they are ranked by.
        low: The best rank that each may have; 1 is best.
        high: The worst rank that each may have.
        better: (models, models), whether the model of the row is known to be better than that of the column.
    """

    means: NDArray[np.float64]
    low: tuple[int, ...]
    high: tuple[int, ...]
    better: NDArray[np.bool_]

    def tied(self) -> list[tuple[int, ...]]:
        """Group neighbours of whom no two are told apart, best first; a model may be in several groups."""
        order = np.argsort(-self.means, kind="stable")
        apart = (self.better | self.better.T)[np.ix_(order, order)]
        groups: list[tuple[int, ...]] = []
        end = 0
        for start in range(len(order)):
            stop = start + 1
            while stop < len(order) and not apart[start : stop + 1, start : stop + 1].any():
                stop += 1
            if stop > max(end, start + 1):
                groups.append(tuple(int(model) for model in order[start:stop]))
            end = max(end, stop)
        return groups


def rank_sets(correct: NDArray[np.bool_], design: Design) -> RankSets:
    """Find the ranks that models may have.

    Args:
        correct: (items, models), what each model gets right.
        design: Rows and entries of the items; over several rows, models are ranked by their means.
    """
    means, errors, covariance = paired_errors(correct, design)
    return ranks_that_may_be(means, errors, covariance, degrees(design))


def ranks_that_may_be(
    means: NDArray[np.float64], errors: NDArray[np.float64], covariance: NDArray[np.float64], df: float | None
) -> RankSets:
    """Find the ranks that models may have from the standard errors of their differences.

    For any two models it is tested whether the first is better. The critical value is the quantile of the
    largest of all these statistics if all models were equally good, by simulation; once some models are
    told apart, it is that of the others, until nothing changes. A model's best rank is after all that are
    better than it, its worst before all that are worse.

    Args:
        means: (models,).
        errors: Standard errors of the differences, (models, models).
        covariance: Of the means, (models, models); how differences are correlated is taken from it.
        df: Degrees of freedom of t; None for the normal distribution.
    """
    n_models = len(means)
    order = np.lexsort((np.diag(covariance), -means))
    drawn, spread = _equally_good(covariance[np.ix_(order, order)], df)
    gaps, scale = ((means[:, None] - means)[np.ix_(order, order)], errors[np.ix_(order, order)])
    statistics = np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0)
    pairs = ~np.eye(n_models, dtype=bool)
    untold = pairs.copy()
    while untold.any():
        critical = np.quantile(_largest(drawn, spread, untold), 1 - ERROR_RATE)
        found = untold & (statistics > critical)
        if not found.any():
            break
        untold &= ~found
    place = np.argsort(order)
    better = (pairs & ~untold)[np.ix_(place, place)]
    return RankSets(
        means=means,
        low=tuple(int(n) for n in 1 + better.sum(axis=0)),
        high=tuple(int(n) for n in n_models - better.sum(axis=1)),
        better=better,
    )


def _equally_good(
    covariance: NDArray[np.float64], df: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw means of models that are equally good.

    Returns:
        (draws, models), in units that make differences distributed as t, and the standard deviations of the
        differences, (models, models).
    """
    n_models = len(covariance)
    random = np.random.default_rng(_SEED)
    # Models whose verdicts never vary have no correlation to go by; so little moves no other.
    covariance = covariance + np.eye(n_models) * (1e-6 * covariance.trace() + 1e-100)
    scales, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(scales, 0))) @ axes.T
    drawn = random.standard_normal((_DRAWS, n_models)) @ root
    if df is not None:
        drawn /= np.sqrt(random.chisquare(df, _DRAWS) / df)[:, None]
    return drawn, np.sqrt(np.maximum(of_differences(covariance), 0))


def _largest(
    drawn: NDArray[np.float64], spread: NDArray[np.float64], pairs: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Give the largest standardised difference of the given pairs, for every draw."""
    largest = np.full(len(drawn), -np.inf)
    for model, others in enumerate(pairs):
        if others.any():
            gaps = (drawn[:, [model]] - drawn[:, others]) / spread[model, others]
            np.maximum(largest, gaps.max(axis=1), out=largest)
    return largest
