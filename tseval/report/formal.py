"""Runs on formal languages as the papers report them: a table and a panel of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.formal import by_feature, headline, headline_interval, measure_of
from tseval.report.analyses import INTERVAL, interval_note, stacked, tell
from tseval.report.document import Field, Grid, Line, side_by_side
from tseval.report.figures import LineOf
from tseval.report.shown import share, whole

if TYPE_CHECKING:
    from tseval.analysis.formal import Measure
    from tseval.report.analyses import Opened
    from tseval.report.document import Document

SUMMARIES = {"mean": "Mean, each row counted once", "largest": "Largest", "all": "All strings"}
CHOSEN = "The largest has no interval: it was chosen for being so, and that of its own row is too narrow."
VALUE = (Field("", ("value",), share), INTERVAL)
AXES = {
    "distance": "symbols since the bracket to be closed was opened",
    "attractors": "attractors: brackets of other types opened since",
    "m_plus_n": "m + n",
}


def formal(opened: Opened) -> Document:
    """Tabulate what the paper on a language reports.

    Raises:
        RunError: The runs are not on a formal language.
    """
    measure = measure_of(opened.suite)
    frames = {name: by_feature(verdicts, measure) for name, verdicts in opened.verdicts.items()}
    summaries = {name: headline(rows, measure) for name, rows in frames.items()}
    sure = {name: headline_interval(verdicts, measure) for name, verdicts in opened.verdicts.items()}
    notes = [
        f"{measure.quantity.capitalize()} is cut to 3 decimals, not rounded.",
        interval_note(stacked(frames)),
        *([CHOSEN] if measure.summary == "largest" else []),
        f"Source: {measure.source}.",
    ]
    rows = {name: _with_summary(rows, measure, summaries[name], sure[name]) for name, rows in frames.items()}
    keys = Field(measure.of, (measure.feature,), align="left"), Field("Judged", ("n_items",), whole)
    fields, lines = side_by_side(keys, frames, VALUE)
    n_items = next(iter(frames.values()))["n_items"].sum()
    cells = (cell for name, summary in summaries.items() for cell in (summary, sure[name]))
    lines.append(Line((SUMMARIES[measure.summary], n_items, *cells)))
    grid = Grid(fields, lines, f"{measure.quantity.capitalize()} on {opened.suite}")
    return tell(opened, "formal", stacked(rows), [grid], notes)


def labels(opened: Opened) -> tuple[str, str, str]:
    """Give the title of the figure, and the names of its axes."""
    measure = measure_of(opened.suite)
    return f"{measure.quantity.capitalize()} on {opened.suite}", AXES[measure.feature], measure.quantity


def formal_lines(analysis: Document) -> list[LineOf]:
    """Give the line of each model: after Figures 2 and 3 of Bernardy & Lappin 2022."""
    lines = []
    for index, (name, rows) in enumerate(analysis.records.groupby("model", sort=False)):
        own = rows.dropna(subset="at")
        x, y, low, high = (own[column].tolist() for column in ("at", "value", "low", "high"))
        lines.append(LineOf(index, str(name), x, y, low, high))
    return lines


def _with_summary(
    rows: pd.DataFrame, measure: Measure, summary: float, sure: tuple[float, float] | None
) -> pd.DataFrame:
    """Add the headline number, and its interval if it has one, below the rows of a model."""
    rows = rows.rename(columns={measure.feature: "at"})
    rows.insert(0, "by", measure.feature)
    rows.insert(1, "quantity", measure.quantity)
    last = {"by": measure.summary, "quantity": measure.quantity, "at": pd.NA, "value": summary}
    last |= dict(zip(("low", "high"), sure or (), strict=False))
    last |= {name: rows[name].sum() for name in ("n_items", "n_wrong")}
    counts = dict.fromkeys(("at", "n_items", "n_wrong"), "Int64")  # whole numbers beside missing values
    return pd.concat([rows.astype(counts), pd.DataFrame([last]).astype(counts)])
