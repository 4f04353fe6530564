"""What models got right, item by item: intervals of rows and means, and the ranks that models may have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.design import Design
from tseval.analysis.inference.estimates import estimate
from tseval.analysis.inference.factors import Factors
from tseval.analysis.inference.mean_ranks import mean_rank_intervals
from tseval.analysis.inference.rank_sets import rank_sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.estimates import Estimate
    from tseval.analysis.inference.rank_sets import RankSets


@dataclass(frozen=True, slots=True)
class Answers:
    """What one model got right.

    Attributes:
        rows: (items,), the row of the table that each item stands in, counted from 0.
        factors: The lexicon entries of each item.
        correct: (items,); what is undecidable is not correct.
        decidable: (items,).
    """

    rows: NDArray[np.int64]
    factors: Factors
    correct: NDArray[np.bool_]
    decidable: NDArray[np.bool_]

    def sharing(self, other: Answers) -> Answers:
        """Take rows and entries of another model where they are the same: they are kept and grouped once."""
        same = self.factors.names == other.factors.names and all(
            np.array_equal(own, others)
            for own, others in ((self.rows, other.rows), (self.factors.codes, other.factors.codes))
        )
        return replace(self, rows=other.rows, factors=other.factors) if same else self


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranks that models may have, where all were asked the same; undecidable items count as wrong.

    Attributes:
        of_rows: For each row.
        overall: By the mean over all rows, each counted once.
        low: (models,), lower ends of the intervals of their mean arithmetic ranks.
        high: Upper ends.
    """

    of_rows: tuple[RankSets, ...]
    overall: RankSets
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def estimate_rows(answers: Answers) -> list[Estimate | None]:
    """Estimate the accuracy of every row, None where no item is decidable."""
    return [
        estimate(answers.correct[items], answers.decidable[items], design)
        for items, design in items_of_rows(answers.rows, answers.factors)
    ]


def estimate_means(
    models: Sequence[Answers], sets: Sequence[Sequence[int]]
) -> list[tuple[Estimate | None, ...]]:
    """Estimate the mean accuracy of every model over sets of rows, each row counted once.

    Args:
        models: Those that share rows and entries are grouped once (`Answers.sharing`).
        sets: The places of the rows.

    Returns:
        For each set an estimate for each model. A row in which nothing is decidable is left out.
    """
    found = []
    for rows in sets:
        designs: dict[int, Design] = {}
        estimates = []
        for one in models:
            items = np.isin(one.rows, rows)
            if id(one.factors) not in designs:
                designs[id(one.factors)] = Design.of(one.factors.take(items), one.rows[items])
            design = designs[id(one.factors)]
            estimates.append(estimate(one.correct[items], one.decidable[items], design))
        found.append(tuple(estimates))
    return found


def rank_models(models: Sequence[Answers]) -> Ranking:
    """Find the ranks that models may have in every row and over all, and intervals of their mean ranks.

    Args:
        models: They were asked the same items, in the same order. Items are clustered by every factor that
            one of them knows.
    """
    rows, factors = models[0].rows, factors_of_any(models)
    correct = np.stack([one.correct & one.decidable for one in models], axis=1)
    whole = Design.of(factors, rows)
    low, high = mean_rank_intervals(correct, whole)
    of_rows = tuple(rank_sets(correct[items], design) for items, design in items_of_rows(rows, factors))
    return Ranking(of_rows, rank_sets(correct, whole), low, high)


def factors_of_any(models: Sequence[Answers]) -> Factors:
    """Join the factors of all models; those of one name are the same."""
    codes = {
        name: column
        for one in reversed(models)
        for name, column in zip(one.factors.names, one.factors.codes.T, strict=True)
    }
    known = {one.factors.names for one in models}
    if len(known) == 1:
        return models[0].factors
    return Factors(tuple(codes), np.stack(list(codes.values()), axis=1))


def items_of_rows(rows: NDArray[np.int64], factors: Factors) -> Iterator[tuple[NDArray[np.int64], Design]]:
    """Give the places of the items of each row, in order of the rows, and their design."""
    ends = np.cumsum(np.bincount(rows))
    for items in np.split(np.argsort(rows, kind="stable"), ends[:-1]):
        yield items, Design.of(factors.take(items))
