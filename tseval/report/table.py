"""Table 4: one row per construction, one column per model, then means, ranks and facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.accuracy import ROW, as_names, in_table_order
from tseval.analysis.answers import estimate_means, rank_models
from tseval.analysis.means import means
from tseval.analysis.ranks import cut, mean, rank_rows
from tseval.report.boards import Board
from tseval.report.columns import (
    Column,
    column_of,
    columns_of,
    distinct_headings,
    human_of,
    printed_decimals,
    refuse_unlike,
)
from tseval.report.notes import notes_of
from tseval.report.shown import RUN_DECIMALS
from tseval.report.totals import feature_means

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from tseval.analysis.answers import Answers, Ranking
    from tseval.analysis.means import Mean
    from tseval.report.columns import Key
    from tseval.runs import Run


@dataclass(frozen=True, slots=True)
class Table:
    """Models side by side, ready to print.

    Attributes:
        columns: The models.
        by: Features that the rows are broken down by.
        rows: `dependency`, `phenomenon`, `construction`, `contrast`, then the features, in table order.
        accuracy: What is printed: `Fraction` or None, one row per row, one column per heading.
            Beside a published board a run's accuracy is cut as the board's are.
        ranks: `Fraction` rank per row and heading, 1 is best, None for a model that lacks the row; only the
            rows that the table defines: those that every published board in it lists, or all.
        overall: Rank of every model by its mean over these rows, None where it lacks one.
        ranking: The ranks that models may have, and how sure mean ranks are; None where that is not known.
        means: Mean accuracy and mean rank over sets of rows: dependencies, phenomena, values of features, and
            all rows last.
        notes: What a reader must know, one sentence or two each.
        humans: What people get right, for reading alone: it takes no part in ranks.
        unsplit: The same without a breakdown, for a table that has one.
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

    @property
    def decimals(self) -> int:
        """Decimals to which accuracies are cut where people read them."""
        return printed_decimals(self.columns) or RUN_DECIMALS


def build_table(
    sources: Sequence[Run | Board | Column], by: str | Sequence[str] = (), humans: Sequence[Column] = ()
) -> Table:
    """Put runs and published boards side by side.

    Args:
        sources: Runs and boards, in the order of the columns; in place of a run its column,
            where that is made already, in a table without a breakdown.
        by: Feature or features to break the rows down by.
        humans: What people get right, besides what boards know of that; of a table without a breakdown.

    Raises:
        RunError: The sources are over different items.
        SuiteError: A run's suite has no such feature.
        BoardError: A board cannot be broken down.
    """
    by = as_names(by)
    table = _infer(_compare(sources, by, humans))
    table = replace(table, unsplit=_compare(sources, ()) if by else None)
    return replace(table, notes=tuple(notes_of(table)))


def _compare(
    sources: Sequence[Run | Board | Column], by: tuple[str, ...], humans: Sequence[Column] = ()
) -> Table:
    """Put accuracies and ranks side by side; how sure they are stays open."""
    columns: list[Column] = []
    for source in sources:
        if isinstance(source, Board):
            columns += columns_of(source, by)
        else:
            columns.append(source if isinstance(source, Column) else column_of(source, by))
    refuse_unlike(columns)
    people = [human_of(source) for source in sources if isinstance(source, Board)]
    named = distinct_headings([*columns, *(human for human in people if human is not None), *humans])
    columns, beside = named[: len(columns)], named[len(columns) :]
    rows = _rows(columns, by)
    columns = _over_rows(columns, rows, by)
    accuracy = _frame(columns, rows, {column.heading: column.exact(by) for column in columns})
    ranked = _frame(columns, rows, {column.heading: column.ranked_by(by) for column in columns})
    defined = _defined(columns, rows, by)
    parts = (rows.loc[defined], accuracy.loc[defined], ranked.loc[defined])
    *sets, whole = means(*parts)
    (overall,) = rank_rows(pd.DataFrame([mean(parts[2])], dtype=object)).to_numpy().tolist()
    return Table(
        columns=tuple(columns),
        by=by,
        rows=rows,
        accuracy=accuracy,
        ranks=rank_rows(parts[2]),
        overall=tuple(overall),
        ranking=None,
        means=(*sets, *feature_means(*parts, by), whole),
        notes=(),
        humans=tuple(beside),
    )


def _infer(table: Table) -> Table:
    """Say how sure the mean accuracies and the ranks of runs are."""
    columns = table.columns
    models = [column.answers for column in columns if column.answers is not None]
    found = []
    estimated = estimate_means(models, [one.rows for one in table.means])
    for one, of_runs in zip(table.means, estimated, strict=True):
        runs = iter(of_runs)
        estimates = [None if column.answers is None else next(runs) for column in columns]
        known = zip(one.accuracy, estimates, strict=True)
        found.append(replace(one, estimates=tuple(None if value is None else of for value, of in known)))
    ranking = rank_models(models) if len(models) == len(columns) > 1 else None
    return replace(table, means=tuple(found), ranking=ranking)


def _rows(columns: Sequence[Column], by: Sequence[str]) -> pd.DataFrame:
    """Collect the rows of all columns, each once, in table order."""
    keys = dict.fromkeys(key for column in columns for key in column.keys(by))
    return in_table_order(pd.DataFrame(list(keys), columns=[*ROW, *by], dtype=object), by)


def _over_rows(columns: Sequence[Column], rows: pd.DataFrame, by: Sequence[str]) -> list[Column]:
    """Let what runs got right stand in the rows of the table; what is the same for several is kept once."""
    places = {key: place for place, key in enumerate(rows.itertuples(index=False, name=None))}
    first: Answers | None = None
    found = []
    for column in columns:
        if column.answers is not None:
            place_of = np.array([places[key] for key in column.keys(by)])
            answers = replace(column.answers, rows=place_of[column.answers.rows])
            first = first or answers
            column = replace(column, answers=answers.sharing(first))  # noqa: PLW2901 - the same, over other rows
        found.append(column)
    return found


def _frame(
    columns: Sequence[Column], rows: pd.DataFrame, values: Mapping[str, Mapping[Key, Fraction | None]]
) -> pd.DataFrame:
    """Lay values out as rows and columns of the table, cut as the published ones beside them are."""
    decimals = printed_decimals(columns)
    keys = list(rows.itertuples(index=False, name=None))

    def shown(value: Fraction | None) -> Fraction | None:
        return value if value is None or decimals is None else cut(value, decimals)

    laid = {heading: [shown(of.get(key)) for key in keys] for heading, of in values.items()}
    return pd.DataFrame(laid, dtype=object)


def _defined(columns: Sequence[Column], rows: pd.DataFrame, by: Sequence[str]) -> pd.Index[int]:
    """Find the rows that means and ranks are over: those that all published boards list, or all."""
    listed = [set(column.keys(by)) for column in columns if column.published]
    keys = rows.itertuples(index=False, name=None)
    return rows.index[[all(key in board for board in listed) for key in keys]]
