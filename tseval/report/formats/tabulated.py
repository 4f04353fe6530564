"""Grids as plain text, for the formats that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tseval.report.document import Grid, Line


def tabulated(grid: Grid, style: str, escape: Callable[[str], str], marks: Mapping[str, str]) -> str:
    """Print a grid.

    Args:
        grid: Its text is escaped here.
        style: As tabulate calls it.
        escape: Makes text harmless in the format.
        marks: Kind of a line to the markup around its label.
    """

    def cells(line: Line) -> list[str]:
        label, *others = map(escape, grid.texts(line))
        return [marks[line.kind].format(label), *others]

    return tabulate(
        [cells(line) for line in grid.lines],
        headers=[escape(field.heading) for field in grid.fields],
        tablefmt=style,
        colalign=[field.align for field in grid.fields],
        disable_numparse=True,
    )
