"""How sure ranks are: sets of ranks, and mean ranks over rows.

The ranks that models may have: which are told apart, and which are not.

Source: Mogstad, Romano, Shaikh & Wilhelm 2024, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Review of Economic Studies 91(1), sections 3.1
and 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import normal_scores
from tseval.analysis.differences import (
    ERROR_RATE,
    SeedDifferences,
    degrees,
    of_differences,
    paired_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.design import Design


_SET_DRAWS = 10_000
_MEAN_DRAWS = 1_000
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
    drawn = random.standard_normal((_SET_DRAWS, n_models)) @ root
    if df is not None:
        drawn /= np.sqrt(random.chisquare(df, _SET_DRAWS) / df)[:, None]
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


_AT_ONCE = 100


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
    for _ in range(_MEAN_DRAWS // _AT_ONCE):
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
    apart = SeedDifferences.of(architectures, design)
    gaps = apart.means[:, None] - apart.means
    t = np.divide(gaps, apart.errors, out=np.zeros_like(gaps), where=apart.errors > 0)
    scores = normal_scores(t, apart.df)
    errors = np.divide(gaps, scores, out=apart.errors.copy(), where=scores != 0)
    return ranks_that_may_be(apart.means, errors, apart.covariance, None)
