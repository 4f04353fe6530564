"""What models got right, item by item, and estimates of mean accuracies over rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import Design, Factors, split_by_row
from tseval.analysis.estimates import Estimate, estimate_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Correctness:
    """What one model got right, item by item; an undecidable item is not correct.

    `rows` is the row of the table for each item, counted from 0. All arrays are (items,).
    """

    rows: NDArray[np.int64]
    factors: Factors
    correct: NDArray[np.bool_]
    decidable: NDArray[np.bool_]

    def sharing(self, other: Correctness) -> Correctness:
        """Use the rows and entries of another model if they are equal: they are stored and grouped once."""
        is_same = self.factors.names == other.factors.names and all(
            np.array_equal(first, second)
            for first, second in ((self.rows, other.rows), (self.factors.codes, other.factors.codes))
        )
        return replace(self, rows=other.rows, factors=other.factors) if is_same else self


def estimate_means(
    models: Sequence[Correctness], sets: Sequence[Sequence[int]]
) -> list[tuple[Estimate | None, ...]]:
    """Estimate the mean accuracy of every model over sets of row numbers; each row counts once.

    Models that share rows and entries are grouped once (`Correctness.sharing`). A row without decidable
    items is left out.
    """

    def estimate_over(rows: Sequence[int]) -> list[Estimate | None]:
        return _estimate_on(models, lambda answers: np.isin(answers.rows, rows), by_row=True)

    return [tuple(estimate_over(rows)) for rows in sets]


def estimate_items(models: Sequence[Correctness], items: NDArray[np.int64]) -> list[Estimate | None]:
    """Estimate the accuracy of every model on the items at these places, as if they were one row."""
    return _estimate_on(models, lambda _: items, by_row=False)


def _estimate_on(
    models: Sequence[Correctness],
    items_of: Callable[[Correctness], NDArray[np.bool_] | NDArray[np.int64]],
    *,
    by_row: bool,
) -> list[Estimate | None]:
    """Estimate models on some of their items; models that share their entries are estimated together."""
    grouped_alike: dict[int, list[int]] = {}
    for place, model in enumerate(models):
        grouped_alike.setdefault(id(model.factors), []).append(place)
    estimates: dict[int, Estimate | None] = {}
    for places in grouped_alike.values():
        first = models[places[0]]
        items = items_of(first)
        design = Design.of(first.factors.take(items), first.rows[items] if by_row else None)
        verdicts = [(models[place].correct[items], models[place].decidable[items]) for place in places]
        estimates |= zip(places, estimate_models(verdicts, design), strict=True)
    return [estimates[place] for place in range(len(models))]


def factors_of_any(models: Sequence[Correctness]) -> Factors:
    """Join the factors of all models; factors with the same name are the same factor."""
    codes = {
        name: column
        for model in reversed(models)
        for name, column in zip(model.factors.names, model.factors.codes.T, strict=True)
    }
    name_sets = {model.factors.names for model in models}
    factors = models[0].factors
    if len(name_sets) > 1:
        factors = Factors(tuple(codes), np.stack(list(codes.values()), axis=1))
    for model in models:
        factors = factors.with_contexts(model.factors)
    return factors


def items_of_rows(rows: NDArray[np.int64], factors: Factors) -> Iterator[tuple[NDArray[np.int64], Design]]:
    """Return the places of the items of each row, and their design."""
    return ((items, Design.of(factors.take(items))) for items in split_by_row(rows))
