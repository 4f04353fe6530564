"""The mean arithmetic rank of models over the rows of a table, with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    as_they_are = _mean_ranks(correct, design, iter([np.ones((len(correct), 1), _Counts)]))
    drawn = _mean_ranks(correct, design, _draws(design))
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return np.minimum(low, as_they_are[0]), np.maximum(high, as_they_are[0])


def _draws(design: Design) -> Iterator[NDArray[np.float32]]:
    """Give how often each item counts in each draw, (items, draws), some draws at a time."""
    random = np.random.default_rng(_SEED)
    codes = design.drawn
    lone = (codes < 0).all(axis=1)
    for _ in range(_DRAWS // _AT_ONCE):
        times = np.ones((len(codes), _AT_ONCE), _Counts)
        for column in codes.T:
            n_entries = int(column.max()) + 1
            drawn = random.multinomial(n_entries, np.full(n_entries, 1 / n_entries), _AT_ONCE).T
            # The last line is for items without an entry, whose code is -1.
            times *= np.vstack([drawn, np.ones(_AT_ONCE)]).astype(_Counts)[column]
        times[lone] = random.poisson(1, (int(lone.sum()), _AT_ONCE))
        yield times


def _mean_ranks(
    correct: NDArray[np.bool_], design: Design, weights: Iterator[NDArray[np.float32]]
) -> NDArray[np.float64]:
    """Average the ranks over rows, for every draw of weights: (draws, models)."""
    rows = [np.flatnonzero(design.rows == row) for row in np.unique(design.rows)]
    counts = correct.astype(_Counts)
    found = []
    for times in weights:
        ranks = np.zeros((times.shape[1], correct.shape[1]))
        for items in rows:
            right = times[items].T @ counts[items]
            ranks += 1 + (right[:, None, :] > right[:, :, None]).sum(axis=2)
        found.append(ranks / len(rows))
    return np.concatenate(found)
