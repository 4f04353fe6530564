"""Render a table or an analysis: Markdown and LaTeX for readers, CSV and JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tseval.report.document import Document
from tseval.report.formats import as_csv, as_json, as_latex, as_markdown
from tseval.report.layout import lay_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.report.table import Table

Format = Literal["md", "csv", "json", "latex"]
WRITERS: dict[Format, Callable[[Document], str]] = {
    "md": as_markdown,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}
FORMATS = tuple(WRITERS)


def render(told: Document | Table, format: Format = "md", width: int | None = None) -> str:
    """Render a table or an analysis.

    Args:
        told: From `tseval.report.build_table` or an analysis.
        format: `md` and `latex` print what people read, accuracies cut to a few decimals; `csv` and
            `json` hold counts and full precision, accuracy as a fraction.
        width: Characters of a line of the terminal that `md` is shown on: wider tables are cut into several.
            None, and every other format, for tables in one piece.

    Returns:
        The text, with a line break at its end. Names from outside are escaped for the format.
    """
    document = told if isinstance(told, Document) else lay_out(told)
    return as_markdown(document, width) if format == "md" else WRITERS[format](document)
