"""Documents on a terminal, within its width."""

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
    """A terminal that a document is shown on.

    Attributes:
        whole: Whether signatures are shown to their end.
    """

    width: int
    styled: bool = False
    whole: bool = False

    def style(self, kind: str, text: str) -> str:
        """Set the label of a section in bold, that of a group in italic."""
        return f"\x1b[{STYLES[kind]}m{text}\x1b[0m" if self.styled and kind in STYLES and text else text


STYLES = {"section": 1, "group": 3}
MOST_NOTES = 5  # that are printed; files have all
MORE_NOTES = "More notes: {}. To print them, add --notes."
NARROWEST = 16  # characters that a column of text keeps, however little room there is
LEFT_OUT = "Not shown, because 0 in every row: {}."


def with_first_notes(document: Document) -> Document:
    """Return the document with its first notes, the most important, and the number of the others."""
    n_more = len(document.notes) - MOST_NOTES
    if n_more <= 1:  # a line that counts one note is as long as the note
        return document
    return replace(document, notes=[*document.notes[:MOST_NOTES], MORE_NOTES.format(n_more)])


def as_screen(document: Document, screen: Screen) -> str:
    """Return a document as a terminal shows it: columns that fit, none of zeros, short signatures."""
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
    """Return the grid without counts that are 0 in every row, and the names of these."""
    cells = [line.cells for line in grid.lines if line.kind == "row"]
    zeros = []
    for index, field in enumerate(grid.fields):
        column = [line[index] for line in cells if len(line) > index]
        if index and field.show is format_count and column and all(value in (0, "") for value in column):
            zeros.append(index)
    rest = grid.only([index for index in range(len(grid.fields)) if index not in zeros])
    return rest, [grid.fields[index].title for index in zeros]


def _on_screen(grid: Grid, screen: Screen) -> str:
    rows = []
    for line in grid.lines:
        label, *others = map(plain, grid.texts(line))
        rows.append([screen.style(line.kind, label), *others])
    headings = [plain(field.title) for field in grid.fields]
    return fitted(rows, headings, [field.align for field in grid.fields], screen.width)


def fitted(
    rows: Sequence[Sequence[str]], headings: Sequence[str], align: Sequence[str], width: int | None
) -> str:
    """Return a table without rules between its columns; where it is too wide, its text is broken into lines.

    Headings are broken between words; numbers and addresses never.
    """
    if width is None:
        return tabulate(rows, headings, tablefmt="simple", colalign=align, disable_numparse=True)
    room, least = [], []
    for side, heading, *column in zip(align, headings, *rows, strict=True):
        needed = _widest(column)
        room.append(max(_shown_width(heading), needed))
        whole = [*heading.split(), *(word for text in column for word in text.split() if "://" in word)]
        least.append(max(_widest(whole), needed if side == "right" else min(NARROWEST, needed)))
    while sum(room) + 2 * (len(room) - 1) > width:
        index = max(range(len(room)), key=lambda index: (room[index] > least[index], room[index]))
        if room[index] <= least[index]:
            break
        room[index] -= 1
    # tabulate would break texts itself, but takes 1,680 for a number that it then cannot read; and would give
    # headings two columns more than they need.
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
    """Return a text in lines, each in its style."""
    style, bare, end = re.fullmatch(r"(\x1b\[\d+m)?(.*?)(\x1b\[0m)?", text, re.DOTALL).groups("")  # type: ignore[union-attr]
    if (bare_width := _shown_width(bare)) <= width:
        return text
    letters = max(1, width * len(bare) // bare_width)  # wide ones take two columns
    return "\n".join(f"{style}{line}{end}" for line in textwrap.wrap(bare, letters))


def _shown_width(text: str) -> int:
    return max(0, wcswidth(UNSTYLED.sub("", text)))


UNSTYLED = re.compile("\x1b\\[[0-9]*m")


def _cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield as few grids as stand within a width, each with the labels; no column of values is cut."""
    labels, *parts = grid.parts
    places_so_far = labels
    for part in parts:
        drawn = _on_screen(grid.only([*places_so_far, *part]), Screen(width))
        if places_so_far != labels and _widest(drawn.splitlines()) > width:
            yield grid.only(places_so_far)
            places_so_far = labels
        places_so_far = [*places_so_far, *part]
    yield grid.only(places_so_far)
