"""Ranks of models over the rows of a table, in exact arithmetic.

The digits printed under a table are cut, so a mean must not be off by a rounding error: accuracies
and means are fractions of whole numbers throughout.
"""

from __future__ import annotations

from fractions import Fraction

import pandas as pd


def rank_rows(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Rank the models in each row: standard competition ranking, 1 is best.

    Equal accuracies share the smallest rank, and the rank after them is skipped (1, 2, 2, 4).
    A model without a value is None and so is not counted among those that are better.

    Args:
        accuracy: One row per table row, one column per model, `Fraction` or None.

    Returns:
        A frame of the same shape, whole numbers as `Fraction`.
    """
    ranks = [_rank(list(row)) for row in accuracy.itertuples(index=False, name=None)]
    return pd.DataFrame(ranks, index=accuracy.index, columns=accuracy.columns, dtype=object)


def _rank(values: list[Fraction | None]) -> list[Fraction | None]:
    present = [value for value in values if value is not None]
    return [None if v is None else Fraction(1 + sum(other > v for other in present)) for v in values]


def mean(values: pd.DataFrame) -> list[Fraction | None]:
    """Average each column exactly and unweighted, None where a value is missing or there are no rows."""
    columns = (list(values[name]) for name in values.columns)
    return [
        None
        if not column or any(value is None for value in column)
        else sum(column, Fraction(0)) / len(column)
        for column in columns
    ]


def cut(value: Fraction, decimals: int) -> Fraction:
    """Cut a number to some decimals without rounding, as the published values are: 0.979 to 0.97."""
    scale = 10**decimals
    return Fraction(value.numerator * scale // value.denominator, scale)
