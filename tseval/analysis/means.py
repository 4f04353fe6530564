"""Means and ranks over the rows of a table, computed exactly, so that truncated digits are right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.rows import row_sets

if TYPE_CHECKING:
    from tseval.analysis.estimates import Estimate


def rank_rows(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Rank the models, which are columns, in each row: standard competition ranking, 1 is best.

    Models with equal accuracies share the smallest rank, and the next ranks are skipped (1, 2, 2, 4). A model
    without a value gets None and does not affect the ranks of others.
    """
    ranks = [_rank(list(row)) for row in accuracy.itertuples(index=False, name=None)]
    return pd.DataFrame(ranks, index=accuracy.index, columns=accuracy.columns, dtype=object)


def _rank(values: list[Fraction | None]) -> list[Fraction | None]:
    present = [value for value in values if value is not None]
    return [None if v is None else Fraction(1 + sum(other > v for other in present)) for v in values]


def mean(values: pd.DataFrame) -> list[Fraction | None]:
    """Average each column exactly and unweighted; None if a value is missing or there are no rows."""
    columns = [[value for value in values[name] if value is not None] for name in values.columns]
    return [
        sum(column, Fraction(0)) / len(column) if column and len(column) == len(values) else None
        for column in columns
    ]


def cut(value: Fraction, decimals: int) -> Fraction:
    """Truncate a number to some decimals, as the published values are: 0.979 to 0.97."""
    scale = 10**decimals
    return Fraction(value.numerator * scale // value.denominator, scale)


@dataclass(frozen=True, slots=True)
class Mean:
    """The unweighted mean accuracy and rank of every model over a set of rows, given by row number.

    A model without a value in one of the rows has None; `estimates` have the intervals of mean accuracies.
    """

    over: str
    rows: tuple[int, ...]
    accuracy: tuple[Fraction | None, ...]
    rank: tuple[Fraction | None, ...]
    estimates: tuple[Estimate | None, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows averaged."""
        return len(self.rows)


def means(rows: pd.DataFrame, accuracy: pd.DataFrame, ranked: pd.DataFrame | None = None) -> tuple[Mean, ...]:
    """Average accuracies and ranks over sets of rows; each row counts once, for any number of items.

    If a model (a column) lacks a row, it has no mean over the sets that contain the row; the means of other
    models do not change. A division with a single set, such as one phenomenon, is left out, because its mean
    is the mean over all rows. The last mean is over all rows. Ranks are by accuracy, unless `ranked` is
    given.
    """
    ranks = rank_rows(accuracy if ranked is None else ranked)
    return tuple(
        Mean(over, tuple(places), tuple(mean(accuracy.loc[places])), tuple(mean(ranks.loc[places])))
        for over, places in row_sets(rows)
    )
