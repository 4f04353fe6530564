"""How sure a number is where items share words: lexical factors, designs, clustered estimates.

`scipy.special` is imported where it is needed: that takes longer than to print a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tseval.items import CONTEXT, ENTRY

# With fewer entries, nothing can be said about those that were not drawn: the factor stays fixed.
FEWEST_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Factors:
    """The lexicon entries of items, as whole numbers.

    `codes` has the entry of each item, counted from 0, (items, factors); -1 where an item has none.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, entries: pd.DataFrame) -> Factors:
        """Return every entry of each factor a number; without columns, items are independent.

        The frame has a row per item and a column per factor; missing where an item has no entry.
        """
        codes = np.empty(entries.shape, np.int64)
        for place, (_, column) in enumerate(entries.items()):
            codes[:, place] = pd.factorize(column)[0]
        return cls(tuple(map(str, entries.columns)), codes)

    @classmethod
    def of_verdicts(cls, verdicts: pd.DataFrame) -> Factors:
        """Read the lexical factors of verdicts from their columns, `verb.entry` and the like."""
        names = [name for name in map(str, verdicts.columns) if name.endswith(ENTRY)]
        return cls.of(verdicts[names].rename(columns=lambda name: name.removesuffix(ENTRY)))

    @classmethod
    def of_paired(cls, runs: Sequence[pd.DataFrame]) -> Factors:
        """Read the lexical factors of runs whose items are paired, which have the same words.

        Their contexts may be other ones: then each choice of contexts is a factor of its own.
        """
        factors = cls.of_verdicts(runs[0])
        for verdicts in runs[1:]:
            factors = factors.with_contexts(cls.of_verdicts(verdicts))
        return factors

    def with_contexts(self, other: Factors) -> Factors:
        """Add the contexts of another run over the same items, if they are other ones."""
        if CONTEXT not in other.names:
            return self
        codes = other.codes[:, other.names.index(CONTEXT)]
        known = [at for at, name in enumerate(self.names) if name.partition(" ")[0] == CONTEXT]
        if any(np.array_equal(codes, self.codes[:, at]) for at in known):
            return self
        name = f"{CONTEXT} {len(known) + 1}" if known else CONTEXT
        return Factors((*self.names, name), np.column_stack((self.codes, codes)))

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


# Verdicts that differ from the others say how they depend on words from two entries on.
FEWEST_SEEN = 2

# Of the mean square; below it, a variance is what is left by rounding where all values of each row are alike.
_ROUNDING = 1e-24

Array = NDArray[np.float64]
Square = Callable[[Array], Array]


def of_columns(values: Array) -> Array:
    """Add up squares, (items, columns) to (columns,); a column gives the same alone and among others.

    Without a matrix product, whose last bits depend on the processor: tables of equal verdicts are equal
    everywhere.
    """
    return np.array([(column**2).sum() for column in values.T])


_AT_ONCE = 1 << 14  # items that are multiplied at once: weighted copies of all are as large as all values


def weighted_products(values: Array, weights: Array) -> Array:
    """Add up the products of any two columns, each item by its weight, (columns, columns)."""
    products = np.zeros((values.shape[1], values.shape[1]))
    for start in range(0, len(values), _AT_ONCE):
        part, weight = values[start : start + _AT_ONCE], weights[start : start + _AT_ONCE]
        if (weight == weight[0]).all():  # as in one row
            products += weight[0] * (part.T @ part) if weight[0] else 0
        else:
            products += (part * weight[:, None]).T @ part
    return products


def of_pairs(values: Array, weights: Array | None = None) -> Array:
    """Add up the squares of the differences of any two columns, (items, columns) to (columns, columns)."""
    products = values.T @ values if weights is None else weighted_products(values, weights)
    sizes = np.diag(products)
    return np.maximum(sizes[:, None] + sizes - 2 * products, 0)


def _sum_by(group: NDArray[np.int64], values: Array, items: NDArray[np.int64] | None = None) -> Array:
    """Add up values by group, (items,) to (groups,) or (items, columns) to (groups, columns).

    Each group is added up in the order of its items: the sums are the same for any number of columns. With
    `items`, their places, in order, only these are added up, and `group` is theirs.
    """
    if values.ndim == 1:
        return np.asarray(np.bincount(group, values if items is None else values[items]), np.float64)
    if values.shape[1] < _MANY:
        return np.stack([_sum_by(group, column, items) for column in values.T], axis=1)
    from scipy.sparse import csc_array  # noqa: PLC0415 - slow to import

    n_groups, n_items = int(group.max()) + 1, len(values)
    counted = np.ones(n_items, np.int64) if items is None else np.bincount(items, minlength=n_items)
    where = np.ones(len(group)), group, np.concatenate(([0], np.cumsum(counted)))
    return np.asarray(csc_array(where, shape=(n_groups, n_items)) @ values, np.float64)


