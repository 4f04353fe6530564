"""Models against each other, item by item: what only one of two gets right.

Source: Bansal et al. 2020, tables 4 to 19. The test is McNemar's (1947), in its exact form; over the pairs of
a table it is corrected by Holm (1979).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.inference.differences import holm

if TYPE_CHECKING:
    from collections.abc import Mapping

PAIR_COLUMNS = ("first", "second", "n_items", "both", "only_first", "only_second", "neither", "p", "p_holm")


def pairwise(verdicts: Mapping[str, pd.DataFrame], by: str | None = None) -> pd.DataFrame:
    """Compare all pairs of models on the same items.

    Args:
        verdicts: Name of a model to its verdicts; the same items in the same order for all.
        by: A feature; there is a table for each of its values, after the one over all items.

    Returns:
        One row per table and pair of models: the value of `by` (missing over all items), the two models,
        `n_items` decidable for both, how many of them both, one alone or neither got right, `p` of McNemar's
        exact test (two-sided), and `p_holm`, corrected over the pairs of the table.
    """
    first = next(iter(verdicts.values()))
    tables = [(None, pd.Series(data=True, index=first.index))]
    if by is not None:
        tables += [
            (value, (first[by] == value).fillna(False)) for value in sorted(first[by].dropna().unique())
        ]
    rows = []
    for value, chosen in tables:
        kept = {name: frame[chosen.to_numpy()] for name, frame in verdicts.items()}
        pairs = [_pair(a, b, kept[a], kept[b]) for a, b in combinations(kept, 2)]
        corrected = holm([p for *_, p in pairs])
        rows += [(value, *pair, adjusted) for pair, adjusted in zip(pairs, corrected, strict=True)]
    frame = pd.DataFrame(rows, columns=[by or "all", *PAIR_COLUMNS])
    # Beside the missing value of the first table, whole numbers would turn into fractions.
    return frame.assign(**{frame.columns[0]: pd.Series([value for value, *_ in rows], dtype=object)})


def _pair(
    a: str, b: str, first: pd.DataFrame, second: pd.DataFrame
) -> tuple[str, str, int, int, int, int, int, float]:
    decidable = ~(first["undecidable"].to_numpy(bool) | second["undecidable"].to_numpy(bool))
    right = first["correct"].to_numpy(bool)[decidable], second["correct"].to_numpy(bool)[decidable]
    both, only_first, only_second = (
        int(cell.sum()) for cell in (right[0] & right[1], right[0] & ~right[1], ~right[0] & right[1])
    )
    n_items = int(decidable.sum())
    neither = n_items - both - only_first - only_second
    return a, b, n_items, both, only_first, only_second, neither, mcnemar(only_first, only_second)


def mcnemar(only_first: int, only_second: int) -> float:
    """Give the two-sided p of McNemar's exact test; 1 where the two never differ.

    Where two models are equally good, an item that one of them alone gets right is as likely to be the one's
    as the other's.
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0
