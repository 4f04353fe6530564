"""Confidence intervals for items that share words: lexical factors, designs and clustered estimates.

`scipy.special` is imported only if needed, because the import takes longer than to print a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tseval.items import CONTEXT, ENTRY

# With fewer entries, nothing can be concluded about other entries: the factor is a fixed effect.
FEWEST_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Factors:
    """The lexicon entries of items, as whole numbers.

    `codes` has the entry of each item, counted from 0, (items, factors); -1 if an item has none.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, entries: pd.DataFrame) -> Factors:
        """Assign a number to each entry of every factor, from 0. Without columns, items are independent.

        The frame has a row per item and a column per factor; a value is missing if an item has no entry.
        """
        codes = np.empty(entries.shape, np.int64)
        for place, (_, column) in enumerate(entries.items()):
            codes[:, place] = pd.factorize(column)[0]
        return cls(tuple(map(str, entries.columns)), codes)

    @classmethod
    def of_verdicts(cls, verdicts: pd.DataFrame) -> Factors:
        """Read the lexical factors of verdicts from their columns, such as `verb.entry`."""
        names = [name for name in map(str, verdicts.columns) if name.endswith(ENTRY)]
        return cls.of(verdicts[names].rename(columns=lambda name: name.removesuffix(ENTRY)))

    @classmethod
    def of_paired(cls, runs: Sequence[pd.DataFrame]) -> Factors:
        """Read the lexical factors of runs whose items are paired and have the same words.

        If runs have different contexts, each choice of contexts is a separate factor.
        """
        factors = cls.of_verdicts(runs[0])
        for verdicts in runs[1:]:
            factors = factors.with_contexts(cls.of_verdicts(verdicts))
        return factors

    def with_contexts(self, other: Factors) -> Factors:
        """Add the contexts of another run on the same items, if they differ."""
        if CONTEXT not in other.names:
            return self
        codes = other.codes[:, other.names.index(CONTEXT)]
        places = [place for place, name in enumerate(self.names) if name.partition(" ")[0] == CONTEXT]
        if any(np.array_equal(codes, self.codes[:, place]) for place in places):
            return self
        name = f"{CONTEXT} {len(places) + 1}" if places else CONTEXT
        return Factors((*self.names, name), np.column_stack((self.codes, codes)))

    def take(self, items: NDArray[np.bool_] | NDArray[np.int64]) -> Factors:
        """Keep the items that a mask selects, or those at some places."""
        return Factors(self.names, self.codes[items])

    def keep(self, places: list[int]) -> Factors:
        """Keep some factors, by their places."""
        return Factors(tuple(self.names[place] for place in places), self.codes[:, places])

    def levels(self, counted: NDArray[np.bool_]) -> dict[str, int]:
        """Count the entries of each factor among the items in the mask; leave out factors without entries."""
        counts = (np.count_nonzero(np.bincount(column + 1)[1:]) for column in self.codes[counted].T)
        return {name: int(n) for name, n in zip(self.names, counts, strict=True) if n}


# From two entries on, the verdicts that differ from the others show how verdicts depend on words.
FEWEST_SEEN = 2

# A variance below this part of the mean square is a rounding error: all values of each row are equal.
_ROUNDING = 1e-24

Array = NDArray[np.float64]
Square = Callable[[Array], Array]


def of_columns(values: Array) -> Array:
    """Sum the squares of each column, (items, columns) to (columns,).

    The sum of a column does not depend on the other columns. There is no matrix product, because its last
    bits depend on the processor: so equal verdicts give equal tables on all machines.
    """
    return np.array([(column**2).sum() for column in values.T])


_AT_ONCE = 1 << 14  # items multiplied at once: a weighted copy of all items would take as much memory again


