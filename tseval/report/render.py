"""Render a table: Markdown and LaTeX for readers, CSV and JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, cast

import pandas as pd
from tabulate import tabulate

from tseval.analysis.accuracy import COUNTS, ROW
from tseval.report import text
from tseval.report.layout import lay_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from tseval.checked import Json
    from tseval.report.columns import Column
    from tseval.report.layout import Layout, Line
    from tseval.report.table import Table

Format = Literal["md", "csv", "json", "latex"]
FORMATS: tuple[Format, ...] = ("md", "csv", "json", "latex")


def render(table: Table, format: Format = "md") -> str:
    """Render a table.

    Args:
        table: From `tseval.report.build_table`.
        format: `md` and `latex` print what people read, accuracies cut to a few decimals; `csv` and
            `json` hold counts and full precision, accuracy as a fraction.

    Returns:
        The text, with a line break at its end. Names from outside are escaped for the format.
    """
    return {"md": _markdown, "csv": _csv, "json": _json, "latex": _latex}[format](table)


def _markdown(table: Table) -> str:
    """Print a pipe table, notes below it, then the signatures."""
    styles = {"section": "**{}**", "group": "*{}*", "row": "{}"}
    body = _grid(lay_out(table), "pipe", text.markdown, styles)
    notes = [f"- {text.markdown(note)}" for note in table.notes]
    notes += [f"- {text.markdown(name)}: {text.code(line)}" for name, line in _signatures(table)]
    return "\n".join([body, "", *notes]).rstrip() + "\n"


def _latex(table: Table) -> str:
    """Print a tabular, notes below it, then the signatures; needs no package."""
    styles = {"section": r"\textbf{{{}}}", "group": r"\textit{{{}}}", "row": "{}"}
    body = _grid(lay_out(table), "latex_raw", text.latex, styles)
    notes = [text.latex(note) for note in table.notes]
    notes += [text.latex(f"{name}: {line}") for name, line in _signatures(table)]
    return "\n".join([body, *(rf"\par\noindent\footnotesize {note}" for note in notes)]) + "\n"


def _grid(layout: Layout, style: str, escape: Callable[[str], str], styles: dict[str, str]) -> str:
    def escaped(line: Line) -> list[str]:
        label = styles[line.kind].format(escape(line.label))
        return [label, *map(escape, line.cells or [""] * len(layout.headings))]

    return tabulate(
        [escaped(line) for line in layout.lines],
        headers=[escape(layout.corner), *map(escape, layout.headings)],
        tablefmt=style,
        colalign=("left", *["right"] * len(layout.headings)),
        disable_numparse=True,
    )


def _signatures(table: Table) -> list[tuple[str, str]]:
    return [(column.heading, column.signature) for column in table.columns if column.signature is not None]


def _csv(table: Table) -> str:
    """Write one line per model and row, counts and full precision."""
    frames = [_long(table, column) for column in table.columns]
    rows = pd.concat(frames, ignore_index=True)
    rows = rows.astype(dict.fromkeys([*COUNTS, "rank"], "Int64"))  # not 60.0 where another model has none
    for name in rows.columns.difference([*COUNTS, "rank"]):
        rows[name] = rows[name].map(lambda value: text.cell(value) if isinstance(value, str) else value)
    return rows.rename(columns=text.cell).to_csv(index=False, lineterminator="\n")


def _long(table: Table, column: Column) -> pd.DataFrame:
    """List a column's rows with their counts and ranks; a published model has no counts but `n_items`."""
    names = [*ROW, *table.by]
    rows = column.rows.astype(object)
    if column.published:
        rows["accuracy"] = [None if value is None else float(value) for value in rows["printed"]]
    counts = [*COUNTS, "accuracy", "low", "high"]
    rows = rows.reindex(columns=[*names, *counts])
    keys = table.rows.itertuples(index=False, name=None)
    ranks = table.ranks[column.heading].reindex(table.rows.index)
    rank_of = {key: _number(rank) for key, rank in zip(keys, ranks, strict=True)}
    rows["rank"] = pd.Series([rank_of[key] for key in column.keys(table.by)], dtype=object)
    rows.insert(0, "model", column.heading)
    return rows


def _json(table: Table) -> str:
    """Write columns, rows, means and notes; keys are stable, absent values null."""
    content = {
        "format": 1,
        "by": list(map(text.plain, table.by)),
        "columns": [_facts(column) for column in table.columns],
        "rows": [
            {text.plain(str(name)): _json_value(value) for name, value in row.items()}
            for column in table.columns
            for row in _long(table, column).to_dict("records")
        ],
        "means": [
            {
                "over": mean.over,
                "n_rows": mean.n_rows,
                "accuracy": _by_model(table, mean.accuracy),
                "rank": _by_model(table, mean.rank),
            }
            for mean in table.means
        ],
        "notes": list(map(text.plain, table.notes)),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _facts(column: Column) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "model": column.heading,
        "origin": column.origin,
        "published": column.published,
        "suite": column.suite,
        "suite_digest": column.digest,
        "complete": column.complete,
        "score": column.score,
        "signature": column.signature,
        "validation_perplexity": column.perplexity,
        "parameters": column.parameters,
    }
    return {name: _json_value(value) for name, value in facts.items()}


def _by_model(table: Table, values: tuple[Fraction | None, ...]) -> dict[str, float | None]:
    headings = (text.plain(column.heading) for column in table.columns)
    return {name: None if v is None else float(v) for name, v in zip(headings, values, strict=True)}


def _number(rank: object) -> int | None:
    return None if pd.isna(rank) else int(rank)  # type: ignore[call-overload]


def _json_value(value: object) -> Json:
    """Give a value of a table as JSON: missing as null, text made plain."""
    if isinstance(value, str):
        return text.plain(value)
    return None if pd.isna(value) else cast("Json", value)  # type: ignore[call-overload]
