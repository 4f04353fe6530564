"""Which items share which entries, and the variance that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.inference.factors import FEWEST_LEVELS, Factors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Cells:
    """Items grouped by one combination of factors.

    Attributes:
        sign: +1 for one factor, three, five ...; -1 for two, four, ...
        of_item: (items,), the cell of each item, counted from 1; 0 where an item is alone in a cell of its
            own.
        n_shared: How many cells there are, besides those of items that are alone.
    """

    sign: int
    of_item: NDArray[np.int64]
    n_shared: int


@dataclass(frozen=True, slots=True)
class Design:
    """Items, the rows of a table that they stand in, and the lexicon entries that they share.

    Attributes:
        rows: (items,), the row of each item, counted from 0. A statistic over several rows weighs each row
            alike.
        factors: The entries of each item. An item that has none for a factor is its own cluster.
        clusters: Factors that are drawn, each with its number of entries.
        fixed: Factors that have too few entries to be regarded as drawn (`FEWEST_LEVELS`).
        cells: The items, grouped by every combination of the factors that are drawn.
    """

    rows: NDArray[np.int64]
    factors: Factors
    clusters: dict[str, int]
    fixed: tuple[str, ...]
    cells: tuple[Cells, ...]

    @classmethod
    def of(cls, factors: Factors, rows: NDArray[np.int64] | None = None) -> Design:
        """Group items by every combination of their factors.

        Args:
            factors: The entries of each item.
            rows: The row of each item; None where all stand in one.
        """
        n_items = len(factors.codes)
        levels = factors.levels(np.ones(n_items, bool))
        clusters = {name: n for name, n in levels.items() if n >= FEWEST_LEVELS}
        drawn = factors.keep([place for place, name in enumerate(factors.names) if name in clusters])
        return cls(
            rows=np.zeros(n_items, np.int64) if rows is None else rows,
            factors=factors,
            clusters=clusters,
            fixed=tuple(name for name in levels if name not in clusters),
            cells=tuple(_combinations(drawn.codes)),
        )

    @property
    def drawn(self) -> NDArray[np.int64]:
        """The codes of the factors that are drawn, (items, factors)."""
        return self.factors.codes[:, [name in self.clusters for name in self.factors.names]]

    @property
    def df(self) -> int | None:
        """Degrees of freedom, one less than the smallest factor has entries.

        None where no factor is drawn, and items are independent.
        """
        return min(self.clusters.values()) - 1 if self.clusters else None

    def among(self, counted: NDArray[np.bool_]) -> Design:
        """Give the design of the items that count; without the others, a factor may have too few entries."""
        return self if counted.all() else Design.of(self.factors.take(counted), self.rows[counted])

    def weights(self) -> NDArray[np.float64]:
        """Weigh the items of each row alike, and the rows alike; the weights add up to 1."""
        sizes = np.bincount(self.rows)
        return 1 / (np.count_nonzero(sizes) * sizes[self.rows])

    def deviations(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the mean of each column, all rows weighing alike, and how far each item draws it from there.

        Args:
            values: (items, columns).

        Returns:
            Means, (columns,), and the influence of each item, (items, columns): its weight times its distance
            from the mean of its row.
        """
        sizes = np.bincount(self.rows)
        sums = np.stack([np.bincount(self.rows, column) for column in values.T], axis=1)
        of_rows = sums / np.maximum(sizes, 1)[:, None]
        influence = self.weights()[:, None] * (values - of_rows[self.rows])
        return of_rows[sizes > 0].mean(axis=0), influence

    def covariance(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Estimate the covariance of means over these items, entries drawn anew.

        With one factor that is drawn, the items of an entry move together; with several, the combinations of
        factors are added and subtracted in turn, as sets are when their union is counted. An estimate of
        several factors need not be positive.

            V = Σ_A (-1)^(|A|+1) G_A / (G_A - 1) Σ_g (Σ_{i in g} ψ_i) (Σ_{i in g} ψ_i)'

        over the non-empty sets A of factors, with G_A cells g.

        Args:
            influence: ψ of `deviations`, (items, columns).

        Returns:
            (columns, columns); zeros where no factor is drawn.

        Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", JBES 29(2),
        section 2.3, equations 2.11 and 2.13.
        """
        total = np.zeros((influence.shape[1],) * 2)
        for weight, shared, alone in self._sums(influence):
            total += weight * (shared.T @ shared + alone.T @ alone)
        return total

    def variance(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Estimate the variance of means over these items; never less than if items were independent.

        Args:
            influence: ψ of `deviations`, (items, columns).

        Returns:
            (columns,); the diagonal of `covariance`, but without a matrix product, whose last bits depend on
            the processor: tables of equal verdicts are equal everywhere.
        """
        clustered = np.zeros(influence.shape[1])
        for weight, shared, alone in self._sums(influence):
            clustered += weight * ((shared**2).sum(axis=0) + (alone**2).sum(axis=0))
        independent: NDArray[np.float64] = (influence**2).sum(axis=0)
        return np.maximum(clustered, independent)

    def _sums(
        self, influence: NDArray[np.float64]
    ) -> Iterator[tuple[float, NDArray[np.float64], NDArray[np.float64]]]:
        """Add up the influence of each cell, for every combination of factors.

        Returns:
            The weight of the combination; the sums of cells, (cells, columns); the influence of items that
            are alone in theirs, (items, columns).
        """
        for cells in self.cells:
            alone = influence[cells.of_item == 0]
            sums = [np.bincount(cells.of_item, column, cells.n_shared + 1)[1:] for column in influence.T]
            n_cells = cells.n_shared + len(alone)
            yield cells.sign * n_cells / (n_cells - 1), np.stack(sums, axis=1), alone

    def fewest_words(self) -> float:
        """Say how many items these are worth at worst: if each entry were wholly right or wholly wrong.

        Where all verdicts are alike nothing shows how they depend on words, so this is what is assumed. It is
        the number of entries of the factor with fewest, less where some entries have more weight than others.
        """
        weights, codes = self.weights(), self.drawn
        worth = [1 / (weights**2).sum()]
        for column in codes.T:
            lone = weights[column < 0]
            worth.append(1 / ((np.bincount(column + 1, weights)[1:] ** 2).sum() + (lone**2).sum()))
        return float(min(worth))


def _combinations(codes: NDArray[np.int64]) -> Iterator[Cells]:
    """Group items by every non-empty combination of factors.

    A combination that leaves every item alone does so with any further factor too. These terms are equal but
    for their signs and cancel out, unless there is no further factor; they are left out.
    """
    n_factors = codes.shape[1]

    def extend(cells: Cells, first: int) -> Iterator[Cells]:
        for place in range(first, n_factors):
            joined = _join(cells, codes[:, place])
            if joined.n_shared or place == n_factors - 1:
                yield joined
            if joined.n_shared:
                yield from extend(joined, place + 1)

    yield from extend(Cells(-1, np.ones(len(codes), np.int64), 1), 0)


def _join(cells: Cells, codes: NDArray[np.int64]) -> Cells:
    """Split cells by one more factor; an item without an entry is alone."""
    key = cells.of_item * (codes.max(initial=0) + 1) + codes
    shared = (cells.of_item > 0) & (codes >= 0)
    of_item = np.zeros(len(codes), np.int64)
    found, names = pd.factorize(key[shared])
    if len(names) < len(found):
        of_item[shared] = found + 1
        return Cells(-cells.sign, of_item, len(names))
    return Cells(-cells.sign, of_item, 0)