def weighted_products(values: Array, weights: Array) -> Array:
    """Sum the products of every two columns, with a weight for each item, (columns, columns)."""
    products = np.zeros((values.shape[1], values.shape[1]))
    for start in range(0, len(values), _AT_ONCE):
        part, weight = values[start : start + _AT_ONCE], weights[start : start + _AT_ONCE]
        if (weight == weight[0]).all():  # as in one row
            products += weight[0] * (part.T @ part) if weight[0] else 0
        else:
            products += (part * weight[:, None]).T @ part
    return products


def of_pairs(values: Array, weights: Array | None = None) -> Array:
    """Sum the squared differences of every two columns, (items, columns) to (columns, columns)."""
    products = values.T @ values if weights is None else weighted_products(values, weights)
    sizes = np.diag(products)
    return np.maximum(sizes[:, None] + sizes - 2 * products, 0)


def _sum_by(group: NDArray[np.int64], values: Array, items: NDArray[np.int64] | None = None) -> Array:
    """Sum values by group, (items,) to (groups,) or (items, columns) to (groups, columns).

    Each group is summed in the order of its items, so the sums are the same for any number of columns. If
    `items` (places, in order) is given, only these items are summed, and `group` has their groups.
    """
    if values.ndim == 1:
        return np.asarray(np.bincount(group, values if items is None else values[items]), np.float64)
    if values.shape[1] < _MANY:
        return np.stack([_sum_by(group, column, items) for column in values.T], axis=1)
    from scipy.sparse import csc_array  # noqa: PLC0415 - slow to import

    n_groups, n_items = int(group.max()) + 1, len(values)
    counts = np.ones(n_items, np.int64) if items is None else np.bincount(items, minlength=n_items)
    entries = np.ones(len(group)), group, np.concatenate(([0], np.cumsum(counts)))
    return np.asarray(csc_array(entries, shape=(n_groups, n_items)) @ values, np.float64)


_MANY = 8  # columns: below this, one sum per column takes less time than to import scipy.sparse


