"""Documents: the contents of tables and analyses, for Markdown, CSV, JSON, LaTeX and the terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pandas as pd

from tseval.analysis.intervals import confidence_percent
from tseval.errors import as_html
from tseval.report.numbers import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


# The heading of a column of intervals; `interval_heading` inserts the confidence level.
INTERVAL_HEADING = "{level} interval"


def interval_heading() -> str:
    """Return the heading of a column of intervals, such as `95% interval`."""
    return INTERVAL_HEADING.format(level=confidence_percent())


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid: its heading, its format, and the columns of a frame that it shows.

    Several columns are shown as a tuple. A joined field adds to the field before it and stays next to it.
    """

    heading: str
    names: tuple[str, ...] = ()
    show: Callable[..., str] = str
    align: Literal["left", "right"] = "right"
    joined: bool = False

    @property
    def title(self) -> str:
        """The printed heading, with the current confidence level."""
        return interval_heading() if self.heading == INTERVAL_HEADING else self.heading

    def values(self, frame: pd.DataFrame) -> list[object]:
        """Return the exact values, one per row of the frame."""
        columns = [frame[name].astype(object) for name in self.names]
        return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a grid: a value for each field; for a section or a group of rows, only the label."""

    cells: tuple[object, ...]
    kind: Literal["section", "group", "row"] = "row"
    show: Callable[..., str] | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for print; `title` may be empty."""

    fields: Sequence[Field]
    lines: Sequence[Line]
    title: str = ""

    @classmethod
    def of(cls, fields: Sequence[Field], rows: pd.DataFrame, title: str = "") -> Grid:
        """Return a grid with a line for each row of a frame."""
        columns = (field.values(rows) for field in fields)
        return cls(fields, [Line(cells) for cells in zip(*columns, strict=True)], title)

    def texts(self, line: Line) -> list[str]:
        """Return the text of every value of a line: strings unchanged, missing values as a dash."""
        cells = [*line.cells, *[""] * (len(self.fields) - len(line.cells))]
        return [
            _text(value, line.show or field.show) for value, field in zip(cells, self.fields, strict=True)
        ]

    @property
    def parts(self) -> list[list[int]]:
        """Groups of joined fields, by their indices; the first group labels the lines."""
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
    """The content of a report. All text in it may come from outside, so each format escapes it.

    `records` has one row per model and number, in full precision, for CSV; `content` is for JSON.
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
    """Return fields and lines of several models: the shared columns, then the measures of each model.

    A measure without a heading gets the model's name; measures with a heading are joined to it.
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
