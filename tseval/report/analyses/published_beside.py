"""Published accuracies next to means over seeds: their rows, their means, and the ranks of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.comparisons import marks_of_seeds
from tseval.analysis.means import cut, mean, rank_rows
from tseval.analysis.rows import ROW, row_places, row_sets
from tseval.errors import RunError
from tseval.report.columns import column_of, columns_of, distinct_headings, printed_decimals, refuse_unlike
from tseval.report.document import Field, Line
from tseval.report.numbers import format_mean_rank, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.columns import Column, Key
    from tseval.report.opened import RunSet
    from tseval.report.published import Board
    from tseval.runs import Run


def published_columns(boards: Sequence[Board], runs: Sequence[Run], groups: Sequence[str]) -> list[Column]:
    """Return the published models of boards, with headings that differ from those of groups.

    Raises:
        RunError: The runs and the boards have different items.
    """
    columns = [column for board in boards for column in columns_of(board)]
    if columns:
        refuse_unlike([*(column_of(run) for run in runs), *columns])
    return distinct_headings([
        replace(column, heading=f"{column.heading} ({column.origin})") if column.heading in groups else column
        for column in columns
    ])  # fmt: skip


def in_common(opened: RunSet, published: Sequence[Column]) -> tuple[RunSet, int]:
    """Return the runs on the rows that all published models have, and the number of other rows.

    Raises:
        RunError: There are no common rows.
    """
    listed = [set(column.keys(())) for column in published]
    rows, row_of = row_places(next(iter(opened.verdicts.values())), ())
    keys = _keys(rows)
    common = [row for row, key in enumerate(keys) if all(key in of_model for of_model in listed)]
    if not common:
        raise RunError(
            f"{published[0].origin} and the runs have no row in common.\n  Leave out {published[0].origin}."
        )
    chosen = np.isin(row_of, common)
    verdicts = {name: frame[chosen].reset_index(drop=True) for name, frame in opened.verdicts.items()}
    n_others = len(set(keys).union(*listed)) - len(common)
    return replace(opened, verdicts=verdicts), n_others


@dataclass(frozen=True, slots=True)
class Beside:
    """Published models next to groups on the same rows.

    Attributes:
        decimals: The number of decimals to which all accuracies are truncated before they are ranked.
        rows: Printed accuracies, a row for each row of the table and a column for each published model.
        means: Printed mean accuracies, a row for each set of rows and a column for each published model.
        sets: Names of the sets of rows.
        mean_ranks: Mean ranks over these sets, with a column for each group, then for each published model.
        overall: Ranks by mean accuracy over all rows, in the same order.
    """

    decimals: int
    rows: pd.DataFrame
    means: pd.DataFrame
    sets: list[str]
    mean_ranks: pd.DataFrame
    overall: list[Fraction | None]

    @property
    def fields(self) -> list[Field]:
        """The columns of the published models."""
        return [Field(str(name), show=lambda value: format_share(value, self.decimals)) for name in self.rows]

    def lines_of_ranks(self) -> list[Line]:
        """Return mean ranks and ranks as lines of a table in which each group also has an interval column."""
        labels = [*self.sets[:-1], "Mean arithmetic rank"]
        ranks = [
            Line((label, *self._spaced(list(of_set))), show=format_mean_rank)
            for label, of_set in zip(labels, self.mean_ranks.itertuples(index=False), strict=True)
        ]
        overall = Line(
            ("Rank by mean accuracy", *self._spaced(self.overall)), show=lambda rank: str(int(rank))
        )
        return [Line(("Mean rank, 1 is best",), "section"), *ranks, overall]

    def _spaced(self, values: Sequence[object]) -> list[object]:
        """Return the values with an empty cell for the interval of each group."""
        n_groups = len(values) - self.rows.shape[1]
        return [
            cell
            for index, value in enumerate(values)
            for cell in ((value, "") if index < n_groups else (value,))
        ]

    def note(self) -> str:
        """Return a note on how accuracies are ranked, and on the missing intervals of published models."""
        return (
            f"Published accuracies have {self.decimals} decimals, so all accuracies are truncated to "
            f"{self.decimals} decimals before ranking, and undecidable items count as wrong. Published "
            "accuracies have no intervals, because nothing says which items were right."
        )


def rank_beside(groups: Mapping[str, Sequence[pd.DataFrame]], published: Sequence[Column]) -> Beside:
    """Rank groups among published models.

    The accuracy of a group in a row is the mean over its seeds, with undecidable items counted as wrong.

    Args:
        groups: Verdicts of the seeds of each group, on the rows of the published models.
    """
    decimals = printed_decimals(published)
    assert decimals is not None
    rows, row_of = row_places(next(iter(groups.values()))[0], ())
    keys, n_items = _keys(rows), np.bincount(row_of, minlength=len(rows))
    ranked: dict[str, list[Fraction | None]] = {}
    for name, seeds in groups.items():
        n_right = np.bincount(row_of, marks_of_seeds(seeds)[0].sum(axis=1), minlength=len(rows))
        ranked[name] = [
            cut(Fraction(int(right), int(n) * len(seeds)), decimals)
            for right, n in zip(n_right, n_items, strict=True)
        ]
    printed = {}
    for column in published:
        exact, texts = column.exact(()), column.shown(())
        printed[column.heading] = [texts.get(key) for key in keys]
        values = [exact.get(key) for key in keys]
        ranked[column.heading] = [None if value is None else cut(value, decimals) for value in values]
    accuracies = pd.DataFrame(ranked, dtype=object)
    ranks, sets = rank_rows(accuracies), list(row_sets(rows))
    as_printed = accuracies[list(printed)]
    means_of_sets = [mean(as_printed.loc[places]) for _, places in sets]
    ranks_of_sets = [mean(ranks.loc[places]) for _, places in sets]
    means_of_all = pd.DataFrame([mean(accuracies)], dtype=object)
    return Beside(
        decimals=decimals,
        rows=pd.DataFrame(printed, dtype=object),
        means=pd.DataFrame(means_of_sets, columns=list(printed)).astype(object),
        sets=[name_of_set for name_of_set, _ in sets],
        mean_ranks=pd.DataFrame(ranks_of_sets, columns=ranks.columns, dtype=object),
        overall=rank_rows(means_of_all).to_numpy().tolist()[0],
    )


def _keys(rows: pd.DataFrame) -> list[Key]:
    return [
        tuple(None if pd.isna(cell) else cell for cell in row)
        for row in rows[[*ROW]].itertuples(index=False, name=None)
    ]
