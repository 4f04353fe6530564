"""Ranks with intervals: which models differ significantly, and mean ranks over rows.

Source: Mogstad, Romano, Shaikh & Wilhelm 2024, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Review of Economic Studies 91(1), sections 3.1 and
3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.correctness import Correctness, factors_of_any, items_of_rows
from tseval.analysis.design import Design
from tseval.analysis.differences import compare_means, holm
from tseval.analysis.intervals import error_rate, upper_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


_MEAN_DRAWS = 1_000
# A fixed seed: the same table gives the same intervals, in any order of its columns.
_SEED = 0


@dataclass(frozen=True, slots=True)
class RankSets:
    """The possible ranks of models, from `low` to `high`, which hold jointly at the confidence level.

    `means`, (models,), give the ranking. `better` is true if the row's model is significantly better than
    the column's model, (models, models).
    """

    means: NDArray[np.float64]
    low: tuple[int, ...]
    high: tuple[int, ...]
    better: NDArray[np.bool_]

    def tied(self) -> list[tuple[int, ...]]:
        """Group models that do not differ significantly, best first; a model may be in several groups.

        Every pair without a significant difference is in a group, and no group can be extended by a model.

        Source: Bron & Kerbosch 1973, "Algorithm 457: finding all cliques of an undirected graph",
        Communications of the ACM 16(9).
        """
        order = [int(model) for model in np.argsort(-self.means, kind="stable")]
        place = {model: i for i, model in enumerate(order)}
        differ = self.better | self.better.T
        similar = {
            model: {second for second in order if second != model and not differ[model, second]}
            for model in order
        }
        groups: list[tuple[int, ...]] = []

        def extend(group: set[int], others: set[int], done: set[int]) -> None:
            if not others and not done and len(group) > 1:
                groups.append(tuple(sorted(group, key=place.__getitem__)))
            hub = max(others | done, key=lambda model: len(similar[model] & others), default=None)
            for model in others - similar[hub] if hub is not None else ():
                extend(group | {model}, others & similar[model], done & similar[model])
                others, done = others - {model}, done | {model}

        extend(set(), set(order), set())
        return sorted(groups, key=lambda group: [place[model] for model in group])


def rank_sets(correct: NDArray[np.bool_], design: Design) -> RankSets:
    """Find the possible ranks of models by what they get right, (items, models), averaged over rows."""
    return ranks_of_seeds([column[:, None] for column in correct.T], design)


def ranks_of_seeds(architectures: Sequence[NDArray[np.bool_]], design: Design) -> RankSets:
    """Find the possible ranks of architectures by their means over seeds.

    Models differ as in a table of pairs: by the p of each difference, corrected by Holm's method for the
    number of pairs. The best rank of a model comes after all better models, its worst rank before all worse
    models. The ranks hold for other seeds and other entries. If an architecture has one seed, the rank is
    that of this model, not of other seeds.

    Source: Mogstad et al. 2024, section 3. Departure: Holm's correction instead of their simulated one, which
    assumes that all differences have the same few degrees of freedom.
    """
    n_models = len(architectures)
    compared = compare_means(architectures, design)
    first, second = np.triu_indices(n_models, 1)
    differ = np.array(holm(compared.p.tolist())) < error_rate()
    better = np.zeros((n_models, n_models), bool)
    better[first, second] = differ & (compared.value > 0)
    better[second, first] = differ & (compared.value < 0)
    return RankSets(
        means=compared.means,
        low=tuple(int(n) for n in 1 + better.sum(axis=0)),
        high=tuple(int(n) for n in n_models - better.sum(axis=1)),
        better=better,
    )


_AT_ONCE = 100
# float32 counts items exactly up to 16 million, and so finds all ties.
_Counts = np.float32


def mean_rank_intervals(
    correct: NDArray[np.bool_], design: Design
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals of the mean rank of each model for other lexicon entries.

    Entries are drawn with replacement, factor by factor, the same for all rows and models. The count of an
    item is the product of the counts of its entries. An item without entries gets a Poisson count. In each
    draw the models are ranked in every row (1, 2, 2, 4) and the ranks averaged. Models that are nearly equal
    change places between draws, which moves their mean ranks towards each other. So an interval is extended
    to the observed mean rank if necessary.

    Returns:
        Lower and upper ends of intervals, (models,) each; the same on every call.

    Source: Owen 2007, "The pigeonhole bootstrap", Annals of Applied Statistics 1(2); percentile intervals.
    """
    codes = design.drawn
    lone = np.asarray((codes < 0).all(axis=1))
    items_of_rows = (np.flatnonzero(design.rows == row) for row in np.unique(design.rows))
    rows = [_Row.of(items, correct, codes, lone) for items in items_of_rows]
    sizes, n_lone = [int(column.max()) + 1 for column in codes.T], int(lone.sum())
    observed = _mean_ranks(rows, [_as_they_are(sizes, n_lone)])
    drawn = _mean_ranks(rows, _draws(sizes, n_lone))
    low, high = np.quantile(drawn, [round(1 - upper_end(), 12), upper_end()], axis=0)
    return np.minimum(low, observed[0]), np.maximum(high, observed[0])


