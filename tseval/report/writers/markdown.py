"""Documents as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tabulate import tabulate

from tseval.errors import plain

if TYPE_CHECKING:
    from tseval.report.document import Document, Grid, Line

# Within a word, `_` starts no emphasis, and `n_attractors` is easier to read unchanged.
MARKUP = re.compile(r"[\\`*|\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
# Ranks such as `2 [1–4]` are not links unless `(`, `[` or `:` follows, so their brackets stay unescaped.
RANKS = re.compile(r"\\\[(\d+(?:–\d+)?)\\\](?![(:\\])")
MARKS = {"section": "**{}**", "group": "*{}*", "row": "{}"}


def as_markdown(document: Document) -> str:
    """Return a document in Markdown."""
    blocks = []
    for grid in document.grids:
        blocks += [f"**{markdown(grid.title)}**"] if grid.title else []
        blocks += [_pipes(grid)]
    notes = [f"- {markdown(note)}" for note in document.notes]
    notes += [f"- {markdown(name)}: {code(line)}" for name, line in document.signatures]
    return "\n\n".join([*blocks, "\n".join(notes)]).rstrip() + "\n"


def markdown(text: str) -> str:
    """Escape the special characters of Markdown and HTML with a backslash."""
    return RANKS.sub(r"[\1]", MARKUP.sub(lambda match: "\\" + match[0], plain(text)))


def markdown_link(address: str | None) -> str:
    """Return a Markdown link to an address; if it is not a safe web address, only its text."""
    if address is None:
        return ""
    leads = address.startswith(("https://", "http://")) and not set(address) & set(" <>|`\\")
    return f"<{plain(address)}>" if leads else markdown(address)


def code(text: str) -> str:
    """Return a text as Markdown code, without special characters."""
    return "`" + plain(text).replace("`", "'") + "`"


def _pipes(grid: Grid) -> str:
    def cells(line: Line) -> list[str]:
        label, *rest = map(markdown, grid.texts(line))
        return [MARKS[line.kind].format(label), *rest]

    return tabulate(
        [cells(line) for line in grid.lines],
        headers=[markdown(field.title) for field in grid.fields],
        tablefmt="pipe",
        colalign=[field.align for field in grid.fields],
        disable_numparse=True,
    )
