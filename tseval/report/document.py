"""A document: grids for readers, records for programs, notes for both; before any format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, isnan, trunc
from typing import TYPE_CHECKING, Literal

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


NONE = "–"
# A run has thousands of items to a row, a paper two decimals.
RUN_DECIMALS = 3


def whole(count: int) -> str:
    """Show a count."""
    return f"{count:,}"


def share(value: Fraction | float, decimals: int = RUN_DECIMALS) -> str:
    """Show a share, cut to some decimals."""
    scale = 10**decimals
    # As a float, a share of whole numbers may lie a rounding error below its decimals: 0.29 * 1000 < 290.
    scaled = value * scale if isinstance(value, Fraction) else round(value * scale, 6)
    return f"{floor(scaled) / scale:.{decimals}f}"


def worth(n_eff: float) -> str:
    """Show how many independent items some items are worth."""
    return whole(round(n_eff)) if n_eff >= 0.5 else "< 1"


def interval(ends: tuple[float, float], decimals: int = RUN_DECIMALS) -> str:
    """Show an interval, cut outwards, so that it holds the accuracy shown beside it."""
    low, high = ends
    if isnan(low):
        return NONE
    scale = 10**decimals
    return f"{floor(low * scale) / scale:.{decimals}f} to {ceil(high * scale) / scale:.{decimals}f}"


def rank_set(rank: Fraction, low: int, high: int) -> str:
    """Show a rank with the ranks that it may be: `2 [1–4]`."""
    return f"{int(rank)} [{low}]" if low == high else f"{int(rank)} [{low}–{high}]"


def difference(value: float) -> str:
    """Show a difference of shares with its sign, cut towards 0."""
    scale = 10**RUN_DECIMALS
    # As for a share, what lies a rounding error below its decimals is not cut.
    parts = trunc(round(value * scale, 6))
    return f"{parts / scale:+.{RUN_DECIMALS}f}" if parts else f"{0:.{RUN_DECIMALS}f}"


def correlation(value: float) -> str:
    """Show a correlation, cut towards 0."""
    return difference(value).removeprefix("+")


def spread_beside(mean: str, spread: str) -> str:
    """Show a mean over seeds with the spread between them.

    >>> spread_beside("0.652", "0.013")
    '0.652 ± 0.013'
    """
    return f"{mean} ± {spread}"


def mean_rank(value: Fraction) -> str:
    """Show a mean rank as Bhatt et al. 2020 do: cut to two decimals, no zeros at the end."""
    return share(value, 2).rstrip("0").rstrip(".")


def probability(p: float) -> str:
    """Show the outcome of a test."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid.

    Attributes:
        heading: Above it.
        names: Columns of a frame that its values are taken from; of several, a value is a tuple.
        show: How readers see a value.
        align: Side on which the values stand.
        joined: Whether it says more of what the field before it says, and is not parted from it.
    """

    heading: str
    names: tuple[str, ...] = ()
    show: Callable[..., str] = str
    align: Literal["left", "right"] = "right"
    joined: bool = False

    def values(self, frame: pd.DataFrame) -> list[object]:
        """Take the exact values, one per row of the frame."""
        columns = [frame[name].astype(object) for name in self.names]
        return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a grid.

    Attributes:
        cells: An exact value for each field; a section or a group has its label alone.
        kind: What it is; a section holds groups, a group rows.
        show: How readers see its values, where not as the fields say.
    """

    cells: tuple[object, ...]
    kind: Literal["section", "group", "row"] = "row"
    show: Callable[..., str] | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for readers; `title` is empty where it needs none."""

    fields: Sequence[Field]
    lines: Sequence[Line]
    title: str = ""

    def texts(self, line: Line) -> list[str]:
        """Show every value of a line: text as it is, what is missing as a dash."""
        cells = [*line.cells, *[""] * (len(self.fields) - len(line.cells))]
        return [
            _text(value, line.show or field.show) for value, field in zip(cells, self.fields, strict=True)
        ]

    @property
    def parts(self) -> list[list[int]]:
        """Places of the fields that stand together; the first part labels the lines."""
        starts = [place for place, field in enumerate(self.fields) if not (place and field.joined)]
        ends = [*starts[1:], len(self.fields)]
        return [list(range(start, end)) for start, end in zip(starts, ends, strict=True)]

    def only(self, places: Sequence[int]) -> Grid:
        """Keep some fields."""
        lines = [
            replace(line, cells=tuple(line.cells[place] for place in places if place < len(line.cells)))
            for line in self.lines
        ]
        return replace(self, fields=[self.fields[place] for place in places], lines=lines)


@dataclass(frozen=True, slots=True)
class Document:
    """What is told about runs and boards. All text in it may come from outside; each format escapes it.

    Attributes:
        grids: What readers see.
        records: One row per model and number, full precision: what csv holds.
        content: What json holds, by key, in its order; a frame is a list of its rows.
        notes: What a reader must know, one sentence or two each.
        signatures: Name of each model that has one, and its run's signature.
    """

    grids: Sequence[Grid]
    records: pd.DataFrame
    content: Mapping[str, object]
    notes: Sequence[str]
    signatures: Sequence[tuple[str, str]]


def side_by_side(
    keys: Sequence[Field], frames: Mapping[str, pd.DataFrame], measures: Sequence[Field]
) -> tuple[list[Field], list[Line]]:
    """Put models beside each other: what their rows share, then what was measured of each.

    Args:
        keys: Taken from the first model.
        frames: Name of each model to its rows; the same rows for all.
        measures: Taken from every model; one without a heading stands under the model's name, and those with
            one beside it.
    """
    first = next(iter(frames.values()))
    fields = [replace(key, joined=place > 0) for place, key in enumerate(keys)]
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
