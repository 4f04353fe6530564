"""The mean arithmetic rank of models over the rows of a table, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design

_DRAWS = 1_000
_AT_ONCE = 100
_SEED = 0
# Counts of items stay exact up to 16 million, and ties with them.
_Counts = np.float32


def mean_rank_intervals(
    correct: NDArray[np.bool_], design: Design
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Say between which mean ranks each model would lie with other lexicon entries.

    Entries are drawn with replacement, factor by factor, the same for all rows and models; an item counts
    as often as all its entries were drawn together, an item that has none as often as a draw of its own
    says. In each draw the models are ranked in every row (1, 2, 2, 4) and their ranks averaged. Models that
    are nearly equal change places in the draws, which pulls their mean ranks together; so an interval
    always reaches to the mean rank that the model has.

    Args:
        correct: (items, models), what each model gets right.
        design: Rows and entries of the items.

    Returns:
        Lower and upper ends of 95% intervals, (models,) each; the same on every call.

    Source: Owen 2007, "The pigeonhole bootstrap", Annals of Applied Statistics 1(2); percentile intervals.
    """
    codes = design.drawn
    lone = np.asarray((codes < 0).all(axis=1))
    items_of_rows = (np.flatnonzero(design.rows == row) for row in np.unique(design.rows))
    rows = [_Row.of(items, correct, codes, lone) for items in items_of_rows]
    sizes, n_lone = [int(column.max()) + 1 for column in codes.T], int(lone.sum())
    as_they_are = _mean_ranks(rows, [_as_they_are(sizes, n_lone)])
    drawn = _mean_ranks(rows, _draws(sizes, n_lone))
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return np.minimum(low, as_they_are[0]), np.maximum(high, as_they_are[0])


@dataclass(frozen=True, slots=True)
class _Draws:
    """How often everything was drawn, some draws at a time.

    Attributes:
        entries: Of each factor, (entries + 1, draws); the last line is for items without an entry, whose
            code is -1.
        lone: Of each item that has none at all, (lone items, draws).
    """

    entries: tuple[NDArray[np.float32], ...]
    lone: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Row:
    """The items of one row of the table.

    Attributes:
        correct: What each model gets right of them, (items, models).
        entries: Factor to the entry that each item has of it, (items,); factors that none has are left out.
        lone: Which of the items have none at all.
        places: Which lone items of the design these are.
    """

    correct: NDArray[np.float32]
    entries: Mapping[int, NDArray[np.int64]]
    lone: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        items: NDArray[np.int64],
        correct: NDArray[np.bool_],
        codes: NDArray[np.int64],
        lone: NDArray[np.bool_],
    ) -> _Row:
        """Take the items of one row from all, with their entries and which have none."""
        return cls(
            correct[items].astype(_Counts),
            {factor: column for factor, column in enumerate(codes[items].T) if (column >= 0).any()},
            np.flatnonzero(lone[items]),
            (np.cumsum(lone) - 1)[items[lone[items]]],
        )

    def right(self, draws: _Draws) -> NDArray[np.float32]:
        """Count what each model gets right in each draw, (draws, models)."""
        times = np.ones((len(self.correct), draws.lone.shape[1]), _Counts)
        for factor, column in self.entries.items():
            times *= draws.entries[factor][column]
        times[self.lone] = draws.lone[self.places]
        return times.T @ self.correct


def _as_they_are(sizes: Sequence[int], n_lone: int) -> _Draws:
    """Take every entry once, of as many as each factor has, and every item without one."""
    entries = tuple(np.ones((size + 1, 1), _Counts) for size in sizes)
    return _Draws(entries, np.ones((n_lone, 1), _Counts))


def _draws(sizes: Sequence[int], n_lone: int) -> Iterator[_Draws]:
    """Draw as many as there are, with replacement."""
    random = np.random.default_rng(_SEED)
    for _ in range(_DRAWS // _AT_ONCE):
        drawn = [random.multinomial(size, np.full(size, 1 / size), _AT_ONCE).T for size in sizes]
        entries = tuple(np.vstack([times, np.ones(_AT_ONCE)]).astype(_Counts) for times in drawn)
        yield _Draws(entries, random.poisson(1, (n_lone, _AT_ONCE)).astype(_Counts))


def _mean_ranks(rows: Sequence[_Row], chunks: Iterable[_Draws]) -> NDArray[np.float64]:
    """Average the ranks over rows, for every draw: (draws, models)."""
    found = []
    for draws in chunks:
        ranks = 0
        for row in rows:
            right = row.right(draws)
            ranks = ranks + 1 + (right[:, None, :] > right[:, :, None]).sum(axis=2)
        found.append(ranks / len(rows))
    return np.concatenate(found)
