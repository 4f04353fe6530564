"""Means over the random seeds of an architecture, row by row of a table and over its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.clustered import marks_of_seeds
from tseval.analysis.inference.design import Design
from tseval.analysis.inference.estimates import estimate
from tseval.analysis.inference.factors import Factors
from tseval.analysis.inference.seeds import mean_of_seeds, ranks_of_seeds
from tseval.analysis.means import row_sets
from tseval.analysis.places import row_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.rank_sets import RankSets

SEED_COLUMNS = (
    "n_seeds", "n_items", "accuracy", "spread", "low", "high", "se", "df", "clusters", "fixed",
)  # fmt: skip
_NUMBERS = ("accuracy", "spread", "low", "high", "se", "df")


@dataclass(frozen=True, slots=True)
class SeedTable:
    """Architectures side by side, each the mean over its seeds.

    Attributes:
        rows: The rows of the table: `dependency`, `phenomenon`, `construction`, `contrast`, features.
        of_rows: For each architecture a frame with a line for each row, in the columns of `SEED_COLUMNS`:
            `n_items`, decidable for all its seeds; `accuracy`, the mean over seeds; `spread`, the standard
            deviation between them; the 95% interval of the mean for other seeds and other words, its standard
            error and degrees of freedom; the factors. All is missing where nothing is decidable; with one
            seed there is no spread, and the interval is for other words alone.
        means: The sets of rows that means are over: `over` and `n_rows`.
        of_means: For each architecture a frame with a line for each of these sets, each row counted once. It
            is missing where one of its rows is.
        ranks: The ranks that they may have by the mean of all rows, undecidable items wrong, in their order;
            None of a single one.
    """

    rows: pd.DataFrame
    of_rows: Mapping[str, pd.DataFrame]
    means: pd.DataFrame
    of_means: Mapping[str, pd.DataFrame]
    ranks: RankSets | None


def seed_means(groups: Mapping[str, Sequence[pd.DataFrame]], by: Sequence[str] = ()) -> SeedTable:
    """Average over seeds.

    Args:
        groups: Name of an architecture to the verdicts of each of its seeds; the same items in the same order
            for all.
        by: Features that rows are broken down by.
    """
    first = next(iter(groups.values()))[0]
    rows, row_of = row_places(first, by)
    sets = list(row_sets(rows))
    factors = Factors.of_verdicts(first)
    of_rows, of_means, of_all = {}, {}, []
    for name, seeds in groups.items():
        correct, decidable = marks_of_seeds(seeds)
        found = []
        for places in (*([row] for row in range(len(rows))), *(places for _, places in sets)):
            own = np.isin(row_of, places) & decidable
            whole = len(np.unique(row_of[own])) == len(places)
            design = Design.of(factors.take(own), row_of[own])
            found.append(_mean(correct[own], design) if whole else (len(seeds), *(None,) * 9))
        frame = pd.DataFrame(found, columns=[*SEED_COLUMNS]).astype(dict.fromkeys(_NUMBERS, "float64"))
        of_rows[name] = frame[: len(rows)]
        of_means[name] = frame[len(rows) :].reset_index(drop=True)
        of_all.append(correct)
    heads = pd.DataFrame([(over, len(places)) for over, places in sets], columns=["over", "n_rows"])
    ranks = ranks_of_seeds(of_all, Design.of(factors, row_of)) if len(groups) > 1 else None
    return SeedTable(rows, of_rows, heads, of_means, ranks)


def _mean(correct: NDArray[np.bool_], design: Design) -> tuple[object, ...]:
    """Give what is known of a mean over seeds, or of one seed, in the order of `SEED_COLUMNS`."""
    n_items, n_seeds = correct.shape
    factors = design.clusters, design.fixed
    if n_seeds > 1:
        mean = mean_of_seeds(correct, design)
        return (
            n_seeds, n_items, mean.value, mean.spread, mean.low, mean.high, mean.se, mean.df, *factors,
        )  # fmt: skip
    one = estimate(correct[:, 0], np.ones(n_items, bool), design)
    assert one is not None
    return n_seeds, n_items, one.value, None, one.low, one.high, one.se, one.df, *factors
