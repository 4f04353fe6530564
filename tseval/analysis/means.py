"""Means over the rows of a table: by dependency, by phenomenon, and over all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.analysis.ranks import mean, rank_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import pandas as pd

    from tseval.analysis.inference.estimates import Estimate

SECTIONS = {"short": "Short-range dependency", "long": "Long-range dependency"}


@dataclass(frozen=True, slots=True)
class Mean:
    """The unweighted mean accuracy and rank of every model over a set of rows.

    Attributes:
        over: `Short-range dependency`, `Reflexive anaphora`, ..., or `All rows`.
        rows: The places of the rows that are averaged.
        accuracy: One value per model, None for a model that lacks one of them.
        rank: Mean arithmetic rank, likewise.
        estimates: How sure the mean accuracies are; None where that is not known.
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
    """Average accuracies and ranks over sets of rows, each row counting once whatever its size.

    A model that lacks a row has no mean over a set that holds it, and takes it from no other model: these
    are averaged over all rows of the set. A division with a single set (one phenomenon, say) is left out, as
    its mean is the mean over all rows; the last mean is over all rows.

    Args:
        rows: The table's rows, with `dependency` and `phenomenon`.
        accuracy: One row per table row, one column per model, `Fraction` or None.
        ranked: What models are ranked by, likewise; None where that is accuracy.
    """
    ranks = rank_rows(accuracy if ranked is None else ranked)
    return tuple(
        Mean(over, tuple(places), tuple(mean(accuracy.loc[places])), tuple(mean(ranks.loc[places])))
        for over, places in row_sets(rows)
    )


def row_sets(rows: pd.DataFrame) -> Iterator[tuple[str, list[int]]]:
    """Give the sets of rows that a table has means over, each with its name and the places of its rows.

    Args:
        rows: The table's rows, with `dependency` and `phenomenon`.
    """
    for name, title in (("dependency", SECTIONS), ("phenomenon", {})):
        values = list(rows[name].dropna().unique())
        if len(values) > 1:
            for value in values:
                yield title.get(value, str(value)), [*rows.index[rows[name] == value]]
    yield "All rows", [*rows.index]
