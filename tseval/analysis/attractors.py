"""Accuracy by the nouns between subject and verb: how many there are, and how many are attractors.

Source: Bhatt et al. 2020, Figure 3 and Table 2; the features are defined by Linzen et al. 2016.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import COUNTS
from tseval.analysis.clustered import count_clustered
from tseval.analysis.selection import require_features

if TYPE_CHECKING:
    from collections.abc import Sequence

N, ATTRACTORS, OTHERS = "n_intervening", "n_attractors", "n_non_attractors"
_FIX = "Take a suite whose items say it: agreement, or a file that tseval data agreement wrote."


def joint_grid(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts for every number of intervening nouns and of attractors among them.

    Args:
        verdicts: One row per item and contrast, with `n_intervening` and `n_attractors`; rows in which one
            is missing are left out.

    Returns:
        A row for every n up to the largest there is and every k from 0 to n, without items too: `n_items`,
        `n_correct`, `n_tied`, `n_undecidable`; `accuracy`, the correct share of the decidable items, and
        what `count_clustered` tells of it, which is missing where no item is decidable.

    Raises:
        SuiteError: The suite has not both features.
    """
    known = _known(verdicts)
    cells = [(n, k) for n in range(int(known[N].max()) + 1) for k in range(n + 1)]
    return _count(known, [N, ATTRACTORS], cells)


def by_non_attractors(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts for every number of intervening nouns that are no attractors.

    Args:
        verdicts: As for `joint_grid`; the caller holds distance and attractors fixed.

    Returns:
        A row for every number up to the largest there is, in the columns of `joint_grid`.

    Raises:
        SuiteError: The suite has not both features.
    """
    known = _known(verdicts)
    known = known.assign(**{OTHERS: known[N] - known[ATTRACTORS]})
    return _count(known, [OTHERS], [(n,) for n in range(int(known[OTHERS].max()) + 1)])


def _known(verdicts: pd.DataFrame) -> pd.DataFrame:
    require_features(verdicts, (N, ATTRACTORS), _FIX)
    return verdicts.dropna(subset=[N, ATTRACTORS])


def _count(verdicts: pd.DataFrame, by: list[str], cells: Sequence[tuple[int, ...]]) -> pd.DataFrame:
    """Count verdicts in the given cells, in their order."""
    counts = count_clustered(verdicts, by)
    counts.index = pd.MultiIndex.from_frame(counts.index.to_frame(index=False).astype("int64"))
    counts = counts.reindex(pd.MultiIndex.from_tuples(cells, names=by))
    return counts.fillna(dict.fromkeys(COUNTS, 0)).astype(dict.fromkeys(COUNTS, "int64")).reset_index()
