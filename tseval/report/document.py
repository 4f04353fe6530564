"""Documents: what readers see of tables and analyses; as Markdown, CSV, JSON, LaTeX, and on a terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pandas as pd

from tseval.analysis.intervals import confidence_percent
from tseval.errors import as_html
from tseval.report.numbers import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


# The heading of a column of intervals; the confidence level takes the place of the braces when it is printed.
INTERVAL_HEADING = "{level} interval"


def interval_heading() -> str:
    """Return the heading of a column of intervals, such as `95% interval`."""
    return INTERVAL_HEADING.format(level=confidence_percent())


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid: its heading, the columns of a frame that it shows (of several, as a tuple), how.

    A field that is joined says more of what the field before it says, and is not parted from it.
    """

    heading: str
    names: tuple[str, ...] = ()
    show: Callable[..., str] = str
    align: Literal["left", "right"] = "right"
    joined: bool = False

    @property
    def title(self) -> str:
        """The heading as it is printed, with the confidence level of today."""
        return interval_heading() if self.heading == INTERVAL_HEADING else self.heading

    def values(self, frame: pd.DataFrame) -> list[object]:
        """Return the exact values, one per row of the frame."""
        columns = [frame[name].astype(object) for name in self.names]
        return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a grid: a value for each field; of a section, or a group of rows, the label alone."""

    cells: tuple[object, ...]
    kind: Literal["section", "group", "row"] = "row"
    show: Callable[..., str] | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for readers; `title` is empty where it needs none."""

    fields: Sequence[Field]
    lines: Sequence[Line]
    title: str = ""

    @classmethod
    def of(cls, fields: Sequence[Field], rows: pd.DataFrame, title: str = "") -> Grid:
        """Return a grid with a line for each row of a frame."""
        columns = (field.values(rows) for field in fields)
        return cls(fields, [Line(cells) for cells in zip(*columns, strict=True)], title)

    def texts(self, line: Line) -> list[str]:
        """Return the text of every value of a line: text as it is, what is missing as a dash."""
        cells = [*line.cells, *[""] * (len(self.fields) - len(line.cells))]
        return [
            _text(value, line.show or field.show) for value, field in zip(cells, self.fields, strict=True)
        ]

    @property
    def parts(self) -> list[list[int]]:
        """Places of the fields that stand together; the first part labels the lines."""
        starts = [index for index, field in enumerate(self.fields) if not (index and field.joined)]
        ends = [*starts[1:], len(self.fields)]
        return [list(range(start, end)) for start, end in zip(starts, ends, strict=True)]

    def only(self, indices: Sequence[int]) -> Grid:
        """Return the grid with some of its fields."""
        lines = [
            replace(line, cells=tuple(line.cells[index] for index in indices if index < len(line.cells)))
            for line in self.lines
        ]
        return replace(self, fields=[self.fields[index] for index in indices], lines=lines)


@dataclass(frozen=True, slots=True)
class Document:
    """What is told about runs and boards. All text in it may come from outside; each format escapes it.

    `records` have one row per model and number, full precision: what csv holds; `content` is what json holds.
    """

    grids: Sequence[Grid]
    records: pd.DataFrame
    content: Mapping[str, object]
    notes: Sequence[str]
    signatures: Sequence[tuple[str, str]]

    def _repr_html_(self) -> str:
        tables = [
            as_html(grid.title, [field.title for field in grid.fields], map(grid.texts, grid.lines))
            for grid in self.grids
        ]
        notes = (*self.notes, *(f"{name}: {line}" for name, line in self.signatures))
        return "".join(tables) + as_html("", ("Notes",), ((note,) for note in notes))


def side_by_side(
    keys: Sequence[Field], frames: Mapping[str, pd.DataFrame], measures: Sequence[Field]
) -> tuple[list[Field], list[Line]]:
    """Return fields and lines of models side by side: what rows share, then the measures of each model.

    A measure without a heading stands under the model's name, and those with one beside it.
    """
    first = next(iter(frames.values()))
    fields = [replace(key, joined=index > 0) for index, key in enumerate(keys)]
    columns = [key.values(first) for key in keys]
    for name, frame in frames.items():
        fields += [
            replace(measure, heading=measure.heading or name, joined=bool(measure.heading))
            for measure in measures
        ]
        columns += [measure.values(frame) for measure in measures]
    return fields, [Line(cells) for cells in zip(*columns, strict=True)]


def _text(value: object, show: Callable[..., str]) -> str:
    if isinstance(value, str):
        return value
    missing = not isinstance(value, tuple) and pd.isna(value)  # type: ignore[call-overload]
    return NONE if missing else show(value)
