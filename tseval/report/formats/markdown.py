"""Markdown: pipe tables, notes below them, then the signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tabulate import tabulate

from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.report.document import Document, Grid, Line

# Within a word `_` starts no emphasis, and `n_attractors` reads better as it is.
MARKUP = re.compile(r"[\\`*|\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
# A rank and what it may be, `2 [1–4]`, is no link unless something follows that makes it one.
RANKS = re.compile(r"\\\[(\d+(?:–\d+)?)\\\](?![(:\\])")
MARKS = {"section": "**{}**", "group": "*{}*", "row": "{}"}


def as_markdown(document: Document, width: int | None = None) -> str:
    """Write a document in Markdown.

    Args:
        document: What is told.
        width: Characters that a line of a table may have, as far as columns can be parted: a wider table is
            cut into several, each with the labels of the lines. None for tables of any width.
    """
    blocks = []
    for grid in document.grids:
        blocks += [f"**{markdown(grid.title)}**"] if grid.title else []
        blocks += [_pipes(grid)] if width is None else map(_pipes, _cut(grid, width))
    notes = [f"- {markdown(note)}" for note in document.notes]
    notes += [f"- {markdown(name)}: {code(line)}" for name, line in document.signatures]
    return "\n\n".join([*blocks, "\n".join(notes)]).rstrip() + "\n"


def markdown(text: str) -> str:
    """Escape what Markdown or HTML would act on, with a backslash before it."""
    return RANKS.sub(r"[\1]", MARKUP.sub(lambda match: "\\" + match[0], plain(text)))


def code(text: str) -> str:
    """Set a text as Markdown code, in which nothing is acted on."""
    return "`" + plain(text).replace("`", "'") + "`"


def _pipes(grid: Grid) -> str:
    """Print a grid as one table."""

    def cells(line: Line) -> list[str]:
        label, *others = map(markdown, grid.texts(line))
        return [MARKS[line.kind].format(label), *others]

    return tabulate(
        [cells(line) for line in grid.lines],
        headers=[markdown(field.heading) for field in grid.fields],
        tablefmt="pipe",
        colalign=[field.align for field in grid.fields],
        disable_numparse=True,
    )


def _cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Cut a grid into as few as stand within a width; one column of values is never cut."""
    labels, *parts = grid.parts
    shown = labels
    for part in parts:
        if shown != labels and _width(grid.only([*shown, *part])) > width:
            yield grid.only(shown)
            shown = labels
        shown = [*shown, *part]
    yield grid.only(shown)


def _width(grid: Grid) -> int:
    return max(map(len, _pipes(grid).splitlines()))
