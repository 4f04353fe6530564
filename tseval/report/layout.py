"""The lines of a printed table: sections, groups, one line per row, then means and facts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil, floor, isnan
from typing import TYPE_CHECKING, Literal

from tseval.analysis.means import SECTIONS
from tseval.analysis.ranks import cut

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import pandas as pd

    from tseval.report.columns import Column
    from tseval.report.table import Table

NONE = "–"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a printed table; a section or a group has no cells."""

    kind: Literal["section", "group", "row"]
    label: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A printed table, before any format."""

    corner: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...]


def lay_out(table: Table) -> Layout:
    """Arrange a table for readers.

    One run alone shows its items, interval, ties and undecidable items; several columns show
    accuracies side by side, then ranks.
    """
    run = table.columns[0]
    if len(table.columns) == 1 and not run.published:
        corner = f"{run.heading} on {run.suite}"
        headings: tuple[str, ...] = ("Items", "Accuracy", "95% interval", "Ties", "Undecidable")
        lines = [*_rows(table, _run_cells(table, run)), *_single_mean(table)]
    else:
        corner = run.suite
        headings = tuple(column.heading for column in table.columns)
        lines = [*_rows(table, _accuracy_cells(table)), *_means(table)]
        lines += _facts("Validation perplexity", [column.perplexity for column in table.columns])
        lines += _facts("Parameters", [column.parameters for column in table.columns])
    return Layout(corner, headings, tuple(lines))


def row_labels(rows: pd.DataFrame) -> list[str]:
    """Name every row: the construction, its contrast where it has several, its feature values."""
    keys = list(rows.itertuples(index=False, name=None))
    contrasts = Counter(key[:3] for key in {key[:4] for key in keys})
    labels = []
    for dependency, phenomenon, construction, contrast, *values in keys:
        label = str(construction)
        if contrasts[dependency, phenomenon, construction] > 1:
            label += f" ({contrast.replace(' > ', ' vs. ')})"
        features = zip(rows.columns[4:], values, strict=True)
        labels.append(", ".join([label, *(f"{name} {NONE if v is None else v}" for name, v in features)]))
    return labels


def _rows(table: Table, cells: list[tuple[str, ...]]) -> Iterator[Line]:
    """Give the body: a section per dependency, a group per phenomenon, a line per row."""
    section = group = None
    labels = row_labels(table.rows)
    keys = zip(table.rows["dependency"], table.rows["phenomenon"], strict=True)
    for (dependency, phenomenon), label, values in zip(keys, labels, cells, strict=True):
        if dependency != section and dependency is not None:
            yield Line("section", SECTIONS.get(dependency, str(dependency)))
        if (dependency, phenomenon) != group:
            yield Line("group", str(phenomenon))
        section, group = dependency, (dependency, phenomenon)
        yield Line("row", label, values)


def _run_cells(table: Table, run: Column) -> list[tuple[str, ...]]:
    """Print the counts of one run."""
    assert run.keys(table.by) == list(table.rows.itertuples(index=False, name=None))
    counts = run.rows[["n_items", "n_tied", "n_undecidable"]].itertuples(index=False, name=None)
    intervals = zip(run.rows["low"], run.rows["high"], strict=True)
    return [
        (
            f"{items:,}",
            _cut(accuracy, table.decimals),
            _interval(ends, table.decimals),
            f"{tied:,}",
            f"{out:,}",
        )
        for (items, tied, out), ends, accuracy in zip(
            counts, intervals, table.accuracy[run.heading], strict=True
        )
    ]


def _interval(ends: tuple[float, float], decimals: int) -> str:
    """Print an interval cut outwards, so that it holds the accuracy printed beside it."""
    low, high = ends
    if isnan(low):
        return NONE
    scale = 10**decimals
    return f"{floor(low * scale) / scale:.{decimals}f} to {ceil(high * scale) / scale:.{decimals}f}"


def _accuracy_cells(table: Table) -> list[tuple[str, ...]]:
    """Print accuracies side by side, published ones as they were printed."""
    columns = []
    keys = list(table.rows.itertuples(index=False, name=None))
    for column in table.columns:
        printed = column.printed(table.by)
        values = zip(keys, table.accuracy[column.heading], strict=True)
        columns.append([printed.get(key) or _cut(value, table.decimals) for key, value in values])
    return list(zip(*columns, strict=True))


def _single_mean(table: Table) -> Iterator[Line]:
    """Print the mean accuracies of one run, in its column of accuracies."""
    yield Line("section", "Mean accuracy, each row counted once")
    for mean in table.means:
        yield Line("row", _over(table, mean.over), ("", _cut(mean.accuracy[0], table.decimals), "", "", ""))


def _means(table: Table) -> Iterator[Line]:
    """Print mean accuracies and mean ranks over the same sets of rows."""
    yield Line("section", "Mean accuracy, each row counted once")
    for mean in table.means:
        yield Line("row", _over(table, mean.over), tuple(_cut(v, table.decimals) for v in mean.accuracy))
    yield Line("section", "Mean rank, 1 is best")
    for mean in table.means[:-1]:
        yield Line("row", mean.over, tuple(map(_rank, mean.rank)))
    yield Line("row", "Mean arithmetic rank", tuple(map(_rank, table.means[-1].rank)))


def _facts(label: str, values: list[str | None]) -> Iterator[Line]:
    if any(values):
        yield Line("row", label, tuple(value or NONE for value in values))


def _over(table: Table, over: str) -> str:
    last = table.means[-1]
    if over != last.over:
        return over
    return "The one row" if last.n_rows == 1 else f"All {last.n_rows} rows"


def _cut(value: Fraction | None, decimals: int) -> str:
    """Print a number cut to some decimals."""
    return NONE if value is None else f"{float(cut(value, decimals)):.{decimals}f}"


def _rank(value: Fraction | None) -> str:
    """Print a mean rank as the paper does: cut to two decimals, no zeros at the end."""
    printed = _cut(value, 2)
    return printed.rstrip("0").rstrip(".") if "." in printed else printed