_MANY = 8  # columns: for fewer, to sum each by itself takes less than to import what sums all together


@dataclass(frozen=True, slots=True)
class Cells:
    """Items grouped by one combination of factors; an item without an entry is alone in its cell.

    Attributes:
        of_item: (items,), the cell of each item, counted from 0.
        shared: The places of the items that are not alone, in order.
        part: The part of each of these: a cell within its row.
        row: (parts,), the row of each part; so are its cell and its size.
        pull: (parts,), by which the distance of a part counts: the weight of its items, times what makes up
            for taking the mean of a row from the row itself, 1 / √(1 - w) for a part that is w of it.
        alone: Rows with items that are alone: the row, the places of these items (None: all of the row),
            and the square of their pull.
        lone: (rows,), whether a row has a single cell, and so shows nothing of how cells vary.
        worth: How many items these are worth if every cell is wholly right or wholly wrong.
        df: Degrees of freedom of how cells of one factor vary: of G that are even, G - 1.
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
        """Weigh cells.

        Args:
            of_item: (items,), the cell of each item; some cell has two items or more.
            rows: (items,), the row of each item, without gaps.
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
        # Rows of a single cell are as one row together, of which each is a part.
        shares = np.where(lone[row], 1 / n_rows, sizes / of_rows)
        scale, weights = 1 / (1 - shares), 1 / (n_rows * of_rows)
        worth = 1 / (np.bincount(cell, weights * sizes) ** 2).sum()
        df = float("inf")
        if n_factors == 1:
            df = _degrees(cell, np.where(lone[row], n_rows, row), scale * weights**2 * sizes, shares)
        pull = weights * np.sqrt(scale)
        # What an item does that is alone in its cell is known without any sums.
        single = np.bincount(cell, sizes)[cell] == 1
        shared, alone = np.flatnonzero(~single[part]), []
        for at in np.unique(row[single]):
            places = np.flatnonzero(single[part] & (rows == at))
            square = float(pull[part[places[0]]]) ** 2
            alone.append((int(at), None if len(places) == items_of_rows[at] else places, square))
        kept = np.cumsum(~single) - 1
        cells = pd.factorize(cell[~single])[0]
        return cls(
            n_factors, of_item, shared, kept[part[shared]], row[~single], cells, sizes[~single],
            pull[~single], (*alone,), lone, worth, df,
        )  # fmt: skip

    def between(self, values: Array, square: Square, of_rows: Array, within: Array) -> Array:
        """Add up the squares of how far each cell draws the mean, (items, columns) to what `square` gives.

        Args:
            values: (items, columns).
            square: Adds up the squares of columns, or of their differences.
            of_rows: (rows, columns), the means of rows.
            within: (rows, ...), the squares of how far each item of a row is from its mean, added up.
        """
        centres = np.where(self.lone[:, None], of_rows.mean(axis=0), of_rows)
        total = square(self._apart(values, centres))
        for row, items, pull in self.alone:
            total += pull * (within[row] if items is None else square(values[items] - centres[row]))
        return total

    def _apart(self, values: Array, centres: Array) -> Array:
        """Say how far each cell draws the mean of each column, (items, columns) to (cells, columns)."""
        sums = _sum_by(self.part, values, self.shared)
        sums -= centres[self.row] * self.sizes[:, None]
        sums *= self.pull[:, None]
        # Where no cell lies in several rows, cells are numbered as their parts are.
        return sums if self.cell[-1] == len(sums) - 1 else _sum_by(self.cell, sums)