@dataclass(frozen=True, slots=True)
class Cells:
    """Items grouped by one combination of factors; an item without an entry is alone in its cell.

    Attributes:
        n_factors: The number of factors combined.
        of_item: (items,), the cell of each item, counted from 0.
        shared: The places of the items that are not alone, in order.
        part: The part of each shared item: a part is the items of a cell in one row.
        row: (parts,), the row of each part.
        cell: (parts,), the cell of each part.
        sizes: (parts,), the number of items of each part.
        pull: (parts,), the factor for the distance of a part from the mean of its row. It is the weight of
            its items times 1 / √(1 - w) for a part that is the share w of its row: this corrects for the
            part's influence on that mean.
        alone: For each row with items that are alone: the row, the places of these items (None: all items of
            the row), and the square of their pull.
        lone: (rows,), whether a row has a single cell, and so does not show how cells vary.
        worth: The effective sample size if every cell is wholly right or wholly wrong.
        df: Degrees of freedom of the variance between cells of one factor: G - 1 for G equal cells.
    """

    n_factors: int
    of_item: NDArray[np.int64]
    shared: NDArray[np.int64]
    part: NDArray[np.int64]
    row: NDArray[np.int64]
    cell: NDArray[np.int64]
    sizes: Array
    pull: Array
    alone: tuple[tuple[int, NDArray[np.int64] | None, float], ...]
    lone: NDArray[np.bool_]
    worth: float
    df: float

    @classmethod
    def of(cls, n_factors: int, of_item: NDArray[np.int64], rows: NDArray[np.int64]) -> Cells:
        """Weight the cells.

        Args:
            of_item: (items,), the cell of each item; at least one cell has two items or more.
            rows: (items,), the row of each item, numbered without gaps.
        """
        n_rows = int(rows.max()) + 1
        part, names = (
            pd.factorize(of_item * n_rows + rows)
            if n_rows > 1
            else (of_item, np.arange(int(of_item.max()) + 1))
        )
        sizes = np.bincount(part).astype(np.float64)
        cell, row = np.divmod(names, n_rows)
        items_of_rows = np.bincount(row, sizes)
        of_rows = items_of_rows[row]
        lone = np.bincount(row) == 1
        # Rows with a single cell are compared with each other, as if they were the parts of one row.
        shares = np.where(lone[row], 1 / n_rows, sizes / of_rows)
        scale, weights = 1 / (1 - shares), 1 / (n_rows * of_rows)
        worth = 1 / (np.bincount(cell, weights * sizes) ** 2).sum()
        df = float("inf")
        if n_factors == 1:
            df = _degrees(cell, np.where(lone[row], n_rows, row), scale * weights**2 * sizes, shares)
        pull = weights * np.sqrt(scale)
        # Items that are alone in their cell need no sums.
        single = np.bincount(cell, sizes)[cell] == 1
        shared, alone = np.flatnonzero(~single[part]), []
        for number in np.unique(row[single]):
            places = np.flatnonzero(single[part] & (rows == number))
            square = float(pull[part[places[0]]]) ** 2
            alone.append((int(number), None if len(places) == items_of_rows[number] else places, square))
        new_places = np.cumsum(~single) - 1
        cells = pd.factorize(cell[~single])[0]
        return cls(
            n_factors, of_item, shared, new_places[part[shared]], row[~single], cells, sizes[~single],
            pull[~single], (*alone,), lone, worth, df,
        )  # fmt: skip

    def between(self, values: Array, square: Square, of_rows: Array, within: Array) -> Array:
        """Sum the squared contributions of cells to the mean, (items, columns) to the shape `square` returns.

        Args:
            values: (items, columns).
            square: Sums the squares of columns, or of the differences of columns.
            of_rows: (rows, columns), the means of rows.
            within: (rows, ...), the sum of squared distances of the items of a row from its mean.
        """
        centres = np.where(self.lone[:, None], of_rows.mean(axis=0), of_rows)
        total = square(self._apart(values, centres))
        for row, items, pull in self.alone:
            total += pull * (within[row] if items is None else square(values[items] - centres[row]))
        return total

    def _apart(self, values: Array, centres: Array) -> Array:
        """Return the contribution of each cell to the mean, (items, columns) to (cells, columns)."""
        sums = _sum_by(self.part, values, self.shared)
        sums -= centres[self.row] * self.sizes[:, None]
        sums *= self.pull[:, None]
        # If no cell lies in several rows, cells and parts have the same numbers.
        return sums if self.cell[-1] == len(sums) - 1 else _sum_by(self.cell, sums)


