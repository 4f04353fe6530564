"""Runs on formal languages as the papers report them: a table and a panel of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from tseval.analysis.formal import (
    by_feature,
    by_feature_of_seeds,
    headline,
    headline_interval,
    measure_of,
)
from tseval.report.analyses import INTERVAL, interval_note, stacked, tell
from tseval.report.document import Field, Grid, Line, side_by_side
from tseval.report.families import without_seed
from tseval.report.figures import LineOf
from tseval.report.seeds import with_spread
from tseval.report.shown import share, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.analysis.formal import Measure
    from tseval.report.analyses import Opened
    from tseval.report.document import Document

SUMMARIES = {"mean": "Mean, each row counted once", "largest": "Largest", "all": "All strings"}
CHOSEN = "The largest has no interval: it was chosen for being so, and that of its own row is too narrow."
VALUE = (Field("", ("value",), share), INTERVAL)
VALUE_OF_SEEDS = (Field("", ("value", "spread"), with_spread), INTERVAL)
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
    last = {
        name: {"value": headline(rows, measure), "sure": headline_interval(opened.verdicts[name], measure)}
        for name, rows in frames.items()
    }
    chosen = [CHOSEN] if measure.summary == "largest" else []
    return _tell(opened, measure, frames, last, VALUE, chosen)


def formal_of_seeds(opened: Opened, groups: Mapping[str, Sequence[str]]) -> Document:
    """Tabulate the same as means over seeds, with the spread between them.

    Args:
        opened: The runs.
        groups: Name of each architecture to the names of its models among them.

    Raises:
        RunError: The runs are not on a formal language.
    """
    measure = measure_of(opened.suite)
    frames, last = {}, {}
    for name, names in _named(groups).items():
        seeds = [opened.verdicts[one] for one in names]
        frames[name] = by_feature_of_seeds(seeds, measure)
        of_seeds = pd.Series([headline(by_feature(one, measure), measure) for one in seeds])
        last[name] = {"value": of_seeds.mean(), "spread": of_seeds.std(), "sure": None}
    counts = ", ".join(f"{name} {len(names)}" for name, names in _named(groups).items())
    notes = [
        f"Seeds: {counts}. Means over seeds, ± the standard deviation between them; the last line is the "
        "mean of that of each seed, without an interval."
    ]
    return _tell(opened, measure, frames, last, VALUE_OF_SEEDS, notes)


def _named(groups: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Call seeds by what their names have in common, `lstm-16` of `lstm-16-seed1` and `lstm-16-seed2`."""
    stems = [{without_seed(name) for name in names} for names in groups.values()]
    known = all(len(own) == 1 for own in stems) and len(set.union(*stems)) == len(stems)
    names = [own.pop() for own in stems] if known else list(groups)
    return dict(zip(names, groups.values(), strict=True))


def _tell(
    opened: Opened,
    measure: Measure,
    frames: Mapping[str, pd.DataFrame],
    last: Mapping[str, Mapping[str, Any]],
    shown: Sequence[Field],
    more: Sequence[str],
) -> Document:
    """Make the document of rows and headlines."""
    notes = [
        f"{measure.quantity.capitalize()} is cut to 3 decimals, not rounded.",
        interval_note(stacked(frames)),
        *more,
        f"Source: {measure.source}.",
    ]
    rows = {name: _with_summary(rows, measure, last[name]) for name, rows in frames.items()}
    keys = Field(measure.of, (measure.feature,), align="left"), Field("Judged", ("n_items",), whole)
    fields, lines = side_by_side(keys, frames, shown)
    n_items = next(iter(frames.values()))["n_items"].sum()
    of = shown[0].names
    values = (one["value"] if len(of) == 1 else tuple(one[name] for name in of) for one in last.values())
    cells = (cell for value, one in zip(values, last.values(), strict=True) for cell in (value, one["sure"]))
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


def _with_summary(rows: pd.DataFrame, measure: Measure, headed: Mapping[str, Any]) -> pd.DataFrame:
    """Add the headline number, and its interval or spread if it has one, below the rows of a model."""
    rows = rows.rename(columns={measure.feature: "at"})
    rows.insert(0, "by", measure.feature)
    rows.insert(1, "quantity", measure.quantity)
    last = {"by": measure.summary, "quantity": measure.quantity, "at": pd.NA, "value": headed["value"]}
    last |= dict(zip(("low", "high"), headed["sure"] or (), strict=False))
    last |= {name: headed[name] for name in ("spread",) if name in headed}
    counts = [name for name in ("n_items", "n_wrong") if name in rows]
    last |= {name: rows[name].sum() for name in counts}
    kinds = dict.fromkeys(("at", *counts), "Int64")  # whole numbers beside missing values
    return pd.concat([rows.astype(kinds), pd.DataFrame([last]).astype(kinds)])
