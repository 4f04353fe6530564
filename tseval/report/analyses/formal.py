"""Formal languages: the numbers that the paper on each language reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tseval.analysis.breakdowns import (
    Measure,
    by_feature,
    by_feature_of_seeds,
    headline,
    headline_interval,
    measure_of,
)
from tseval.analysis.differences import over_seeds
from tseval.report.document import Document, Field, Grid, Line, side_by_side
from tseval.report.families import without_seed
from tseval.report.numbers import NOT_ROUNDED, format_count, format_share, with_spread
from tseval.report.opened import INTERVAL, RunSet, analysis_document, interval_note, stacked
from tseval.report.panels import Panel, lines_of, share_panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SUMMARIES = {"mean": "Mean, each row counted once", "largest": "Largest", "all": "All strings"}
CHOSEN = "The largest value has no interval, because it was selected after looking at all rows."
VALUE = (Field("", ("value",), format_share), INTERVAL)
VALUE_OF_SEEDS = (Field("", ("value", "spread"), with_spread), INTERVAL)
AXES = {
    "distance": "distance from the opening bracket, in symbols",
    "attractors": "attractors: brackets of other types in between",
    "m_plus_n": "m + n",
}


def formal(opened: RunSet) -> Document:
    """Return the numbers that the paper on a language reports."""
    measure = measure_of(opened.suite)
    frames = {name: by_feature(verdicts, measure) for name, verdicts in opened.verdicts.items()}
    last = {
        name: {"value": headline(rows, measure), "sure": headline_interval(opened.verdicts[name], measure)}
        for name, rows in frames.items()
    }
    chosen = [CHOSEN] if measure.summary == "largest" else []
    return _document_of(opened, measure, frames, last, VALUE, chosen)


def formal_of_seeds(opened: RunSet, groups: Mapping[str, Sequence[str]]) -> Document:
    """Return the same numbers as means over the seeds of each architecture, with standard deviations."""
    measure = measure_of(opened.suite)
    frames, last = {}, {}
    for name, names in _named(groups).items():
        seeds = [opened.verdicts[seed] for seed in names]
        frames[name] = by_feature_of_seeds(seeds, measure)
        headlines = [headline(by_feature(seed, measure), measure) for seed in seeds]
        (value,), (spread,) = over_seeds(np.array([headlines]))
        last[name] = {"value": value, "spread": spread, "sure": None}
    counts = ", ".join(f"{name} {len(names)}" for name, names in _named(groups).items())
    notes = [
        f"Seeds: {counts}. Means over seeds, ± the standard deviation between seeds; the last line "
        "is the mean over seeds, without an interval."
    ]
    return _document_of(opened, measure, frames, last, VALUE_OF_SEEDS, notes)


def _named(groups: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Name groups of seeds by their common name: `lstm-16` for `lstm-16-seed1` and `lstm-16-seed2`."""
    stems = [{without_seed(name) for name in names} for names in groups.values()]
    is_distinct = all(len(stem) == 1 for stem in stems) and len(set.union(*stems)) == len(stems)
    names = [stem.pop() for stem in stems] if is_distinct else list(groups)
    return dict(zip(names, groups.values(), strict=True))


def _document_of(
    opened: RunSet,
    measure: Measure,
    frames: Mapping[str, pd.DataFrame],
    last: Mapping[str, Mapping[str, Any]],
    measures: Sequence[Field],
    more: Sequence[str],
) -> Document:
    notes = [
        f"{measure.quantity.capitalize()} is {NOT_ROUNDED}.",
        interval_note(stacked(frames)),
        *more,
        f"Source: {measure.source}.",
    ]
    rows = {name: _with_summary(rows, measure, last[name]) for name, rows in frames.items()}
    keys = Field(measure.of, (measure.feature,), align="left"), Field("Judged", ("n_items",), format_count)
    fields, lines = side_by_side(keys, frames, measures)
    n_items = next(iter(frames.values()))["n_items"].sum()
    names = measures[0].names
    values = (
        row["value"] if len(names) == 1 else tuple(row[name] for name in names) for row in last.values()
    )
    cells = (cell for value, row in zip(values, last.values(), strict=True) for cell in (value, row["sure"]))
    lines.append(Line((SUMMARIES[measure.summary], n_items, *cells)))
    grid = Grid(fields, lines, f"{measure.quantity.capitalize()} on {opened.suite}")
    return analysis_document(opened, "formal", stacked(rows), [grid], notes)


def formal_panel(opened: RunSet, analysis: Document) -> Panel:
    """Return a panel with a line for each model, as in Figures 2 and 3 of Bernardy & Lappin 2022."""
    measure, records = measure_of(opened.suite), analysis.records
    lines = lines_of(records.dropna(subset="at"), "at", "value", records["model"].unique())
    title = f"{measure.quantity.capitalize()} on {opened.suite}"
    return share_panel(title, lines, AXES[measure.feature], measure.quantity)


def _with_summary(rows: pd.DataFrame, measure: Measure, headed: Mapping[str, Any]) -> pd.DataFrame:
    """Add the headline number, with its interval or spread if there is one, below the rows of a model."""
    rows = rows.rename(columns={measure.feature: "at"})
    rows.insert(0, "by", measure.feature)
    rows.insert(1, "quantity", measure.quantity)
    last = {"by": measure.summary, "quantity": measure.quantity, "at": pd.NA, "value": headed["value"]}
    last |= dict(zip(("low", "high"), headed["sure"] or (), strict=False))
    last |= {name: headed[name] for name in ("spread",) if name in headed}
    counts = [name for name in ("n_items", "n_wrong") if name in rows]
    last |= {name: rows[name].sum() for name in counts}
    kinds = dict.fromkeys(("at", *counts), "Int64")  # keeps whole numbers next to missing values
    return pd.concat([rows.astype(kinds), pd.DataFrame([last]).astype(kinds)])
