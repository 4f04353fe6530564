"""The lines of the table on a page: the text and the sort value of each cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING

from tseval.errors import plain
from tseval.report.layout import RANK_LABEL, RANK_OF_ONE_ROW, grid_of_columns, recorded, shows_means
from tseval.report.numbers import (
    NONE,
    format_interval,
    format_n_eff,
    format_rank_set,
    format_rounded_difference,
    format_share,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from tseval.report.document import Document
    from tseval.report.table import Table
    from tseval.web.facts import ModelFacts


N_SHADES = 11  # shades of the heat map; the middle one is chance


@dataclass(frozen=True, slots=True)
class PageCell:
    """The text of a cell, and the value for sorting. Only accuracies have a shade of the heat map.

    `items` is the number of items with the model's effective sample size, `n_items` the number alone.
    """

    text: str
    shade: int | None = None
    interval: str | None = None
    rank: str | None = None
    n_items: str | None = None
    items: str | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of the table on a page. `part` is its place in the table: `body`, `means`, `facts`, ..."""

    kind: str
    part: str
    label: str
    group: str
    row: int | None = None
    cells: tuple[PageCell, ...] = ()

    def of_cells(self, name: str) -> str | list[str | None] | None:
        """Return one attribute of all cells; a single value if it is the same in all."""
        values = [getattr(cell, name) for cell in self.cells]
        return values if len({*values}) > 1 else values[0] if values else None


def page_lines(table: Table) -> list[PageLine]:
    """Return the lines of a table as `tseval table` prints it: Table 4 of Bhatt et al. 2020."""
    grid = grid_of_columns(table)
    n_rows, n_means = len(table.rows), len(table.means) if shows_means(table) else 0
    parts = [*["body"] * n_rows, *["means"] * n_means, *["ranks"] * n_means]
    exact = [*_body(table), *(_means(table) if n_means else ())]
    lines: list[PageLine] = []
    i, group = 0, ""
    for line in grid.lines:
        label, *texts = map(plain, grid.texts(line))
        part = parts[i] if i < len(parts) else "facts"
        if line.kind != "row":
            group = label if line.kind == "group" else ""
            lines.append(PageLine(line.kind, part, label, group))
            continue
        if label in (RANK_LABEL, RANK_OF_ONE_ROW):
            part = "rank"
        cells = exact[i] if i < len(exact) else []
        cells += [_of_number(value, part) for value in line.cells[1 + len(cells) :]]
        cells += [PageCell("")] * (len(texts) - len(cells))
        with_texts = (replace(cell, text=text) for cell, text in zip(cells, texts, strict=True))
        lines.append(PageLine("row", part, label, group, i if part == "body" else None, tuple(with_texts)))
        i += 1
    return lines


def hidden_lines(models: Sequence[ModelFacts], n_people: int) -> list[PageLine]:
    """Return the lines with means on hidden words and their differences; empty if there are none."""
    if not any(model.hidden for model in models):
        return []
    means, differences = [], []
    for result in (model.hidden for model in models):
        if result is None:
            means.append(PageCell(NONE))
            differences.append(PageCell(NONE))
            continue
        suffix = ", worse" if result.worse else ""
        means.append(
            PageCell(
                format_share(result.mean),
                shade(result.mean),
                format_interval(result.interval),
                value=result.mean,
            )
        )
        differences.append(
            PageCell(
                f"{format_rounded_difference(result.difference)}{suffix}",
                interval=format_interval(result.difference_interval),
                value=result.difference,
            )
        )
    no_people = [PageCell("")] * n_people
    return [
        PageLine("section", "hidden", "Hidden words", ""),
        PageLine("row", "hidden", "Mean (hidden)", "", cells=(*means, *no_people)),
        PageLine("row", "hidden", "Hidden minus public", "", cells=(*differences, *no_people)),
    ]


def mean_lines(means: Document) -> list[PageLine]:
    """Return the lines of means over seeds (`tseval.report.analyses.seeds`), with intervals in the cells."""
    (grid,) = means.grids
    lines = []
    for line in grid.lines:
        label, *texts = grid.texts(line)
        cells = []
        for index, *joined in grid.parts[1:]:
            value = line.cells[index] if line.kind == "row" else None
            mean = _mean_of_seeds(value)
            cells.append(
                PageCell(
                    text=texts[index - 1],
                    shade=None if mean is None else shade(mean),
                    interval=None if mean is None or not joined else texts[joined[0] - 1],
                )
            )
        lines.append(PageLine(line.kind, "seeds", label, "", cells=tuple(cells)))
    return lines


def _mean_of_seeds(value: object) -> float | None:
    """Return the text of a mean over seeds: with its standard deviation, or as published."""
    if isinstance(value, tuple):
        return None if isnan(value[0]) else float(value[0])
    number = _number(value)
    return number if number is not None and 0 <= number <= 1 else None


def people_of(table: Table) -> list[str]:
    """Return the names of the columns after the models: people's accuracies, which have no rank."""
    return [field.title for field in grid_of_columns(table).fields[1 + len(table.columns) :]]


def _body(table: Table) -> Iterator[list[PageCell]]:
    columns = []
    for number, column in enumerate(table.columns):
        rows = recorded(table, number).to_dict("records")
        columns.append(dict(zip(column.keys(()), map(_cell, rows), strict=True)))
    for key in table.rows.itertuples(index=False, name=None):
        yield [cells.get(key, PageCell(NONE)) for cells in columns]


def _cell(row: Mapping[Hashable, object]) -> PageCell:
    numbers = {str(name): float(value) for name, value in row.items() if isinstance(value, Real)}
    numbers = {name: value for name, value in numbers.items() if not isnan(value)}
    if "accuracy" not in numbers:
        return PageCell(NONE)
    n_items = items = f"{numbers['n_items']:,.0f} items" if "n_items" in numbers else None
    if items and row["clusters"] and "n_eff" in numbers:  # without clusters, it is the number of items
        items += f", {format_n_eff(numbers['n_eff'], fixed=bool(row['fixed']))} eff. items"
    if items and numbers.get("n_half_known"):
        items += f", {numbers['n_half_known']:,.0f} half known"
    return PageCell(
        text="",
        shade=shade(numbers["accuracy"]),
        interval=format_interval((numbers["low"], numbers["high"])) if "low" in numbers else None,
        rank=_rank(numbers),
        n_items=n_items,
        items=items,
        value=numbers["accuracy"],
    )


def _rank(known: Mapping[str, float]) -> str | None:
    if "rank" not in known:
        return None
    if "rank_low" not in known:
        return f"{known['rank']:.0f}"
    return format_rank_set(Fraction(known["rank"]), int(known["rank_low"]), int(known["rank_high"]))


def _means(table: Table) -> Iterator[list[PageCell]]:
    for mean in table.means:
        cells = []
        for value, estimate in zip(mean.accuracy, mean.estimates, strict=True):
            ends = None if estimate is None else format_interval((estimate.low, estimate.high))
            exact = None if value is None else float(value)
            cells.append(PageCell("", None if exact is None else shade(exact), ends, value=exact))
        yield cells
    for mean in table.means:
        yield [PageCell("", value=None if rank is None else float(rank)) for rank in mean.rank]


def _of_number(value: object, part: str) -> PageCell:
    """Return a cell that has only a value; numbers are used for sorting."""
    number = _number(value)
    return PageCell(
        "", shade(number) if number is not None and part in ("body", "means") else None, value=number
    )


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def shade(accuracy: float) -> int:
    """Return the shade of an accuracy. The middle shade is .5, chance."""
    return min(int(accuracy * N_SHADES), N_SHADES - 1)
