"""The table of runs and boards: its rows, means and ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.correctness import Correctness, estimate_means
from tseval.analysis.means import Mean, cut, mean, means, rank_rows
from tseval.analysis.ranks import Ranking, rank_models
from tseval.analysis.rows import ROW, as_names, in_table_order
from tseval.report.columns import (
    Column,
    Key,
    column_of,
    columns_of,
    distinct_headings,
    human_of,
    printed_decimals,
    refuse_unlike,
)
from tseval.report.notes import notes_of
from tseval.report.numbers import RUN_DECIMALS
from tseval.report.published import Board

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from tseval.runs import Run


def feature_means(
    rows: pd.DataFrame, accuracy: pd.DataFrame, ranked: pd.DataFrame, by: Sequence[str]
) -> Iterator[Mean]:
    """Yield means over the rows with one value of a feature; each row counts once.

    A feature with a single value is left out, because its mean is the mean over all rows.
    """
    for name in by:
        values = rows[name].dropna().sort_values().unique()
        for value in values if len(values) > 1 else ():
            chosen = rows.index[rows[name] == value]
            *_, overall = means(rows.loc[chosen], accuracy.loc[chosen], ranked.loc[chosen])
            yield replace(overall, over=f"{name} {value}")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of several models, ready to print.

    Attributes:
        columns: The models.
        accuracy: `Fraction` or None, by row and heading. With a published board, the accuracies of runs are
            truncated like those of the board.
        ranks: Ranks, 1 is best, on the rows that every published board in the table has; without boards, on
            all.
        overall: Ranks by the mean over these rows.
        means: Means over dependencies, phenomena, values of features, and over all rows last.
        unsplit: The same table without a breakdown.
        of_board: Whether a leaderboard shows it; a single row then has no means and mean ranks.
    """

    columns: tuple[Column, ...]
    by: tuple[str, ...]
    rows: pd.DataFrame
    accuracy: pd.DataFrame
    ranks: pd.DataFrame
    overall: tuple[Fraction | None, ...]
    ranking: Ranking | None
    means: tuple[Mean, ...]
    notes: tuple[str, ...]
    humans: tuple[Column, ...] = ()
    unsplit: Table | None = None
    of_board: bool = False

    @property
    def decimals(self) -> int:
        """The number of decimals to which printed accuracies are truncated."""
        return printed_decimals(self.columns) or RUN_DECIMALS


def build_table(
    sources: Sequence[Run | Board | Column], by: str | Sequence[str] = (), humans: Sequence[Column] = ()
) -> Table:
    """Return a table of runs and published boards.

    In a table without a breakdown, a column may replace a run, and `humans` adds human accuracies to those of
    boards.
    """
    by = as_names(by)
    table = _infer(_compare(sources, by, humans))
    table = replace(table, unsplit=_compare(sources, ()) if by else None)
    return replace(table, notes=tuple(notes_of(table)))


def of_board(table: Table) -> Table:
    """Return a table in the form for a leaderboard: a single row is its own mean."""
    table_of_board = replace(table, of_board=True)
    return replace(table_of_board, notes=tuple(notes_of(table_of_board)))


def _compare(
    sources: Sequence[Run | Board | Column], by: tuple[str, ...], humans: Sequence[Column] = ()
) -> Table:
    """Return a table of accuracies and ranks, without intervals."""
    columns: list[Column] = []
    for source in sources:
        if isinstance(source, Board):
            columns += columns_of(source, by)
        else:
            columns.append(source if isinstance(source, Column) else column_of(source, by))
    refuse_unlike(columns)
    people = [human_of(source) for source in sources if isinstance(source, Board)]
    named = distinct_headings([*columns, *(human for human in people if human is not None), *humans])
    columns, human_columns = named[: len(columns)], named[len(columns) :]
    rows = _rows(columns, by)
    columns = _over_rows(columns, rows, by)
    accuracy = _frame(columns, rows, {column.heading: column.exact(by) for column in columns})
    ranked = _frame(columns, rows, {column.heading: column.ranked_by(by) for column in columns})
    # The rows of ranks: those that all published boards have, or else all.
    listed = [set(column.keys(by)) for column in columns if column.published]
    keys = rows.itertuples(index=False, name=None)
    defined = rows.index[[all(key in board for board in listed) for key in keys]]
    parts = (rows.loc[defined], accuracy.loc[defined], ranked.loc[defined])
    *sets, overall_mean = means(*parts)
    mean_accuracies = pd.DataFrame([mean(parts[2])], dtype=object)
    (overall,) = rank_rows(mean_accuracies).to_numpy().tolist()
    return Table(
        columns=tuple(columns),
        by=by,
        rows=rows,
        accuracy=accuracy,
        ranks=rank_rows(parts[2]),
        overall=tuple(overall),
        ranking=None,
        means=(*sets, *feature_means(*parts, by), overall_mean),
        notes=(),
        humans=tuple(human_columns),
    )


def _infer(table: Table) -> Table:
    columns = table.columns
    models = [column.answers for column in columns if column.answers is not None]
    with_estimates = []
    estimated = estimate_means(models, [row_mean.rows for row_mean in table.means])
    for row_mean, of_runs in zip(table.means, estimated, strict=True):
        runs = iter(of_runs)
        estimates = [None if column.answers is None else next(runs) for column in columns]
        pairs = zip(row_mean.accuracy, estimates, strict=True)
        with_estimates.append(
            replace(row_mean, estimates=tuple(None if value is None else result for value, result in pairs))
        )
    # Runs with different numbers of contexts have different numbers of verdicts, which cannot be paired.
    is_paired = len({len(model.correct) for model in models}) == 1
    ranking = rank_models(models) if is_paired and len(models) == len(columns) > 1 else None
    return replace(table, means=tuple(with_estimates), ranking=ranking)


def _rows(columns: Sequence[Column], by: Sequence[str]) -> pd.DataFrame:
    keys = dict.fromkeys(key for column in columns for key in column.keys(by))
    return in_table_order(pd.DataFrame(list(keys), columns=[*ROW, *by], dtype=object), by)


def _over_rows(columns: Sequence[Column], rows: pd.DataFrame, by: Sequence[str]) -> list[Column]:
    """Return columns whose answers refer to the rows of the table; equal data are stored once."""
    number_of = {key: number for number, key in enumerate(rows.itertuples(index=False, name=None))}
    first: Correctness | None = None
    on_all_rows = []
    for column in columns:
        if column.answers is not None:
            place_of = np.array([number_of[key] for key in column.keys(by)])
            answers = replace(column.answers, rows=place_of[column.answers.rows])
            first = first or answers
            column = replace(column, answers=answers.sharing(first))  # noqa: PLW2901 - the same, over other rows
        on_all_rows.append(column)
    return on_all_rows


def _frame(
    columns: Sequence[Column], rows: pd.DataFrame, values: Mapping[str, Mapping[Key, Fraction | None]]
) -> pd.DataFrame:
    """Arrange values in rows and columns of the table, truncated like published values in it."""
    decimals = printed_decimals(columns)
    keys = list(rows.itertuples(index=False, name=None))

    def cut_value(value: Fraction | None) -> Fraction | None:
        return value if value is None or decimals is None else cut(value, decimals)

    data = {heading: [cut_value(by_key.get(key)) for key in keys] for heading, by_key in values.items()}
    return pd.DataFrame(data, dtype=object)
