"""Effects of a design in bits, and the mean surprisal in each condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.measures import AVERAGED, CONDITION, REGION, mean_effects, mean_surprisals
from tseval.analysis.rows import ROW
from tseval.report.document import Document, Field, Grid, side_by_side
from tseval.report.layout import row_labels
from tseval.report.numbers import format_count, format_difference, format_share
from tseval.report.opened import INTERVAL, RunSet, analysis_document, interval_note, stacked
from tseval.report.panels import Axis, Panel, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence


_ITEMS = Field("Items", ("n_items",), format_count)
_NOTES = (
    "Effect: mean over items of the value that a prediction expects to be higher, minus the other.",
    "To compare conditions, use effects: surprisals have wider intervals, because items differ more than "
    "conditions.",
    "A prediction with several comparisons, or with an equality, has no effect.",
)


def design_effects(opened: RunSet) -> Document:
    """Return the effect of each prediction, and the mean surprisal under each condition, in bits."""
    surprisals = {name: mean_surprisals(verdicts) for name, verdicts in opened.verdicts.items()}
    effects = {name: mean_effects(verdicts) for name, verdicts in opened.verdicts.items()}
    of_any = pd.concat([frame["n_items"] > 0 for frame in effects.values()], axis=1).any(axis=1)
    effects = {name: frame[of_any].reset_index(drop=True) for name, frame in effects.items()}
    grids = []
    if of_any.any():
        labelled = {name: frame.assign(label=row_labels(frame[[*ROW]])) for name, frame in effects.items()}
        keys = [Field("Prediction", ("label",), align="left"), _ITEMS]
        measures = [Field("", ("value",), format_difference), INTERVAL]
        grids.append(Grid(*side_by_side(keys, labelled, measures), f"Effects in bits, {opened.suite}"))
    keys = [Field(name.capitalize(), (name,), align="left") for name in ("construction", REGION, CONDITION)]
    measures = [Field("", ("value",), format_share), INTERVAL]
    fields_and_lines = side_by_side([*keys, _ITEMS], surprisals, measures)
    grids.append(Grid(*fields_and_lines, f"Surprisals in bits, {opened.suite}"))
    rows = pd.concat([stacked(effects), stacked(surprisals)], ignore_index=True)
    rows = rows[["model", *ROW, REGION, CONDITION, *AVERAGED]]
    return analysis_document(opened, "effects", rows, grids, [*_NOTES, interval_note(rows)])


def surprisal_panels(analysis: Document) -> list[Panel]:
    """Return a panel for each region of a construction: mean surprisal by condition, on one scale."""
    rows = analysis.records[analysis.records[CONDITION].notna() & (analysis.records["n_items"] > 0)]
    models = list(analysis.records["model"].unique())
    groups = rows.groupby([*ROW[:-1], REGION], sort=False, dropna=False)
    low, high = rows[["value", "low", "high"]].min().min(), rows[["value", "low", "high"]].max().max()
    padding = 0.05 * (high - low) or 0.5
    bits = Axis("surprisal in bits", (low - padding, high + padding))
    return [_panel((str(key[2]), f"region {key[3]}"), group, models, bits) for key, group in groups]


def _panel(title: tuple[str, str], rows: pd.DataFrame, models: Sequence[str], bits: Axis) -> Panel:
    conditions = list(dict.fromkeys(rows[CONDITION]))[::-1]  # the first is drawn at the bottom
    placed = rows.assign(place=[1 + conditions.index(condition) for condition in rows[CONDITION]])
    series = lines_of(placed, "place", "value", models)
    return Panel(title[0], series, y=bits, words=conditions, subtitle=title[1])
