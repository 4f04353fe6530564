"""Rendering of a table or an analysis as text, in the format that a user chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tseval.errors import plain
from tseval.report.document import Document
from tseval.report.layout import lay_out
from tseval.report.suite_tables import SuiteTables
from tseval.report.writers.csv import as_csv
from tseval.report.writers.json import as_json
from tseval.report.writers.latex import as_latex, latex
from tseval.report.writers.markdown import as_markdown, markdown
from tseval.report.writers.terminal import Screen, as_screen, with_first_notes

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


def render(
    content: Document | Table | SuiteTables,
    format: Format = "md",
    screen: Screen | None = None,
    *,
    few_notes: bool = False,
) -> str:
    """Return the text of a table or an analysis; with `screen` for a terminal, or with few notes.

    `md` and `latex` are for print, with accuracies truncated to a few decimals. `csv` and `json` have counts
    and full precision, with accuracies as fractions. Names from outside are escaped for the format.
    """
    if isinstance(content, SuiteTables):
        return _render_suites(content, format, screen, few_notes)
    document = content if isinstance(content, Document) else lay_out(content)
    document = with_first_notes(document) if few_notes else document
    return WRITERS[format](document) if screen is None else as_screen(document, screen)


# The heading of the block of a suite.
_HEADINGS = {
    "md": lambda suite: f"## {markdown(suite)}",
    "latex": lambda suite: f"\\section*{{{latex(suite)}}}",
}


def _render_suites(tables: SuiteTables, format: Format, screen: Screen | None, few_notes: bool) -> str:
    """Return the summary and a block for each suite; CSV and JSON have all suites in one file."""
    if format in ("csv", "json"):
        return WRITERS[format](Document((), tables.records, tables.content, (), ()))
    blocks = [] if tables.summary is None else [render(tables.summary, format, screen, few_notes=few_notes)]
    for suite, document in tables.of_suites.items():
        heading = _HEADINGS[format](suite) if screen is None else screen.style("section", plain(suite))
        blocks.append(f"{heading}\n\n{render(document, format, screen, few_notes=few_notes)}")
    return "\n".join(blocks)


def printed_notes(content: Document | Table | SuiteTables, *, few_notes: bool) -> list[str]:
    """Return the notes that `render` prints."""
    if isinstance(content, SuiteTables):
        documents = [*([content.summary] if content.summary else []), *content.of_suites.values()]
        return [note for part in documents for note in printed_notes(part, few_notes=few_notes)]
    document = content if isinstance(content, Document) else lay_out(content)
    return list((with_first_notes(document) if few_notes else document).notes)
