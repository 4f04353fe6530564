"""Tables of runs and published boards, and analyses, as Markdown, CSV, JSON and LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from tseval.errors import RunError
from tseval.report.boards import Board
from tseval.report.columns import read_humans
from tseval.report.document import (
    Document,
    Screen,
    as_csv,
    as_json,
    as_latex,
    as_markdown,
    as_screen,
    with_first_notes,
)
from tseval.report.layout import lay_out
from tseval.report.opened import for_analysis
from tseval.report.table import Table, build_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tseval.runs import Run

__all__ = ["FORMATS", "Format", "Table", "build_table", "document_of", "render"]

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
    """Render a table or an analysis, on a terminal where there is a screen; perhaps with few notes.

    `md` and `latex` print what people read, accuracies cut to a few decimals; `csv` and `json` hold counts
    and full precision, accuracy as a fraction. Names from outside are escaped for the format.
    """
    document = content if isinstance(content, Document) else lay_out(content)
    document = with_first_notes(document) if few_notes else document
    return WRITERS[format](document) if screen is None else as_screen(document, screen)


def document_of(
    sources: Sequence[Run | Board], by: str | Sequence[str] = (), human: Path | None = None
) -> Document | Table:
    """Put runs and published boards side by side; of runs over rated sentences, correlations."""
    rated = [source for source in sources if not isinstance(source, Board) and source.rated]
    if human is not None:
        runs = [source for source in sources if not isinstance(source, Board) and source not in rated]
        if not runs:
            raise RunError(
                "--human prints human accuracies next to those of a run, but the command names "
                "no run.\n"
                "  Name a run on the same suite as the human accuracies."
            )
        return build_table(sources, by, [read_humans(human, runs[0])])
    if not rated:
        made = None if len(sources) > 1 or by or isinstance(sources[0], Board) else sources[0].document
        return build_table(sources, by) if made is None else cast("Document | Table", made)
    if other := [source for source in sources if source not in rated]:
        raise RunError(
            f"{rated[0].name} has correlations with ratings, but {other[0].name} has accuracies, so one "
            "table cannot show both.\n"
            "  Run tseval table twice: once for the runs on rated sentences, once for the others."
        )
    from tseval.report.analyses import ratings  # noqa: PLC0415 - brings SciPy along, which most tables do not need

    return ratings(for_analysis(rated, rated=True), by)