@dataclass(frozen=True, slots=True)
class _Draws:
    """How often each entry and each lone item was drawn, for some draws at a time.

    Attributes:
        entries: For each factor, (entries + 1, draws); the last line is for items without an entry (code -1).
        lone: For items without any entry, (lone items, draws).
    """

    entries: tuple[NDArray[np.float32], ...]
    lone: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Row:
    """The items of one row of the table.

    Attributes:
        correct: What each model gets right, (items, models).
        entries: For each factor, the entry of each item, (items,), without factors that no item has.
        lone: The places of the items without any entry.
        places: The numbers of these items among all lone items of the design.
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
    """Return a single draw with every entry and every lone item once; `sizes` are numbers of entries."""
    entries = tuple(np.ones((size + 1, 1), _Counts) for size in sizes)
    return _Draws(entries, np.ones((n_lone, 1), _Counts))


def _draws(sizes: Sequence[int], n_lone: int) -> Iterator[_Draws]:
    random = np.random.default_rng(_SEED)
    for _ in range(_MEAN_DRAWS // _AT_ONCE):
        drawn = [random.multinomial(size, np.full(size, 1 / size), _AT_ONCE).T for size in sizes]
        entries = tuple(np.vstack([times, np.ones(_AT_ONCE)]).astype(_Counts) for times in drawn)
        yield _Draws(entries, random.poisson(1, (n_lone, _AT_ONCE)).astype(_Counts))


def _mean_ranks(rows: Sequence[_Row], chunks: Iterable[_Draws]) -> NDArray[np.float64]:
    """Average the ranks over rows for every draw, (draws, models)."""
    chunks_of_ranks = []
    for draws in chunks:
        ranks = 0
        for row in rows:
            right = row.right(draws)
            ranks = ranks + 1 + (right[:, None, :] > right[:, :, None]).sum(axis=2)
        chunks_of_ranks.append(ranks / len(rows))
    return np.concatenate(chunks_of_ranks)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The possible ranks of models in each row and by the mean over rows; undecidable items are wrong.

    `low` and `high` are the ends of the intervals of the mean ranks, (models,).
    """

    of_rows: tuple[RankSets, ...]
    overall: RankSets
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def rank_models(models: Sequence[Correctness]) -> Ranking:
    """Find the possible ranks of models in every row and over all, and intervals of their mean ranks.

    All models must have the same items in the same order. They are clustered by every factor of any model.
    """
    rows, factors = models[0].rows, factors_of_any(models)
    correct = np.stack([model.correct & model.decidable for model in models], axis=1)
    design_of_rows = Design.of(factors, rows)
    low, high = mean_rank_intervals(correct, design_of_rows)
    of_rows = tuple(rank_sets(correct[items], design) for items, design in items_of_rows(rows, factors))
    return Ranking(of_rows, rank_sets(correct, design_of_rows), low, high)
