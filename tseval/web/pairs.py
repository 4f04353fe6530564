"""Compare all pairs of a table's models, for the script of a page."""

from __future__ import annotations

from itertools import combinations
from math import ceil, floor, trunc
from typing import TYPE_CHECKING

from tseval.analysis.comparisons import DEFAULT_MARGIN, differences
from tseval.analysis.correctness import factors_of_any
from tseval.analysis.differences import Difference, judge_differences
from tseval.report.numbers import RUN_DECIMALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.table import Table


OUTCOMES = ("better", "worse", "equivalent", "undecided", "same verdicts")
_UNITS = 10**RUN_DECIMALS  # page.js shows thousandths
# The difference and the ends of its interval, in thousandths, and the index of its word in `OUTCOMES`.
Cell = tuple[int, int, int, int] | None


def compare_pairs(table: Table) -> dict[tuple[int, int], list[Cell]] | None:
    """Compare all pairs of a table's models, each as `tseval table ONE OTHER --against OTHER` does.

    Holm's correction is over the rows of a pair, and separately over its means. A difference is the first
    model's accuracy minus the second's, on each row, then on each mean. Returns None without verdicts, or if
    the models have different numbers of contexts.
    """
    models = [column.answers for column in table.columns if column.answers is not None]
    if len(models) < len(table.columns) or len(models) < 2:
        return None
    if len({len(model.correct) for model in models}) > 1:  # other contexts: no pairs of items
        return None
    sets = [*([index] for index in range(len(table.rows))), *(list(mean.rows) for mean in table.means)]
    marked = {str(index): (model.correct, model.decidable) for index, model in enumerate(models)}
    rows, n_rows = (factors_of_any(models), models[0].rows, sets), len(table.rows)
    differences_of_pairs = differences(marked, rows, list(combinations(marked, 2)))
    return {
        (int(first), int(second)): [*_cells(of_pair[:n_rows]), *_cells(of_pair[n_rows:])]
        for (first, second), of_pair in differences_of_pairs.items()
    }


def _cells(known_differences: Sequence[Difference | None]) -> list[Cell]:
    """Return the cells, rounded as in tables: differences towards 0, intervals outwards."""
    present = [difference for difference in known_differences if difference is not None]
    words = iter(judge_differences(present, DEFAULT_MARGIN))
    return [
        None
        if difference is None
        else (
            trunc(round(difference.value * _UNITS, 6)),
            floor(difference.low * _UNITS),
            ceil(difference.high * _UNITS),
            OUTCOMES.index(next(words).word),
        )
        for difference in known_differences
    ]
