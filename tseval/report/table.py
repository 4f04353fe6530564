"""Table 4: one row per construction, one column per model, then means, ranks and facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import ROW, as_names, in_table_order
from tseval.analysis.means import means
from tseval.analysis.ranks import complete_rows, cut, rank_rows
from tseval.report.boards import Board
from tseval.report.columns import column_of, columns_of, distinct_headings, refuse_unlike
from tseval.report.shown import RUN_DECIMALS
from tseval.report.totals import feature_means

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from tseval.analysis.means import Mean
    from tseval.report.columns import Column, Key
    from tseval.runs import Run


@dataclass(frozen=True, slots=True)
class Table:
    """Models side by side, ready to print.

    Attributes:
        columns: The models.
        by: Features that the rows are broken down by.
        rows: `dependency`, `phenomenon`, `construction`, `contrast`, then the features, in table order.
        accuracy: What was compared: `Fraction` or None, one row per row, one column per heading.
            Beside a published board a run's accuracy is cut as the board's are.
        ranks: `Fraction` rank per row and heading, 1 is best; only the rows that every model has.
        means: Mean accuracy and mean rank over sets of rows: dependencies, phenomena, values of features, and
            all rows last.
        notes: What a reader must know, one sentence or two each.
        unsplit: The same without a breakdown, for a table that has one.
    """

    columns: tuple[Column, ...]
    by: tuple[str, ...]
    rows: pd.DataFrame
    accuracy: pd.DataFrame
    ranks: pd.DataFrame
    means: tuple[Mean, ...]
    notes: tuple[str, ...]
    unsplit: Table | None = None

    @property
    def decimals(self) -> int:
        """Decimals to which accuracies are cut where people read them."""
        return printed_decimals(self.columns) or RUN_DECIMALS


def build_table(sources: Sequence[Run | Board], by: str | Sequence[str] = ()) -> Table:
    """Put runs and published boards side by side.

    Args:
        sources: Runs and boards, in the order of the columns.
        by: Feature or features to break the rows down by.

    Raises:
        RunError: The sources are over different items.
        SuiteError: A run's suite has no such feature.
        BoardError: A board cannot be broken down.
    """
    by = as_names(by)
    columns: list[Column] = []
    for source in sources:
        columns += columns_of(source, by) if isinstance(source, Board) else [column_of(source, by)]
    refuse_unlike(columns)
    columns = distinct_headings(columns)
    rows = _rows(columns, by)
    unsplit = build_table(sources) if by else None
    keys = list(rows.itertuples(index=False, name=None))
    values = {column.heading: _as_compared(column, printed_decimals(columns), by) for column in columns}
    accuracy = pd.DataFrame(
        {heading: [column.get(key) for key in keys] for heading, column in values.items()}, dtype=object
    )
    *parts, whole = means(rows, accuracy)
    return Table(
        columns=tuple(columns),
        by=by,
        rows=rows,
        accuracy=accuracy,
        ranks=rank_rows(complete_rows(accuracy)),
        means=(*parts, *feature_means(rows, accuracy, by), whole),
        notes=tuple(_notes(columns, accuracy, unsplit)),
        unsplit=unsplit,
    )


def _rows(columns: Sequence[Column], by: Sequence[str]) -> pd.DataFrame:
    """Collect the rows of all columns, each once, in table order."""
    keys = dict.fromkeys(key for column in columns for key in column.keys(by))
    return in_table_order(pd.DataFrame(list(keys), columns=[*ROW, *by], dtype=object), by)


def _as_compared(column: Column, decimals: int | None, by: Sequence[str]) -> dict[Key, Fraction | None]:
    """Give a column's exact accuracies, cut as the published ones beside it are."""
    values = column.exact(by)
    if decimals is None:
        return values
    return {key: None if value is None else cut(value, decimals) for key, value in values.items()}


def _notes(columns: Sequence[Column], accuracy: pd.DataFrame, unsplit: Table | None) -> Iterator[str]:
    """Say what a reader must know to read the numbers right."""
    runs = [column for column in columns if not column.published]
    decimals = printed_decimals(columns)
    if len(columns) > len(runs) > 0:
        yield (
            f"Published accuracies are cut to {decimals} decimals, so those of the runs are cut alike, "
            "not rounded, before they are ranked."
        )
    elif runs:
        ranked = "; ranks compare exact counts" if len(runs) > 1 else ""
        yield f"Accuracies are cut to {RUN_DECIMALS} decimals, not rounded{ranked}."
    for column in runs:
        n_items, tied, undecidable = (
            int(column.rows[name].sum()) for name in ("n_items", "n_tied", "n_undecidable")
        )
        if tied or undecidable:
            yield (
                f"{column.heading}: of {n_items:,} contrasts {tied:,} are ties, counted as wrong, and "
                f"{undecidable:,} are undecidable, left out of accuracy."
            )
        if column.too_long:
            longer = "have a sentence longer than the model reads"
            yield f"{column.heading}: {column.too_long:,} of the undecidable {longer}."
        yield from (f"{column.heading}: {warning.rstrip('.')}." for warning in column.warnings)
    if unsplit is not None and len(unsplit.rows) < len(accuracy):
        yield "Means and ranks are over the parts of rows, not over whole rows."
    left_out = len(accuracy) - len(complete_rows(accuracy))
    if left_out:
        yield f"{left_out} of {len(accuracy)} rows lack a value and are left out of means and ranks."
    if not all(column.complete for column in columns):
        yield "Only a part of the suite was scored: these are not results on the suite."
    if len({column.score for column in columns}) > 1:
        modes = ", ".join(f"{column.heading}: {column.score}" for column in columns)
        yield f"The columns are scored in different ways ({modes}), so ranks do not compare models alone."
    if len(columns) > 1 or not runs:  # a run alone prints none of the facts that these explain
        yield from dict.fromkeys(note for column in columns for note in column.notes)


def printed_decimals(columns: Sequence[Column]) -> int | None:
    """Give the decimals that published accuracies are cut to, None without a published column."""
    return min((column.decimals for column in columns if column.decimals is not None), default=None)
