"""A table as a document: sections, groups, a line per row, then means and facts."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from tseval.analysis.accuracy import ROW
from tseval.analysis.means import SECTIONS
from tseval.report.content import EFFECTS, FACTORS, OF_A_RUN, WORTH, content_of, human_mean, records_of
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.notes import is_low
from tseval.report.shown import NONE, interval, mean_rank, rank_set, share, spread_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    from tseval.analysis.means import Mean
    from tseval.report.columns import Column, Key
    from tseval.report.table import Table

    CellsOf = Callable[[Table], list[list[object]]]


def lay_out(table: Table) -> Document:
    """Make the document of a table.

    One run alone shows what is told of its rows; several columns show accuracies side by side, then ranks.
    """
    run = table.columns[0]
    alone = len(table.columns) == 1 and not run.published
    rows = records_of(table)
    return Document(
        grids=(_single(table, run) if alone else grid_of_columns(table),),
        records=rows.drop(columns=FACTORS),  # a cell holds one value
        content=content_of(table, rows),
        notes=table.notes,
        signatures=[
            (column.heading, column.signature) for column in table.columns if column.signature is not None
        ],
    )


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


def _single(table: Table, run: Column) -> Grid:
    """Print what is told of the rows of one run, and its mean accuracies in their column."""
    assert run.keys(table.by) == list(table.rows.itertuples(index=False, name=None))
    # Where items are independent, each is worth one.
    told = [field for field in OF_A_RUN if field is not WORTH or any(run.rows["clusters"])]
    if EFFECTS[0].names[0] in run.rows:
        told[-2:-2] = EFFECTS  # before ties

    people = [Field(human.heading, show=share) for human in table.humans]

    def cells_of(part: Table) -> list[list[object]]:
        rows = part.columns[0].rows.assign(accuracy=part.accuracy[run.heading])
        return [*(field.values(rows) for field in told), *(_of_people(part, human) for human in part.humans)]

    lines = list(_body(table, cells_of))
    lines.append(Line(("Mean accuracy, each row counted once",), "section"))
    for mean in table.means:
        (of_mean,) = mean.estimates
        ends = None if of_mean is None else (of_mean.low, of_mean.high)
        known: dict[tuple[str, ...], object] = {("accuracy",): mean.accuracy[0], ("low", "high"): ends}
        of_people = (human_mean(table, human, mean) for human in table.humans)
        cells = (known.get(field.names, "") for field in told)
        lines.append(Line((_over(table, mean.over), *cells, *of_people)))
    return Grid((Field(f"{run.heading} on {run.suite}", align="left"), *told, *people), lines)


def grid_of_columns(table: Table) -> Grid:
    """Print accuracies side by side, then mean accuracies and mean ranks over the same sets of rows.

    Of a table without a breakdown: a line for each row, then one for each of `table.means` twice, then facts;
    sections and groups between them. What people get right stands behind the models, where accuracies do.
    """
    show = partial(share, decimals=table.decimals)
    fields = [Field(column.heading, show=show) for column in (*table.columns, *table.humans)]
    lines = list(
        _body(
            table,
            lambda part: [
                *(_accuracies(part, column) for column in part.columns),
                *(_of_people(part, human) for human in part.humans),
            ],
        )
    )
    lines.append(Line(("Mean accuracy, each row counted once",), "section"))
    for mean in table.means:
        of_people = (human_mean(table, human, mean) for human in table.humans)
        lines.append(Line((_over(table, mean.over), *_means(table, mean), *of_people)))
    lines += _ranks_and_facts(table)  # shorter lines: nothing stands under people
    return Grid((Field(table.columns[0].suite, align="left"), *fields), lines)


def _ranks_and_facts(table: Table) -> Iterator[Line]:
    """Say what is told of models alone."""
    yield Line(("Mean rank, 1 is best",), "section")
    *parts, whole_table = table.means
    for mean in parts:
        yield Line((mean.over, *mean.rank), show=mean_rank)
    yield Line(("Mean arithmetic rank", *whole_table.rank), show=mean_rank)
    yield from _ranking(table)
    coverages = [_coverage(column) for column in table.columns]
    if any(column.coverage not in (None, 1) for column in table.columns):
        yield Line(("Coverage, decided of all", *coverages))
    perplexities = [column.perplexity or None for column in table.columns]
    parameters = [column.parameters or None for column in table.columns]
    for label, facts in (("Validation perplexity", perplexities), ("Parameters", parameters)):
        if any(facts):
            yield Line((label, *facts))


def _of_people(table: Table, human: Column) -> list[object]:
    exact = human.exact(table.by)
    return [exact.get(key) for key in table.rows.itertuples(index=False, name=None)]


def _ranking(table: Table) -> list[Line]:
    """Say how sure mean ranks are, and which rank each model may have by its mean accuracy."""
    if table.ranking is None:
        return []
    found = table.ranking
    ends = zip(found.low.tolist(), found.high.tolist(), strict=True)
    sets = zip(table.overall, found.overall.low, found.overall.high, strict=True)
    return [
        Line(("95% interval", *ends), show=partial(interval, decimals=2)),
        Line(
            (
                "Rank by mean accuracy",
                *(None if rank is None else rank_set(rank, low, high) for rank, low, high in sets),
            )
        ),
    ]


def _coverage(column: Column) -> str | None:
    if column.coverage is None:
        return None
    return share(column.coverage) + (" (low)" if is_low(column) else "")


def _body(table: Table, cells_of: CellsOf) -> Iterator[Line]:
    """Give the body under its headings; a row of several parts stands whole above them."""
    rows = _lines_of_rows(table, cells_of)
    n_parts = Counter(key for key, _ in rows)
    wholes = {} if table.unsplit is None else dict(_lines_of_rows(table.unsplit, cells_of))

    def with_wholes() -> Iterator[tuple[Key, Line]]:
        for key, line in rows:
            whole_row = wholes.pop(key, None)
            if whole_row is not None and n_parts[key] > 1:
                yield key, whole_row
            yield key, line

    return headed(with_wholes())


def headed(lines: Iterable[tuple[Key, Line]]) -> Iterator[Line]:
    """Put a section above the lines of a dependency, and a group above those of a phenomenon.

    Args:
        lines: The dependency and the phenomenon of each, and what else tells rows apart, and the line.
    """
    section = group = None
    for (dependency, phenomenon, *_), line in lines:
        if dependency != section and dependency is not None:
            yield Line((SECTIONS.get(str(dependency), str(dependency)),), "section")
        if (dependency, phenomenon) != group:
            yield Line((str(phenomenon),), "group")
        section, group = dependency, (dependency, phenomenon)
        yield line


def _lines_of_rows(table: Table, cells_of: CellsOf) -> list[tuple[Key, Line]]:
    """Make the line of every row, with what it is a row, or a part of a row, of."""
    keys = table.rows[[*ROW]].itertuples(index=False, name=None)
    columns = zip(row_labels(table.rows), *cells_of(table), strict=True)
    return [(key, Line(cells)) for key, cells in zip(keys, columns, strict=True)]


def _accuracies(table: Table, column: Column) -> list[object]:
    """Give the accuracies of a column, published ones as they were printed."""
    printed = column.shown(table.by)
    keys = table.rows.itertuples(index=False, name=None)
    return [
        printed.get(key) or value for key, value in zip(keys, table.accuracy[column.heading], strict=True)
    ]


def _means(table: Table, mean: Mean) -> list[object]:
    """Give the mean accuracies over a set of rows, those of several seeds with their spread."""
    cells: list[object] = []
    for column, value in zip(table.columns, mean.accuracy, strict=True):
        spread = column.spread.get(mean.over)
        shown = None if value is None or spread is None else share(value, table.decimals)
        cells.append(value if shown is None or spread is None else spread_beside(shown, spread))
    return cells


def _over(table: Table, over: str) -> str:
    last = table.means[-1]
    if over != last.over:
        return over
    return "The one row" if last.n_rows == 1 else f"All {last.n_rows} rows"
