"""Markdown: pipe tables, notes below them, then the signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.report.formats.tabulated import tabulated
from tseval.report.text import plain

if TYPE_CHECKING:
    from tseval.report.document import Document

# Within a word `_` starts no emphasis, and `n_attractors` reads better as it is.
MARKUP = re.compile(r"[\\`*|\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
MARKDOWN_MARKS = {"section": "**{}**", "group": "*{}*", "row": "{}"}


def as_markdown(document: Document) -> str:
    """Write a document in Markdown."""
    blocks = []
    for grid in document.grids:
        blocks += [f"**{markdown(grid.title)}**"] if grid.title else []
        blocks.append(tabulated(grid, "pipe", markdown, MARKDOWN_MARKS))
    notes = [f"- {markdown(note)}" for note in document.notes]
    notes += [f"- {markdown(name)}: {code(line)}" for name, line in document.signatures]
    return "\n\n".join([*blocks, "\n".join(notes)]).rstrip() + "\n"


def markdown(text: str) -> str:
    """Escape what Markdown or HTML would act on, with a backslash before it."""
    return MARKUP.sub(lambda match: "\\" + match[0], plain(text))


def code(text: str) -> str:
    """Set a text as Markdown code, in which nothing is acted on."""
    return "`" + plain(text).replace("`", "'") + "`"
