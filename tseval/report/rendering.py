"""A table or an analysis as text, in the format that a user chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tseval.report.document import Document
from tseval.report.layout import lay_out
from tseval.report.writers.csv import as_csv
from tseval.report.writers.json import as_json
from tseval.report.writers.latex import as_latex
from tseval.report.writers.markdown import as_markdown
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
    content: Document | Table, format: Format = "md", screen: Screen | None = None, *, few_notes: bool = False
) -> str:
    """Return the text of a table or an analysis, for a terminal if there is a screen; perhaps with few notes.

    `md` and `latex` print what people read, accuracies cut to a few decimals; `csv` and `json` hold counts
    and full precision, accuracy as a fraction. Names from outside are escaped for the format.
    """
    document = content if isinstance(content, Document) else lay_out(content)
    document = with_first_notes(document) if few_notes else document
    return WRITERS[format](document) if screen is None else as_screen(document, screen)
