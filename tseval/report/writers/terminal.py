"""Documents for a terminal, within its width."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tabulate import tabulate
from wcwidth import wcswidth

from tseval.errors import plain
from tseval.report.numbers import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.report.document import Document, Grid


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal on which a document is shown.

    Attributes:
        whole: Whether signatures are shown completely.
    """

    width: int
    styled: bool = False
    whole: bool = False

    def style(self, kind: str, text: str) -> str:
        """Return the label of a section in bold, of a group in italics."""
        return f"\x1b[{STYLES[kind]}m{text}\x1b[0m" if self.styled and kind in STYLES and text else text


STYLES = {"section": 1, "group": 3}
MOST_NOTES = 5  # printed notes; files have all
MORE_NOTES = "More notes: {}. To print them, add --notes."
NARROWEST = 16  # least number of characters in a column of text
LEFT_OUT = "Not shown, because 0 in every row: {}."


def with_first_notes(document: Document) -> Document:
    """Return the document with its first, most important notes, and the number of the others."""
    n_more = len(document.notes) - MOST_NOTES
    if n_more <= 1:  # a line about one more note would be as long as the note
        return document
    return replace(document, notes=[*document.notes[:MOST_NOTES], MORE_NOTES.format(n_more)])


def as_screen(document: Document, screen: Screen) -> str:
    """Return the text for a terminal: columns that fit, without columns of zeros, with short signatures."""
    blocks, notes = [], list(document.notes)
    for grid in document.grids:
        without_zeros, zeros = _without_zeros(grid)
        blocks += [screen.style("section", plain(grid.title))] if grid.title else []
        blocks += [_on_screen(part, screen) for part in _cut(without_zeros, screen.width)]
        notes += [LEFT_OUT.format(", ".join(zeros))] if zeros else []
    for name, signature in document.signatures:
        parts = signature.split("|")
        notes.append(f"{name}: {signature if screen.whole else '|'.join(parts[:2])}")
    if document.signatures and not screen.whole:
        notes[-1] += " (complete: -v)"
    fill = partial(textwrap.fill, width=screen.width, initial_indent="- ", subsequent_indent="  ")
    return "\n\n".join([*blocks, "\n".join(fill(plain(note)) for note in notes)]).rstrip() + "\n"


def _without_zeros(grid: Grid) -> tuple[Grid, list[str]]:
    """Return the grid without columns of counts that are all 0, and the titles of these columns."""
    cells = [line.cells for line in grid.lines if line.kind == "row"]
    zeros = []
    for index, field in enumerate(grid.fields):
        column = [line[index] for line in cells if len(line) > index]
        if index and field.show is format_count and column and all(value in (0, "") for value in column):
            zeros.append(index)
    visible_grid = grid.only([index for index in range(len(grid.fields)) if index not in zeros])
    return visible_grid, [grid.fields[index].title for index in zeros]


def _on_screen(grid: Grid, screen: Screen) -> str:
    rows = []
    for line in grid.lines:
        label, *texts = map(plain, grid.texts(line))
        rows.append([screen.style(line.kind, label), *texts])
    headings = [plain(field.title) for field in grid.fields]
    return fitted(rows, headings, [field.align for field in grid.fields], screen.width)


def fitted(
    rows: Sequence[Sequence[str]], headings: Sequence[str], align: Sequence[str], width: int | None
) -> str:
    """Return a table with line breaks in its text if it is too wide.

    Headings are broken between words; numbers and addresses are never broken.
    """
    if width is None:
        return tabulate(rows, headings, tablefmt="simple", colalign=align, disable_numparse=True)
    room, least = [], []
    for side, heading, *column in zip(align, headings, *rows, strict=True):
        needed = _widest(column)
        room.append(max(_shown_width(heading), needed))
        unbreakable = [*heading.split(), *(word for text in column for word in text.split() if "://" in word)]
        least.append(max(_widest(unbreakable), needed if side == "right" else min(NARROWEST, needed)))
    while sum(room) + 2 * (len(room) - 1) > width:
        index = max(range(len(room)), key=lambda index: (room[index] > least[index], room[index]))
        if room[index] <= least[index]:
            break
        room[index] -= 1
    # tabulate could break texts, but it parses 1,680 as a number and fails; it also makes headings two
    # columns wider than necessary.
    cut = [
        [_broken(text, width_of_column) for text, width_of_column in zip(row, room, strict=True)]
        for row in (headings, *rows)
    ]
    rule = ["-" * _widest("\n".join(column).split("\n")) for column in zip(*cut, strict=True)]
    lines = [cut[0], rule, *cut[1:]]
    return tabulate(lines, tablefmt="plain", colalign=align, disable_numparse=True)


def _widest(texts: Sequence[str]) -> int:
    return max(map(_shown_width, texts), default=0)


def _broken(text: str, width: int) -> str:
    """Return a text broken into lines, each with its style."""
    style, bare, end = re.fullmatch(r"(\x1b\[\d+m)?(.*?)(\x1b\[0m)?", text, re.DOTALL).groups("")  # type: ignore[union-attr]
    if (bare_width := _shown_width(bare)) <= width:
        return text
    letters = max(1, width * len(bare) // bare_width)  # wide characters take two columns
    return "\n".join(f"{style}{line}{end}" for line in textwrap.wrap(bare, letters))


def _shown_width(text: str) -> int:
    return max(0, wcswidth(UNSTYLED.sub("", text)))


UNSTYLED = re.compile("\x1b\\[[0-9]*m")


def _cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield as few grids as possible that fit the width, each with the labels; columns stay complete."""
    labels, *parts = grid.parts
    places_so_far = labels
    for part in parts:
        drawn = _on_screen(grid.only([*places_so_far, *part]), Screen(width))
        if places_so_far != labels and _widest(drawn.splitlines()) > width:
            yield grid.only(places_so_far)
            places_so_far = labels
        places_so_far = [*places_so_far, *part]
    yield grid.only(places_so_far)
