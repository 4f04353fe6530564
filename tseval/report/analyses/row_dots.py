"""Dot plots of the accuracies of table rows, with intervals and single seeds."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.comparisons import SEED_COLUMNS
from tseval.analysis.rows import ROW
from tseval.report.analyses.seeds import seeds_table
from tseval.report.layout import row_labels
from tseval.report.panels import Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.document import Document
    from tseval.report.opened import RunSet

RANGES = {"short": "short-range", "long": "long-range"}


def row_panels(
    opened: RunSet, analysis: Document, groups: Mapping[str, Sequence[str]], by: Sequence[str] = ()
) -> list[Panel]:
    """Return a panel for each phenomenon of a table, with a line for each of its rows.

    Args:
        opened: The runs of the table.
        analysis: The table from `seeds_table`.
        groups: The runs of each model of the table. If there are several, they are seeds, drawn as points.
        by: Features that split the rows of the table.
    """
    frames = _rows_by_model(analysis)
    first = next(iter(frames.values()))
    seeds = [seed for names in groups.values() if len(names) > 1 for seed in names]
    of_seeds = _rows_by_model(seeds_table(opened, {seed: [seed] for seed in seeds}, by)) if seeds else {}
    heads = list(first.columns[first.columns.get_loc(ROW[0]) : first.columns.get_loc(SEED_COLUMNS[0])])
    labels = row_labels(first[heads])
    panels = []
    places = zip(first[ROW[0]], first[ROW[1]], range(len(first)), strict=True)
    for (dependency, phenomenon), of_group in groupby(places, lambda place: place[:2]):
        # Dots are placed from the bottom, so rows are reversed: the first is drawn at the top.
        rows = [place for *_, place in of_group][::-1]
        series = []
        for index, (name, frame) in enumerate(frames.items()):
            single = [of_seeds[seed].iloc[rows] for seed in groups[name] if seed in of_seeds]
            series.append(_series(index, name, frame.iloc[rows], single))
        title = f"{phenomenon} ({RANGES[dependency]})" if dependency in RANGES else str(phenomenon)
        panels.append(Panel(title, series, y=Axis("accuracy", (0, 1)), words=[labels[row] for row in rows]))
    return panels


def _rows_by_model(analysis: Document) -> dict[str, pd.DataFrame]:
    """Return the rows of each model, without means."""
    rows = analysis.records[analysis.records[ROW[2]].notna()]
    return {str(name): frame for name, frame in rows.groupby("model", sort=False)}


def _series(index: int, name: str, rows: pd.DataFrame, seeds: Sequence[pd.DataFrame]) -> Series:
    """Return the dots of a model; rows without an accuracy have no dot."""
    numbers = rows[["accuracy", "low", "high"]].astype(float).reset_index(drop=True)
    present = numbers.dropna(subset="accuracy")
    series = Series(
        index, name, [place + 1 for place in present.index], *(present[column].tolist() for column in present)
    )
    points = [
        (place, float(accuracy))
        for seed in seeds
        for place, accuracy in enumerate(seed["accuracy"], 1)
        if pd.notna(accuracy)
    ]
    return replace(series, points=points)
