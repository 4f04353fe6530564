"""What an analysis gives: numbers for programs, tables for readers, notes; and the runs it is made from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, cast

import pandas as pd
from tabulate import tabulate

from tseval.analysis.selection import select
from tseval.errors import RunError
from tseval.report import text
from tseval.report.boards import Board
from tseval.report.columns import column_of, distinct, refuse_unlike
from tseval.report.sources import open_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.checked import Json
    from tseval.report.render import Format

NONE = "–"
DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Opened:
    """Runs over the same items, opened for an analysis.

    Attributes:
        verdicts: Name of each model, made distinct, to the verdicts chosen; row by row the same items.
        suite: Name of the suite.
        signatures: Name of each model to its run's signature.
        notes: What a reader must know about the runs.
    """

    verdicts: Mapping[str, pd.DataFrame]
    suite: str
    signatures: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Printed:
    """A table for readers: every value is text."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The outcome of an analysis.

    Attributes:
        name: `attractors`, `profile`, ...
        rows: One row per number, full precision: what csv and json hold.
        tables: What md and latex print.
        notes: What a reader must know.
        signatures: Name of each model to its run's signature.
    """

    name: str
    rows: pd.DataFrame
    tables: Sequence[Printed]
    notes: Sequence[str]
    signatures: Mapping[str, str]


def open_runs(names: Sequence[str], where: Sequence[tuple[str, str]] = ()) -> Opened:
    """Open runs over one suite, and choose the verdicts that an analysis is about.

    Args:
        names: Run directories.
        where: Which items, as `tseval.analysis.selection.select` takes it.

    Raises:
        RunError: One is no run, is named twice, or is over other items than the first.
        SuiteError: No item is as `where` says.
    """
    runs = []
    for source in open_sources(names):
        if isinstance(source, Board):
            raise RunError(
                f"{source.name} is a published board: it has no items to analyse.\n  Name run directories."
            )
        runs.append(source)
    columns = [column_of(run) for run in runs]
    refuse_unlike(columns)
    columns = distinct(columns)
    notes = []
    if not columns[0].complete:
        notes.append("Only a part of the suite was scored.")
    if len({column.score for column in columns}) > 1:
        modes = ", ".join(f"{column.heading}: {column.score}" for column in columns)
        notes.append(f"The runs are scored in different ways ({modes}).")
    if where:
        notes.append(_chosen(where))
    verdicts = {
        column.heading: select(run.verdicts, where) for column, run in zip(columns, runs, strict=True)
    }
    for name, frame in verdicts.items():
        tied, out = int(frame["tie"].sum()), int(frame["undecidable"].sum())
        if tied or out:
            notes.append(
                f"{name}: of {len(frame):,} items {tied:,} are ties, counted as wrong, and {out:,} are "
                "undecidable, left out."
            )
    signatures = {column.heading: column.signature or "" for column in columns}
    return Opened(verdicts, columns[0].suite, signatures, tuple(notes))


def _chosen(where: Sequence[tuple[str, str]]) -> str:
    """Say which items were chosen; two values of one feature mean either."""
    values: dict[str, list[str]] = {}
    for name, value in where:
        values.setdefault(name, []).append(value)
    return "Items with " + " and ".join(f"{name} {' or '.join(own)}" for name, own in values.items()) + "."


def stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of all models below each other, the model's name before them."""
    named = []
    for name, frame in frames.items():
        rows = frame.copy()
        rows.insert(0, "model", name)
        named.append(rows)
    return pd.concat(named, ignore_index=True)


def share(value: float) -> str:
    """Print a share cut to three decimals, as tables of runs do; a dash where there is none."""
    # A share of whole numbers may lie a rounding error below a number of three decimals: 0.29 * 1000 < 290.
    return NONE if pd.isna(value) else f"{floor(round(value * 10**DECIMALS, 6)) / 10**DECIMALS:.{DECIMALS}f}"


def interval(low: float, high: float) -> str:
    """Print an interval, its ends cut outwards."""
    if pd.isna(low):
        return NONE
    scale = 10**DECIMALS
    return f"{floor(low * scale) / scale:.{DECIMALS}f} to {ceil(high * scale) / scale:.{DECIMALS}f}"


def render_analysis(analysis: Analysis, form: Format) -> str:
    """Render an analysis: `md` and `latex` for readers, `csv` and `json` with every number in full."""
    return {"md": _markdown, "csv": _csv, "json": _json, "latex": _latex}[form](analysis)


def _markdown(analysis: Analysis) -> str:
    parts = [
        f"**{text.markdown(one.title)}**\n\n{_grid(one, 'pipe', text.markdown)}" for one in analysis.tables
    ]
    notes = [f"- {text.markdown(note)}" for note in analysis.notes]
    notes += [f"- {text.markdown(name)}: {text.code(line)}" for name, line in analysis.signatures.items()]
    return "\n\n".join([*parts, "\n".join(notes)]).rstrip() + "\n"


def _latex(analysis: Analysis) -> str:
    parts = [
        f"\\par\\noindent\\textbf{{{text.latex(one.title)}}}\\par\n{_grid(one, 'latex_raw', text.latex)}"
        for one in analysis.tables
    ]
    notes = [text.latex(note) for note in analysis.notes]
    notes += [text.latex(f"{name}: {line}") for name, line in analysis.signatures.items()]
    return "\n".join([*parts, *(rf"\par\noindent\footnotesize {note}" for note in notes)]) + "\n"


def _grid(printed: Printed, style: str, escape: Callable[[str], str]) -> str:
    return tabulate(
        [[escape(cell) for cell in row] for row in printed.rows],
        headers=[escape(heading) for heading in printed.headings],
        tablefmt=style,
        colalign=("left", *["right"] * (len(printed.headings) - 1)),
        disable_numparse=True,
    )


def _csv(analysis: Analysis) -> str:
    rows = analysis.rows.astype(object)
    for name in rows.columns:
        cells = [text.cell(value) if isinstance(value, str) else value for value in rows[name]]
        # Left to itself, pandas makes fractions of whole numbers beside a missing one.
        rows[name] = pd.Series(cells, rows.index, dtype=object)
    return rows.rename(columns=text.cell).to_csv(index=False, lineterminator="\n")


def _json(analysis: Analysis) -> str:
    content = {
        "format": 1,
        "analysis": analysis.name,
        "rows": [
            {text.plain(str(name)): _json_value(value) for name, value in row.items()}
            for row in analysis.rows.astype(object).to_dict("records")
        ],
        "notes": [text.plain(note) for note in analysis.notes],
        "signatures": {text.plain(name): text.plain(line) for name, line in analysis.signatures.items()},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _json_value(value: object) -> Json:
    if isinstance(value, str):
        return text.plain(value)
    return None if pd.isna(value) else cast("Json", value)  # type: ignore[call-overload]
