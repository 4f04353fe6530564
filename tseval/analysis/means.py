"""Means over the rows of a table: by dependency, by phenomenon, and over all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.analysis.ranks import complete_rows, mean, rank_rows

if TYPE_CHECKING:
    from fractions import Fraction

    import pandas as pd

SECTIONS = {"short": "Short-range dependency", "long": "Long-range dependency"}


@dataclass(frozen=True, slots=True)
class Mean:
    """The unweighted mean accuracy and rank of every model over a set of rows.

    Attributes:
        over: `Short-range dependency`, `Reflexive anaphora`, ..., or `All rows`.
        n_rows: Number of rows averaged.
        accuracy: One value per model, None without rows.
        rank: Mean arithmetic rank, one value per model, None without rows.
    """

    over: str
    n_rows: int
    accuracy: tuple[Fraction | None, ...]
    rank: tuple[Fraction | None, ...]


def means(rows: pd.DataFrame, accuracy: pd.DataFrame) -> tuple[Mean, ...]:
    """Average accuracies and ranks over sets of rows, each row counting once whatever its size.

    Only rows that every model has take part. A division with a single set (one phenomenon, say)
    is left out, as its mean is the mean over all rows; the last mean is over all rows.

    Args:
        rows: The table's rows, with `dependency` and `phenomenon`.
        accuracy: One row per table row, one column per model, `Fraction` or None.
    """
    accuracy = complete_rows(accuracy)
    ranks, rows = rank_rows(accuracy), rows.loc[accuracy.index]
    sets = []
    for name, title in (("dependency", SECTIONS), ("phenomenon", {})):
        values = list(rows[name].dropna().unique())
        if len(values) > 1:
            sets += [(title.get(value, str(value)), rows.index[rows[name] == value]) for value in values]
    sets.append(("All rows", rows.index))
    return tuple(
        Mean(over, len(index), tuple(mean(accuracy.loc[index])), tuple(mean(ranks.loc[index])))
        for over, index in sets
    )
