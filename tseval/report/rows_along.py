"""Panels of the accuracy of each table row, along a training or a length of context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.layout import row_labels
from tseval.report.panels import SHARES, Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from tseval.analysis.comparisons import RowsAndMeans

LONGEST_TITLE = 45  # characters above a small panel


def row_panels(
    named: Sequence[tuple[str, RowsAndMeans[int]]], axis: Axis, *, mean_first: bool = False
) -> list[Panel]:
    """Return a panel for each row of the table, and one for the mean if there are several rows.

    Args:
        named: The name of each line, and its accuracies by step or length.
        axis: The x-axis: steps or lengths.
        mean_first: Whether the mean is the first panel; by default it is the last one.
    """
    first = named[0][1]
    titles = list(zip(row_labels(first.rows), map(str, first.rows["phenomenon"]), strict=True))
    series = [_lines([(name, table.of_rows) for name, table in named], index) for index in range(len(titles))]
    if len(titles) > 1:
        place = 0 if mean_first else len(titles)
        titles.insert(place, (f"All {len(titles)} rows", "mean, each row counted once"))
        means = [(name, table.of_means) for name, table in named]
        series.insert(place, _lines(means, len(first.means) - 1))
    axes = axis, Axis("accuracy", SHARES)
    return [
        Panel(title[:LONGEST_TITLE], lines, *axes, subtitle=subtitle[:LONGEST_TITLE])
        for (title, subtitle), lines in zip(titles, series, strict=True)
    ]


def _lines(named: Sequence[tuple[str, Mapping[int, pd.DataFrame]]], number: int) -> list[Series]:
    lines = []
    for index, (name, measured) in enumerate(named):
        columns = (
            [float(frame[column].astype("float64").iloc[number]) for frame in measured.values()]
            for column in ("accuracy", "low", "high")
        )
        lines.append(Series(index, name, list(measured), *columns))
    return lines
