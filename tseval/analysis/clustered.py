"""Verdicts as inference takes them: what is right, what is decidable, and which items share words."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.accuracy import count_groups
from tseval.analysis.inference.design import Design
from tseval.analysis.inference.estimates import estimate
from tseval.analysis.inference.factors import Factors
from tseval.analysis.inference.seeds import differences_of_seeds
from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.inference.differences import Difference
    from tseval.analysis.inference.estimates import Estimate

# What is told of an estimate, as `Estimate` has it.
ESTIMATED = ("accuracy", "low", "high", "se", "df", "n_eff", "clusters", "fixed")


def share_entries(verdicts: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Give every run the lexical factors that any of them knows.

    They are over the same items, so what one says of them holds for all: for a run that was made before
    factors were kept, and for one in which `--cluster` named others.

    Args:
        verdicts: Name of a model to its verdicts; the same items in the same order for all.
    """
    known: dict[str, pd.Series] = {}
    for frame in verdicts.values():
        for name in frame.columns[frame.columns.str.endswith(ENTRY)]:
            known.setdefault(name, frame[name])
    return {
        model: frame.assign(**{name: known[name].array for name in known.keys() - set(frame.columns)})
        for model, frame in verdicts.items()
    }


def marks(verdicts: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Give what is right among verdicts, and what is decidable, (items,) each."""
    correct: NDArray[np.bool_] = verdicts["correct"].to_numpy(bool)
    undecidable: NDArray[np.bool_] = verdicts["undecidable"].to_numpy(bool)
    return correct, ~undecidable


def marks_of_seeds(seeds: Sequence[pd.DataFrame]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Give what each seed gets right, (items, seeds), and what is decidable for all of them, (items,)."""
    marked = [marks(verdicts) for verdicts in seeds]
    correct = np.stack([one for one, _ in marked], axis=1)
    return correct, np.logical_and.reduce([known for _, known in marked])


def count_clustered(verdicts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Count the verdicts of each group, with intervals that know which items share words.

    Args:
        verdicts: One row per item and contrast; its columns `NAME.entry` are the lexical factors. Without
            them items are independent, and the interval is Wilson's.
        by: What makes a group.

    Returns:
        A row for each group in order of first appearance, as `tseval.analysis.accuracy.count_groups` gives
        them, and the columns of `ESTIMATED`. They are missing where no item is decidable; `df` is missing
        where items are independent.
    """
    factors, (correct, decidable) = Factors.of_verdicts(verdicts), marks(verdicts)
    counts = count_groups(verdicts, by)
    group = verdicts.groupby([*by], sort=False, dropna=False, observed=True).ngroup().to_numpy()
    rows = []
    for place in range(len(counts)):
        own = group == place
        rows.append(_told(estimate(correct[own], decidable[own], Design.of(factors.take(own)))))
    found = pd.DataFrame(rows, counts.index, [*ESTIMATED])
    return counts.join(found.astype(dict.fromkeys(ESTIMATED[:-2], "float64")))


def _told(found: Estimate | None) -> tuple[object, ...]:
    if found is None:
        return (None,) * len(ESTIMATED)
    return (
        found.value, found.low, found.high, found.se, found.df, found.n_eff, found.clusters, found.fixed,
    )  # fmt: skip


def paired_differences(
    marked: Mapping[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    pairs: Sequence[tuple[str, str]],
    design: Design,
) -> list[Difference | None]:
    """Set pairs of models or means over seeds against each other, each on what is decidable for both of it.

    Args:
        marked: Name of each model to its `marks`, or of each architecture to its `marks_of_seeds`.
        pairs: Whom to compare; the first of a pair comes first among the models too.
        design: Rows and entries of the items.

    Returns:
        One for each pair; None where no item is decidable for both.
    """
    # Most models can decide the same items; what these share is worked out once.
    alike: dict[bytes, list[tuple[str, str]]] = {}
    for one, other in pairs:
        alike.setdefault((marked[one][1] & marked[other][1]).tobytes(), []).append((one, other))
    found: dict[tuple[str, str], Difference] = {}
    for both, own in alike.items():
        decidable = np.frombuffer(both, bool)
        if decidable.any():
            named = {name for pair in own for name in pair}
            names = [name for name in marked if name in named]
            correct = [marked[name][0][decidable].reshape(decidable.sum(), -1) for name in names]
            of_pairs = differences_of_seeds(correct, design.among(decidable))
            found |= dict(zip(combinations(names, 2), of_pairs, strict=True))
    return [found.get(pair) for pair in pairs]