def _degrees(cell: NDArray[np.int64], row: NDArray[np.int64], squares: Array, shares: Array) -> float:
    """Return the degrees of freedom of the sum of squares of cells, as if items were independent.

    The sums of cells then have the covariance K = D - BB', with D diagonal and a column of B for each row;
    the degrees of freedom are (trace K)² / trace K².

    Args:
        cell: (parts,), the cell of each part.
        row: (parts,), the row of each part.
        squares: (parts,), the variance of the part's sum around a known mean.
        shares: (parts,), the part's share of the row: the mean of the row reduces the variance by this share.

    Source: Bell & McCaffrey 2002, "Bias reduction in standard errors for linear regression with multi-stage
    samples", Survey Methodology 28(2), here for several rows.
    """
    sums = np.bincount(cell, squares)
    within = np.zeros((len(sums), int(row.max()) + 1))
    within[cell, row] = np.sqrt(squares * shares)
    shared = (within**2).sum(axis=1)
    total = (sums - shared).sum()
    return max(float(total**2 / (sums @ (sums - 2 * shared) + ((within.T @ within) ** 2).sum())), 1.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of the mean of each column, or of the difference of each pair of columns.

    `independent` is the variance for independent items; `variances` are never smaller.
    """

    variances: Array
    independent: Array
    df: float


def split_by_row(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the places of the items of each row, in order of the rows."""
    return np.split(np.argsort(rows, kind="stable"), np.cumsum(np.bincount(rows))[:-1])


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Design:
    """Items, their rows in a table, and the lexicon entries that they share.

    A statistic over several rows gives each row the same weight. An item that has no entry for a factor is a
    cluster by itself.

    Attributes:
        rows: (items,), the row of each item, counted from 0 without gaps.
        places: The places of the items of each row.
        factors: The lexicon entries of the items.
        clusters: The number of entries of each factor that is a random effect.
        fixed: Factors with too few entries to be random effects (`FEWEST_LEVELS`).
        cells: Items grouped by every combination of random factors in which some items share a cell. Other
            combinations add nothing to the variance of independent items.
    """

    rows: NDArray[np.int64]
    places: tuple[NDArray[np.int64], ...]
    factors: Factors
    clusters: dict[str, int]
    fixed: tuple[str, ...]
    cells: tuple[Cells, ...]

    @classmethod
    def of(cls, factors: Factors, rows: NDArray[np.int64] | None = None) -> Design:
        """Group items by every combination of their factors."""
        n_items = len(factors.codes)
        levels = factors.levels(np.ones(n_items, bool))
        clusters = {name: n for name, n in levels.items() if n >= FEWEST_LEVELS}
        drawn = factors.keep([place for place, name in enumerate(factors.names) if name in clusters])
        rows = np.zeros(n_items, np.int64) if rows is None else rows
        rows = (np.cumsum(np.bincount(rows) > 0) - 1)[rows]
        return cls(
            rows=rows,
            places=(*split_by_row(rows),),
            factors=factors,
            clusters=clusters,
            fixed=tuple(name for name in levels if name not in clusters),
            cells=tuple(Cells.of(n_factors, cells, rows) for n_factors, cells in _combinations(drawn.codes)),
        )

    @property
    def drawn(self) -> NDArray[np.int64]:
        """The codes of the factors that are random effects, (items, factors)."""
        return self.factors.codes[:, [name in self.clusters for name in self.factors.names]]

    def among(self, counted: NDArray[np.bool_]) -> Design:
        """Return the design of the items in the mask; a factor may have too few entries in them."""
        return self if counted.all() else Design.of(self.factors.take(counted), self.rows[counted])

    def weights(self) -> Array:
        """Return a weight for each item: equal within a row, equal sums for all rows, 1 in total."""
        sizes = np.bincount(self.rows)
        return 1 / (len(sizes) * sizes[self.rows])

    def means(self, values: Array) -> Array:
        """Return the mean of each column, with equal weight for each row, (items, columns) to (columns,)."""
        means: Array = self._of_rows(values).mean(axis=0)
        return means

    def _of_rows(self, values: Array) -> Array:
        return _sum_by(self.rows, values) / np.bincount(self.rows)[:, None]

    def spread(self, values: Array, square: Square = of_columns) -> Spread:
        """Estimate the variance of means over these items, for new draws of the lexicon entries.

        With one random factor, the items of an entry vary together. With several, the combinations of
        factors are added and subtracted by inclusion and exclusion:

            V = Σ_A (-1)^(|A|+1) Σ_g (Σ_{i in g} ψ_i / √(1 - w_g))²

        over the non-empty sets A of factors, with cells g. ψ_i is the weight of an item times its distance
        from the mean of its row, and w_g is the share of the cell in the row: for G equal cells, 1 / (1 - w)
        is G / (G - 1). A combination in which each item is alone gives the variance of independent items. A
        row of one item or one cell shows no distance. There the distance from the mean over rows is used,
        which is rather too large. The degrees of freedom are the smallest of all random factors.

        Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", JBES 29(2),
        section 2.3, equation 2.11; for each of its terms, Bell & McCaffrey 2002, "Bias reduction in standard
        errors for linear regression with multi-stage samples", Survey Methodology 28(2), with independent
        items as the working model (CR2). Decision 34 says why.
        """
        of_rows, n_items = self._of_rows(values), np.bincount(self.rows)
        n_rows = len(of_rows)
        within = self._within_rows(values, square, of_rows)
        # A single item has no distance from the mean of its row: the mean over rows is used instead.
        n_compared = np.where(n_items > 1, n_items, n_rows)
        scale = n_compared / np.maximum(n_compared - 1, 1) / n_items
        of_items = within * scale.reshape(-1, *[1] * (within.ndim - 1))
        independent = np.tensordot(1 / (n_rows**2 * n_items), of_items, 1)
        variances = independent.copy()
        for cells in self.cells:
            between = cells.between(values, square, of_rows, within)
            variances += (-1) ** (cells.n_factors + 1) * (between - independent)
        variances = np.maximum(variances, independent)
        variances[variances <= _ROUNDING * square(values) / len(values)] = 0
        n_alone = np.count_nonzero(np.bincount(self.rows) == 1)
        df = max(len(values) - n_rows + n_alone * (1 - 1 / n_rows), 1)
        df = min([df, *(cells.df for cells in self.cells)])
        return Spread(variances, independent, round(df, 9))

    def _within_rows(self, values: Array, square: Square, of_rows: Array) -> Array:
        """Sum the squared distances of the items of each row from its mean, (rows, ...)."""
        centres = np.where((np.bincount(self.rows) == 1)[:, None], of_rows.mean(axis=0), of_rows)
        distances = zip(self.places, centres, strict=True)
        return np.stack([square(values[items] - centre) for items, centre in distances])

    def fewest_words(self) -> float:
        """Return the effective sample size in the worst case: each entry is wholly right or wholly wrong.

        If all verdicts are equal, nothing shows how they depend on words, so this is assumed. It is the
        number of entries of the factor with fewest entries, or less if some entries have more weight than
        others.
        """
        return float(min(worth for _, worth in self.groupings()))

    def unseen(self, values: Array) -> Array:
        """Return the least variance to assume, relative to p(1 - p), if few verdicts differ from the others.

        If the verdicts that differ are one, or all of one entry, nothing shows how verdicts depend on words:
        the worst case is assumed. From two entries with equal parts on, the data show it (`FEWEST_SEEN`). The
        majority is determined row by row. An entry of n items has the weight √n.

        Args:
            values: (items, columns), from 0 to 1 or from -1 to 1.
        """
        rare = np.abs(values - np.rint(self._of_rows(values))[self.rows])
        least: Array = np.zeros(rare.shape[1])
        for of_item, worth in self.groupings():
            if (rare.sum(axis=0) >= FEWEST_SEEN * np.bincount(of_item).max()).all():
                continue  # they are more than two entries have
            sums = _sum_by(of_item, rare) / np.sqrt(np.bincount(of_item))[:, None]
            squares = (sums**2).sum(axis=0)
            n_seen = np.divide(sums.sum(axis=0) ** 2, squares, out=np.ones_like(squares), where=squares > 0)
            least = np.maximum(least, np.clip(FEWEST_SEEN - n_seen, 0, 1) / worth)
        return least

    def groupings(self) -> Iterator[tuple[NDArray[np.int64], float]]:
        """Yield the groupings by item and by each factor: cell of each item, effective sample size."""
        yield np.arange(len(self.rows)), 1 / float((self.weights() ** 2).sum())
        for cells in self.cells:
            if cells.n_factors == 1:
                yield cells.of_item, cells.worth


def _combinations(codes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each combination of factors in which some items share a cell: number of factors, cells."""

    def extend(
        n_factors: int, cells: NDArray[np.int64], first: int
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        for place in range(first, codes.shape[1]):
            lone = codes[:, place] < 0
            column = np.where(lone, codes[:, place].max() + np.cumsum(lone), codes[:, place])
            joined, names = pd.factorize(cells * (column.max() + 1) + column)
            if len(names) < len(codes):
                yield n_factors + 1, joined
                yield from extend(n_factors + 1, joined, place + 1)

    yield from extend(0, np.zeros(len(codes), np.int64), 0)
