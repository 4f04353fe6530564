"""All pairs of models, row by row and over the rows of a table: what two of them differ by, in a word."""

from __future__ import annotations

from itertools import combinations
from math import ceil, floor, trunc
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.accuracy import factors_of_any
from tseval.analysis.comparisons import DEFAULT_MARGIN, paired_differences
from tseval.analysis.design import Design
from tseval.analysis.differences import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.analysis.accuracy import Answers
    from tseval.analysis.differences import Difference
    from tseval.report.table import Table

OUTCOMES = ("better", "worse", "equivalent", "undecided")
# The difference and the ends of its interval, in thousandths, and the place of its word in `OUTCOMES`.
Told = tuple[int, int, int, int] | None


def compare_pairs(table: Table) -> dict[tuple[int, int], list[Told]] | None:
    """Compare all pairs of the models of a table, as `tseval table ONE OTHER --against OTHER` does each.

    Tests are corrected by Holm over the rows of a pair, and likewise over its means.

    Returns:
        Places of two models to what is told of the first on each row, then on each mean; None in it where no
        item is decidable for both. None where it is not known which items a model got right, or there is
        one model only.
    """
    models = [column.answers for column in table.columns if column.answers is not None]
    if len(models) < len(table.columns) or len(models) < 2:
        return None
    rows = [*([place] for place in range(len(table.rows))), *(list(mean.rows) for mean in table.means)]
    found = [_differences(models, own) for own in rows]
    n_rows = len(table.rows)
    pairs = {}
    for place, pair in enumerate(combinations(range(len(models)), 2)):
        own = [of_row[place] for of_row in found]
        for at, rows_of_mean in enumerate(rows[n_rows:], n_rows):
            if any(own[row] is None for row in rows_of_mean):  # as models that lack a row have no mean
                own[at] = None
        pairs[pair] = [*_told(own[:n_rows]), *_told(own[n_rows:])]
    return pairs


def _differences(models: Sequence[Answers], rows: Sequence[int]) -> list[Difference | None]:
    """Set all pairs against each other over some rows, each row counted once."""
    of_rows = models[0].rows
    chosen = np.isin(of_rows, rows)
    design = Design.of(factors_of_any(models).take(chosen), of_rows[chosen])
    marked = {
        str(place): ((one.correct & one.decidable)[chosen], one.decidable[chosen])
        for place, one in enumerate(models)
    }
    return paired_differences(marked, list(combinations(marked, 2)), design)


def _told(found: Sequence[Difference | None]) -> list[Told]:
    """Cut what is known of each as tables do: differences towards 0, intervals outwards."""
    words = iter(compare([one for one in found if one is not None], DEFAULT_MARGIN))
    return [
        None
        if one is None
        else (
            trunc(round(one.value * 1000, 6)),
            floor(one.low * 1000),
            ceil(one.high * 1000),
            OUTCOMES.index(next(words).word),
        )
        for one in found
    ]
