"""Models against one of them, row by row of a table and over its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.clustered import marks, paired_differences
from tseval.analysis.inference.design import Design
from tseval.analysis.inference.factors import Factors
from tseval.analysis.means import row_sets
from tseval.analysis.pairwise import compared
from tseval.analysis.places import row_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.differences import Difference


@dataclass(frozen=True, slots=True)
class Against:
    """How models differ from one of them.

    Attributes:
        reference: The model that all others are compared with.
        rows: The rows of the table: `dependency`, `phenomenon`, `construction`, `contrast`, features, and
            `accuracy`, that of the reference, of all that it can decide; missing where that is nothing.
        of_rows: For each other model a frame with a line for each row: `n_items`, decidable for both, and the
            columns of `tseval.analysis.pairwise.COMPARED`.
        means: The sets of rows that means are over: `over`, `n_rows`, `accuracy`, each row counted once.
        of_means: For each other model a frame with a line for each of these sets, as in `of_rows`. A set has
            no difference where one of its rows has none.
    """

    reference: str
    rows: pd.DataFrame
    of_rows: Mapping[str, pd.DataFrame]
    means: pd.DataFrame
    of_means: Mapping[str, pd.DataFrame]


def against(
    verdicts: Mapping[str, pd.DataFrame], reference: str, by: Sequence[str], margin: float
) -> Against:
    """Compare models with one of them, on the items that are decidable for both.

    Tests are corrected by Holm over all models and rows, and likewise over all models and means.

    Args:
        verdicts: Name of a model to its verdicts, two or more; the same items in the same order for all.
        reference: One of the names.
        by: Features that rows are broken down by.
        margin: The smallest difference of accuracies that matters, between 0 and 1.

    Raises:
        RunError: The margin is no difference of accuracies.
    """
    first = verdicts[reference]
    keys, row_of = row_places(first, by)
    others = [name for name in verdicts if name != reference]
    # What is told is of the others, so they come before the one that all are compared with.
    marked = {name: marks(verdicts[name]) for name in (*others, reference)}
    factors, pairs = Factors.of_verdicts(first), [(name, reference) for name in others]
    sets = list(row_sets(keys))
    found: dict[str, list[Difference | None]] = {name: [] for name in others}
    for rows in (*([row] for row in range(len(keys))), *(rows for _, rows in sets)):
        own = np.isin(row_of, rows)
        within = {name: (correct[own], known[own]) for name, (correct, known) in marked.items()}
        of_pairs = paired_differences(within, pairs, Design.of(factors.take(own), row_of[own]))
        for name, one in zip(others, of_pairs, strict=True):
            lacks_a_row = len(rows) > 1 and any(found[name][row] is None for row in rows)
            found[name].append(None if lacks_a_row else one)
    levels = _accuracies(*marked[reference], row_of)
    heads = pd.DataFrame(
        [(over, len(rows), levels[rows].mean()) for over, rows in sets],
        columns=["over", "n_rows", "accuracy"],
    )
    return Against(
        reference,
        keys.assign(accuracy=levels),
        _tell({name: own[: len(keys)] for name, own in found.items()}, margin),
        heads,
        _tell({name: own[len(keys) :] for name, own in found.items()}, margin),
    )


def _accuracies(
    correct: NDArray[np.bool_], decidable: NDArray[np.bool_], row_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the accuracy of each row, not a number where nothing is decidable."""
    n_rows = int(row_of.max()) + 1
    n_items = np.bincount(row_of[decidable], minlength=n_rows)
    right = np.bincount(row_of[decidable], correct[decidable], n_rows)
    accuracies: NDArray[np.float64] = np.full(n_rows, np.nan)
    return np.divide(right, n_items, out=accuracies, where=n_items > 0)


def _tell(found: Mapping[str, Sequence[Difference | None]], margin: float) -> dict[str, pd.DataFrame]:
    """Say what is known of differences, all of which are one family of tests; a frame for each model."""
    flat = [one for own in found.values() for one in own]
    told = compared(flat, margin)
    told.insert(0, "n_items", [0 if one is None else one.n_items for one in flat])
    size = len(flat) // len(found)
    return {
        name: told.iloc[place * size : (place + 1) * size].reset_index(drop=True)
        for place, name in enumerate(found)
    }