def _degrees(cell: NDArray[np.int64], row: NDArray[np.int64], squares: Array, shares: Array) -> float:
    """Return the degrees of freedom of the sum of squares of cells, as if items were independent.

    The sums of cells then have the covariance K = D - BB', with D diagonal and a column of B for each row;
    the degrees of freedom are (trace K)² / trace K².

    Args:
        squares: (parts,), the variance of its sum, if it were not taken from the mean of its row.
        shares: (parts,), its share of the row, by which that is smaller.

    Source: Bell & McCaffrey 2002, "Bias reduction in standard errors for linear regression with multi-stage
    samples", Survey Methodology 28(2), here for several rows.
    """
    apart = np.bincount(cell, squares)
    within = np.zeros((len(apart), int(row.max()) + 1))
    within[cell, row] = np.sqrt(squares * shares)
    lost = (within**2).sum(axis=1)
    total = (apart - lost).sum()
    return max(float(total**2 / (apart @ (apart - 2 * lost) + ((within.T @ within) ** 2).sum())), 1.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """How sure means are, for each column or each pair of columns.

    `independent` is what variances would be if items were independent; they are never less.
    """

    variances: Array
    independent: Array
    df: float


def split_by_row(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the places of the items of each row, in order of the rows."""
    return np.split(np.argsort(rows, kind="stable"), np.cumsum(np.bincount(rows))[:-1])


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Design:
    """Items, the rows of a table that they stand in, and the lexicon entries that they share.

    `rows` counts from 0 without gaps, (items,), and `places` are those of the items of each; a statistic over
    several rows weighs each row alike. An item that has no entry for a factor is its own cluster. `fixed` are
    factors that have too few entries to be regarded as drawn (`FEWEST_LEVELS`); `cells` group items by every
    combination of the others in which some share a cell: the rest adds nothing to the variance of independent
    items.
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
        """The codes of the factors that are drawn, (items, factors)."""
        return self.factors.codes[:, [name in self.clusters for name in self.factors.names]]

    def among(self, counted: NDArray[np.bool_]) -> Design:
        """Return the design of the items that count; a factor may have too few entries in them."""
        return self if counted.all() else Design.of(self.factors.take(counted), self.rows[counted])

    def weights(self) -> Array:
        """Weigh the items of each row alike, and the rows alike; the weights add up to 1."""
        sizes = np.bincount(self.rows)
        return 1 / (len(sizes) * sizes[self.rows])

    def means(self, values: Array) -> Array:
        """Return the mean of each column, all rows weighing alike, (items, columns) to (columns,)."""
        means: Array = self._of_rows(values).mean(axis=0)
        return means

    def _of_rows(self, values: Array) -> Array:
        return _sum_by(self.rows, values) / np.bincount(self.rows)[:, None]

    def spread(self, values: Array, square: Square = of_columns) -> Spread:
        """Estimate the variance of means over these items, entries drawn anew.

        With one factor that is drawn, the items of an entry move together; with several, the combinations of
        factors are added and subtracted in turn, as sets are when their union is counted:

            V = Σ_A (-1)^(|A|+1) Σ_g (Σ_{i in g} ψ_i / √(1 - w_g))²

        over the non-empty sets A of factors, with cells g. ψ_i is the weight of an item times its distance
        from the mean of its row, and w_g the share that a cell has of the row: of G cells that are even,
        1 / (1 - w) is G / (G - 1). A combination that leaves each item alone is the variance of independent
        items. A row of one item or one cell shows no distance: there it is taken from the mean over rows,
        which is rather too large. The degrees of freedom are those of the factor that has fewest.

        Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", JBES 29(2),
        section 2.3, equation 2.11; for each of its terms, Bell & McCaffrey 2002, "Bias reduction in standard
        errors for linear regression with multi-stage samples", Survey Methodology 28(2), with independent
        items as the working model (CR2). Decision 34 says why.
        """
        of_rows, n_items = self._of_rows(values), np.bincount(self.rows)
        n_rows = len(of_rows)
        within = self._within_rows(values, square, of_rows)
        # One item shows no distance from the mean of its row: there it is taken from the mean over rows.
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
        """Add up the squares of how far the items of each row are from its mean, (rows, ...)."""
        centres = np.where((np.bincount(self.rows) == 1)[:, None], of_rows.mean(axis=0), of_rows)
        distances = zip(self.places, centres, strict=True)
        return np.stack([square(values[items] - centre) for items, centre in distances])

    def fewest_words(self) -> float:
        """Say how many items these are worth at worst: if each entry were wholly right or wholly wrong.

        Where all verdicts are alike nothing shows how they depend on words, so this is what is assumed. It is
        the number of entries of the factor with fewest, less where some entries have more weight than others.
        """
        return float(min(worth for _, worth in self.groupings()))

    def unseen(self, values: Array) -> Array:
        """Say how much of the worst is left to assume where few verdicts differ from all others.

        With one of them, or with all of one entry, nothing shows how they depend on words, as if there were
        none; from two entries on, of equal parts, they do (`FEWEST_SEEN`). What most are is seen row by row,
        and an entry of n items is as sure as √n.

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
        """Group items by themselves, and by each factor: the cell of each item, and what cells are worth."""
        yield np.arange(len(self.rows)), 1 / float((self.weights() ** 2).sum())
        for cells in self.cells:
            if cells.n_factors == 1:
                yield cells.of_item, cells.worth


def _combinations(codes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Group items by all combinations of factors in which some share a cell: how many factors, cells."""

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
