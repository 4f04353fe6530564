"""Accuracy by intervening nouns and attractors, after Figure 3 and Table 2 of Bansal et al. 2020."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.analysis.breakdowns import ATTRACTORS, OTHERS, N, by_non_attractors, joint_grid
from tseval.report.document import Document, Field, Grid, side_by_side
from tseval.report.numbers import NOT_ROUNDED, format_count
from tseval.report.opened import ACCURACY, RunSet, analysis_document, interval_note, stacked
from tseval.report.panels import SHARES, Axis, Panel, Series, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


NOUN_COUNTS = {N: "intervening nouns", ATTRACTORS: "attractors", OTHERS: "non-attractors"}
_TRUNCATED = f"Accuracies are {NOT_ROUNDED}."
_CELLS_SHOWN = 12


def attractors(opened: RunSet) -> Document:
    """Return accuracy over intervening nouns and attractors."""
    grids = {name: joint_grid(frame) for name, frame in opened.verdicts.items()}
    return _accuracies(opened, grids, [N, ATTRACTORS])


def non_attractors(opened: RunSet) -> Document:
    """Return accuracy over intervening nouns that are not attractors."""
    grids = {name: by_non_attractors(frame) for name, frame in opened.verdicts.items()}
    return _accuracies(opened, grids, [OTHERS])


def _accuracies(opened: RunSet, grids: Mapping[str, pd.DataFrame], by: list[str]) -> Document:
    """Return a document with a line for each cell of a grid: every model's accuracy and interval."""
    first = next(iter(grids.values()))
    nouns = " and ".join(NOUN_COUNTS[name] for name in by)
    keys = [Field(NOUN_COUNTS[name].capitalize(), (name,)) for name in by]
    keys = [replace(keys[0], align="left"), *keys[1:], Field("Items", ("n_items",), format_count)]
    occurs = first["n_items"] > 0
    fields, lines = side_by_side(keys, {name: grid[occurs] for name, grid in grids.items()}, ACCURACY)
    notes = [interval_note(stacked(grids))]
    empty = [" and ".join(map(str, cell)) for cell in first.loc[~occurs, by].itertuples(index=False)]
    if empty:
        remainder = f" and {len(empty) - _CELLS_SHOWN} more" if len(empty) > _CELLS_SHOWN else ""
        notes.append(f"No items with these numbers of {nouns}: {', '.join(empty[:_CELLS_SHOWN])}{remainder}.")
    if left_out := len(next(iter(opened.verdicts.values()))) - int(first["n_items"].sum()):
        notes.append(
            f"{left_out:,} items are left out, because they do not name their number of intervening nouns."
        )
    grid = Grid(fields, lines, f"Accuracy by {nouns}, {opened.suite}")
    return analysis_document(opened, "attractors", stacked(grids), [grid], [*notes, _TRUNCATED])


def attractor_panels(analysis: Document) -> list[Panel]:
    """Return Figure 3: a panel for each number of intervening nouns, with attractors on the x-axis."""
    panels = []
    for n, rows in analysis.records.groupby(N):
        if lines := _decided(rows, ATTRACTORS):
            title = f"{n} intervening noun{'' if n == 1 else 's'}"
            panels.append(Panel(title, lines, Axis("attractors"), Axis("accuracy", SHARES)))
    return panels


def non_attractor_panels(analysis: Document) -> list[Panel]:
    """Return Table 2 as a panel, with non-attractors on the x-axis."""
    lines = _decided(analysis.records, OTHERS)
    axis = Axis("intervening nouns that are no attractors")
    return [Panel("", lines, axis, Axis("accuracy", SHARES))] if lines else []


def _decided(rows: pd.DataFrame, x: str) -> list[Series]:
    """Return a line for each model with decidable items; the line has a gap at cells without items."""
    return [line for line in lines_of(rows, x, "accuracy") if line.end is not None]
