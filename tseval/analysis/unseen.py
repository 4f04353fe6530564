"""What entries that were not drawn may do to a difference of two models that hardly differ.

Where two models have the same verdicts on all items, nothing shows how they differ on other words. Then it
is assumed that an entry is wholly right for one model and wholly wrong for the other, or the same for both,
and that entries differ as often as they may by Wilson's upper end P for none of n:

    V = P(n) / n',    n = 1 / Σ_g (Σ_r w_gr)²,    n' = 1 / Σ_g Σ_r w_gr²

for the factor that gives most, with w_gr the weight of entry g in row r. How often entries differ is known
from all rows that share them, n; whether one differs is another question in each row, n'. In a single row
both are the same. So a mean over rows combines what its rows may hide, and is surer than each of them.

Every verdict that differs makes it less likely that such entries were missed: of m that differ the standard
error is the m-th part. But those of one entry say no more than one does. So what is left of the variance is

    max(1/m², 2 - k)    within 0 and 1

for k entries that differ: of equal parts, else less, and no more than their weight is of n.
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

# Below this, a mean of squares is what rounding leaves of equal numbers.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Hidden:
    """The entries of one factor, or single items.

    Attributes:
        of_item: The entry of each item, counted from 0, (items,).
        worth: How many entries of equal weight these are, n.
        apart: The same where an entry counts once for each row, n'.
        df: Degrees of freedom: of one row those of its variance; of several Satterthwaite's, of all rows.
    """

    of_item: NDArray[np.int64]
    worth: float
    apart: float
    df: float

    @classmethod
    def of(cls, design: Design, of_item: NDArray[np.int64], worth: float, df: float) -> Hidden:
        """Weigh entries; `df` is that of the variance of the design."""
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
        """Return the variance of differences if nothing was seen of entries, (models, models).

        `often` says how often verdicts differ; P is Wilson's upper end for that.
        """
        n, score = self.worth, quantile(self.df) ** 2
        margin = np.sqrt(score / n * (often * (1 - often) + score / n / 4))
        return (often + score / n / 2 + margin) / (1 + score / n) / self.apart

    def left(self, values: Array, weights: Array) -> Array:
        """Say which part of these variances is left after what was seen, (models, models).

        `weights` are those of the items, (items,).
        """
        n_verdicts, n_entries = self._seen(values, weights)
        return np.maximum(1 / np.maximum(n_verdicts, 1) ** 2, np.clip(FEWEST_SEEN - n_entries, 0, 1))

    def _seen(self, values: Array, weights: Array) -> tuple[Array, Array]:
        """Count the verdicts and the entries on which two models differ, (models, models) each.

        Entries on which they differ by equal parts count as one each, an entry of n items as sure as √n, and
        all of them for no more than their weight. In a single row of which models differ on most items,
        those count on which they do not.
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
        """Yield the places of the items of each entry that has several."""
        order = np.argsort(self.of_item, kind="stable")
        ends = np.cumsum(sizes)
        for entry in np.flatnonzero(sizes > 1):
            yield order[ends[entry] - sizes[entry] : ends[entry]]


def _turned(found: Array, most: NDArray[np.bool_], of_all: float) -> Array:
    """Count what is left where most were found."""
    return np.where(most, of_all - found, found)


def hidden_variances(
    values: Array, variances: Array, often: Array, design: Design, df: float
) -> tuple[Array, Array]:
    """Return the least variance of each difference, and its degrees of freedom, (models, models) each.

    Args:
        values: (items, models), what each model gets right, or in which share of its seeds.
        variances: (models, models), what was seen of differences.
        often: (models, models), how often verdicts differ, rows weighing alike.
        design: Items, rows, entries.
        df: Degrees of freedom of the variances.
    """
    least, degrees = np.zeros_like(variances), np.full_like(variances, df)
    constant = variances < 1e-20  # also where seeds share each item alike: means of 1/2 on all
    for of_item, worth in design.groupings():
        hidden = Hidden.of(design, of_item, worth, df)
        of_factor = hidden.variances(often)
        if (of_factor > np.maximum(variances, least)).any():
            of_factor = of_factor * np.where(constant, 1.0, hidden.left(values, design.weights()))
            degrees = np.where(of_factor > least, hidden.df, degrees)
            least = np.maximum(least, of_factor)
    return least, degrees
