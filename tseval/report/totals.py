"""Totals of a table that is broken down: the mean over its rows for each value of each feature."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.analysis.means import means

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from tseval.analysis.means import Mean


def feature_means(
    rows: pd.DataFrame, accuracy: pd.DataFrame, ranked: pd.DataFrame, by: Sequence[str]
) -> Iterator[Mean]:
    """Average the rows that have one value of a feature, each row counting once, as all means do.

    A feature that has one value only is left out, as its mean is the mean over all rows.

    Args:
        rows: The table's rows, with the features; missing where the items lack one.
        accuracy: One row per table row, one column per model, `Fraction` or None.
        ranked: What models are ranked by, likewise.
        by: The features. With several, the mean for a value of one is over all values of the others.
    """
    for name in by:
        values = rows[name].dropna().sort_values().unique()
        for value in values if len(values) > 1 else ():
            own = rows.index[rows[name] == value]
            *_, whole = means(rows.loc[own], accuracy.loc[own], ranked.loc[own])
            yield replace(whole, over=f"{name} {value}")
