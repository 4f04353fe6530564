"""Models against one of them, row by row of a table and over its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.clustered import marks_of_seeds, paired_differences
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
    """How models, or the means over seeds of architectures, differ from one of them.

    Attributes:
        reference: The model or architecture that all others are compared with.
        rows: The rows of the table: `dependency`, `phenomenon`, `construction`, `contrast`, features, and of
            the reference `accuracy`, of all that its seeds can decide, and `spread`, the standard deviation
            between seeds; missing where nothing is decidable, the spread also where there is one seed.
        of_rows: For each other model a frame with a line for each row: `n_items`, decidable for all seeds of
            both, and the columns of `tseval.analysis.pairwise.COMPARED`.
        means: The sets of rows that means are over: `over`, `n_rows`, `accuracy` and `spread` of means that
            count each row once.
        of_means: For each other model a frame with a line for each of these sets, as in `of_rows`. A set has
            no difference where one of its rows has none.
    """

    reference: str
    rows: pd.DataFrame
    of_rows: Mapping[str, pd.DataFrame]
    means: pd.DataFrame
    of_means: Mapping[str, pd.DataFrame]


def against(
    groups: Mapping[str, Sequence[pd.DataFrame]], reference: str, by: Sequence[str], margin: float
) -> Against:
    """Compare models, or architectures by their means over seeds, on the items that are decidable for both.

    Tests are corrected by Holm over all models and rows, and likewise over all models and means.

    Args:
        groups: Name of a model to its verdicts alone, or of an architecture to those of each of its seeds;
            two names or more, the same items in the same order for all.
        reference: One of the names.
        by: Features that rows are broken down by.
        margin: The smallest difference of accuracies that matters, between 0 and 1.

    Raises:
        RunError: The margin is no difference of accuracies.
    """
    first = groups[reference][0]
    keys, row_of = row_places(first, by)
    others = [name for name in groups if name != reference]
    # What is told is of the others, so they come before the one that all are compared with.
    marked = {name: marks_of_seeds(groups[name]) for name in (*others, reference)}
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
    of_sets = np.array([[own[rows].mean() for own in levels.T] for _, rows in sets])
    heads = pd.DataFrame([(over, len(rows)) for over, rows in sets], columns=["over", "n_rows"])
    return Against(
        reference,
        keys.assign(**_over_seeds(levels)),
        _tell({name: own[: len(keys)] for name, own in found.items()}, margin),
        heads.assign(**_over_seeds(of_sets)),
        _tell({name: own[len(keys) :] for name, own in found.items()}, margin),
    )


def _accuracies(
    correct: NDArray[np.bool_], decidable: NDArray[np.bool_], row_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the accuracy of each seed on each row, (rows, seeds), not a number where nothing is decidable."""
    n_rows = int(row_of.max()) + 1
    n_items = np.bincount(row_of[decidable], minlength=n_rows)[:, None]
    right = [np.bincount(row_of[decidable], own[decidable], n_rows) for own in correct.T]
    accuracies: NDArray[np.float64] = np.full((n_rows, len(right)), np.nan)
    return np.divide(np.stack(right, axis=1), n_items, out=accuracies, where=n_items > 0)


def _over_seeds(accuracies: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Give mean and spread of accuracies, (rows, seeds); of one seed there is no spread."""
    spread = accuracies.std(axis=1, ddof=1) if accuracies.shape[1] > 1 else np.full(len(accuracies), np.nan)
    return {"accuracy": accuracies.mean(axis=1), "spread": spread}


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
