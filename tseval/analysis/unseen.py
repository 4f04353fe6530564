"""The variance that entries outside the sample may add to a difference of two models that hardly differ.

If two models have the same verdicts on all items, nothing shows how they differ on other words. Then an entry
is assumed to be wholly right for one model and wholly wrong for the other, or the same for both. Entries
are assumed to differ as often as possible: P(n) is Wilson's upper end if none of n entries differs.

    V = P(n) / n',    n = 1 / Σ_g (Σ_r w_gr)²,    n' = 1 / Σ_g Σ_r w_gr²

V is taken for the factor that gives the largest value; w_gr is the weight of entry g in row r. All rows that
share entries show how often entries differ, so P uses n. But an entry may differ in one row and not in
another, so the variance uses n'. In a single row both are equal. So a mean over rows combines the hidden
variances of its rows, and is more precise than each of them.

Every verdict that differs makes it less likely that such entries were missed: with m of them, the standard
error is divided by m. But the verdicts of one entry count as one. So the remaining part of the variance is

    max(1/m², 2 - k)    limited to 0 and 1

for k entries that differ. If their parts are unequal, k is smaller; it is at most n times their weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import FEWEST_SEEN, of_pairs
from tseval.analysis.intervals import quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.analysis.design import Array, Design

# A mean of squares below this value is a rounding error of equal numbers.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Hidden:
    """The entries of one factor, or single items.

    Attributes:
        of_item: The entry of each item, counted from 0, (items,).
        worth: The effective number of entries, n.
        apart: The same if an entry counts once for each row, n'.
        df: Degrees of freedom: for one row, those of its variance; for several, Satterthwaite's over all
            rows.
    """

    of_item: NDArray[np.int64]
    worth: float
    apart: float
    df: float

    @classmethod
    def of(cls, design: Design, of_item: NDArray[np.int64], worth: float, df: float) -> Hidden:
        """Compute the weights of entries; `df` belongs to the variance of the design."""
        sizes = np.bincount(design.rows)
        n_rows = len(sizes)
        cells, counts = np.unique(of_item * n_rows + design.rows, return_counts=True)
        rows = cells % n_rows
        squares = np.bincount(rows, (counts / sizes[rows]) ** 2, n_rows)  # 1 / entries of each row
        apart = n_rows**2 / squares.sum()
        if n_rows > 1:
            of_rows = np.maximum(1 / squares - 1, 1)
            df = max(df, float(squares.sum() ** 2 / (squares**2 / of_rows).sum()))
        return cls(of_item, worth, float(apart), df)

    def variances(self, often: Array) -> Array:
        """Return the variance of differences if entries showed no differences, (models, models).

        `often` is the share of verdicts that differ; P is Wilson's upper end for this share.
        """
        n, score = self.worth, quantile(self.df) ** 2
        margin = np.sqrt(score / n * (often * (1 - often) + score / n / 4))
        return (often + score / n / 2 + margin) / (1 + score / n) / self.apart

    def left(self, values: Array, weights: Array) -> Array:
        """Return the part of these variances that remains after the observed differences, (models, models).

        `weights` are the weights of the items, (items,).
        """
        n_verdicts, n_entries = self._seen(values, weights)
        return np.maximum(1 / np.maximum(n_verdicts, 1) ** 2, np.clip(FEWEST_SEEN - n_entries, 0, 1))

    def _seen(self, values: Array, weights: Array) -> tuple[Array, Array]:
        """Count the verdicts and the entries on which two models differ, (models, models) each.

        If the models differ equally on several entries, each of them counts as one. An entry of n items has
        the weight √n, and all together count at most by their weight. If models differ on most items of a
        single row, the items on which they agree are counted instead.
        """
        sizes = np.bincount(self.of_item)
        lone = sizes[self.of_item] == 1
        n_verdicts = of_pairs(values)
        most = (n_verdicts > len(values) / 2) & (self.worth == self.apart)
        total = _turned(of_pairs(values, lone.astype(np.float64)), most, int(lone.sum()))
        heavy = of_pairs(values, weights * lone)
        weight = _turned(heavy, most, weights[lone].sum())
        squares = total.copy()
        for items in self._cells(sizes):
            part = _turned(of_pairs(values[items]), most, len(items)) / np.sqrt(len(items))
            part[part < ROUNDING] = 0
            total += part
            squares += part**2
            weight += weights[items].sum() * (part > 0)
        n_entries = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > ROUNDING)
        return _turned(n_verdicts, most, len(values)), np.minimum(n_entries, self.worth * weight)

    def _cells(self, sizes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield the places of the items of each entry with several items."""
        order = np.argsort(self.of_item, kind="stable")
        ends = np.cumsum(sizes)
        for entry in np.flatnonzero(sizes > 1):
            yield order[ends[entry] - sizes[entry] : ends[entry]]


def _turned(found: Array, most: NDArray[np.bool_], of_all: float) -> Array:
    """Count the rest instead of `found` if `most` is true."""
    return np.where(most, of_all - found, found)


def hidden_variances(
    values: Array, variances: Array, often: Array, design: Design, df: float
) -> tuple[Array, Array]:
    """Return the least variance of each difference, and its degrees of freedom, (models, models) each.

    Args:
        values: (items, models), 0 or 1 for what a model gets right, or the share of its seeds that do.
        variances: (models, models), the observed variances of differences.
        often: (models, models), the share of verdicts that differ, with equal weight for each row.
        design: Items, rows, entries.
        df: Degrees of freedom of the variances.
    """
    least, degrees = np.zeros_like(variances), np.full_like(variances, df)
    constant = variances < 1e-20  # also if seeds give all items the same mean, such as 1/2
    for of_item, worth in design.groupings():
        hidden = Hidden.of(design, of_item, worth, df)
        of_factor = hidden.variances(often)
        if (of_factor > np.maximum(variances, least)).any():
            of_factor = of_factor * np.where(constant, 1.0, hidden.left(values, design.weights()))
            degrees = np.where(of_factor > least, hidden.df, degrees)
            least = np.maximum(least, of_factor)
    return least, degrees
