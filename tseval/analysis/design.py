"""How sure a number is where items share words: lexical factors, designs, clustered estimates.

Student's t and the normal distribution, for intervals of 95%.

`scipy.special` is imported where it is needed: that takes longer than to print a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


# With fewer entries, nothing can be said about those that were not drawn: the factor stays fixed.
FEWEST_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Factors:
    """The lexicon entries of items, as whole numbers.

    Attributes:
        names: One name per factor: `subject`, `verb`, ...
        codes: (items, factors), the entry of each item, counted from 0; -1 where an item has none.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, entries: pd.DataFrame) -> Factors:
        """Give every entry of each factor a number.

        Args:
            entries: One row per item, one column per factor; missing where an item has no entry. Without
                columns, items are independent.
        """
        codes = np.empty(entries.shape, np.int64)
        for place, (_, column) in enumerate(entries.items()):
            codes[:, place] = pd.factorize(column)[0]
        return cls(tuple(map(str, entries.columns)), codes)

    @classmethod
    def of_verdicts(cls, verdicts: pd.DataFrame) -> Factors:
        """Read the lexical factors of verdicts from their columns, `verb.entry` and the like.

        Args:
            verdicts: As `tseval.verdicts.judge` gives them; without such a column, items are independent.
        """
        names = [name for name in map(str, verdicts.columns) if name.endswith(ENTRY)]
        return cls.of(verdicts[names].rename(columns=lambda name: name.removesuffix(ENTRY)))

    def take(self, items: NDArray[np.bool_] | NDArray[np.int64]) -> Factors:
        """Keep the items that are chosen, or those at some places."""
        return Factors(self.names, self.codes[items])

    def keep(self, places: list[int]) -> Factors:
        """Keep some factors, by their places."""
        return Factors(tuple(self.names[place] for place in places), self.codes[:, places])

    def levels(self, counted: NDArray[np.bool_]) -> dict[str, int]:
        """Count the entries that each factor has among the items that count; none, and it is left out."""
        counts = (np.count_nonzero(np.bincount(column + 1)[1:]) for column in self.codes[counted].T)
        return {name: int(n) for name, n in zip(self.names, counts, strict=True) if n}


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


# Within ± this lie 95% of a standard normal distribution.
Z = 1.959963984540054


@cache
def quantile(df: float | None) -> float:
    """Give the number within ± of which 95% of a distribution lie.

    Args:
        df: Degrees of freedom of Student's t; None for the normal distribution.
    """
    if df is None:
        return Z
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    # Its last bits depend on the mathematical library; with twelve decimals tables are equal everywhere.
    return round(float(stdtrit(df, 0.975)), 12)


def upper_tail(t: float, df: float) -> float:
    """Give the probability of a larger t, exact far out too."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import

    return float(stdtr(df, -t))


def normal_scores(t: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the values of a standard normal variable that are exceeded as rarely as those of t."""
    from scipy.special import ndtri, stdtr  # noqa: PLC0415 - slow to import

    rare = np.maximum(stdtr(df, -np.abs(t)), np.finfo(np.float64).tiny)
    return np.asarray(np.copysign(ndtri(rare), t))


@dataclass(frozen=True, slots=True)
class Estimate:
    """An accuracy, or a mean of accuracies, and how sure it is.

    Attributes:
        value: The accuracy, or the mean over rows, each counted once.
        se: Its standard error; 0 where all verdicts of each row are alike.
        low: Lower end of its 95% interval.
        high: Upper end.
        df: Degrees of freedom of the quantile; None for the normal one, where items are independent.
        n_items: Number of decidable items.
        n_eff: How many independent items the items are worth.
        clusters: Factors whose entries are regarded as drawn, with their numbers of entries.
        fixed: Factors with too few entries for that.
    """

    value: float
    se: float
    low: float
    high: float
    df: float | None
    n_items: int
    n_eff: float
    clusters: dict[str, int]
    fixed: tuple[str, ...]


def estimate(correct: NDArray[np.bool_], decidable: NDArray[np.bool_], design: Design) -> Estimate | None:
    """Estimate the accuracy of a row, or the mean over rows, each counted once.

    Items are a sample of all that their lexicon could have made: the interval is for accuracy with other
    entries of the same kind. It is Wilson's, for as many items as these are worth, n_eff = p(1 - p) / V,
    with the quantile of t for one less than the smallest factor has entries; never narrower than if items
    were independent. Where all verdicts are alike V is 0, and the items are worth `Design.fewest_words`.

    Args:
        correct: (items,).
        decidable: (items,), which items count.
        design: Rows and entries of the items. A row in which nothing is decidable is left out.

    Returns:
        None where no item is decidable.
    """
    if not decidable.any():
        return None
    among = design.among(decidable)
    means, influence = among.deviations(correct[decidable, None].astype(np.float64))
    p, variance = float(means[0]), float(among.variance(influence)[0])
    independent = float((influence**2).sum(axis=0)[0])
    n_items = len(influence)
    if independent == 0:
        n_eff = among.fewest_words()
    elif variance == independent and among.rows.min() == among.rows.max():
        n_eff = float(n_items)
    else:
        n_eff = p * (1 - p) / variance
    low, high = score_interval(p, n_eff, quantile(among.df))
    return Estimate(p, sqrt(variance), low, high, among.df, n_items, n_eff, among.clusters, among.fixed)


def score_interval(p: float, n: float, quantile: float) -> tuple[float, float]:
    """Give the ends of Wilson's interval of a share, for any number of items and any quantile.

    It holds the shares π from which p lies no further than the quantile times √(π(1 - π)/n).

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA
    22(158); in the order of operations of scipy's `binomtest`, with which it agrees to the last bit.
    `scipy.stats` itself takes longer to import than a table to print.
    """
    scale = 2 * (n + quantile**2)
    centre = (2 * n * p + quantile**2) / scale
    half = quantile / scale * sqrt(4 * n * p * (1 - p) + quantile**2)
    return 0.0 if p == 0 else centre - half, 1.0 if p == 1 else centre + half
