"""Models against each other, item by item: what only one of two gets right, and how sure the difference is.

Source: Bansal et al. 2020, tables 4 to 19. McNemar's test (1947), in its exact form, regards items as
independent; the test beside it knows which of them share words. Over the pairs of a table both are corrected
by Holm (1979).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.clustered import marks, paired_differences
from tseval.analysis.inference.design import Design
from tseval.analysis.inference.differences import compare, holm
from tseval.analysis.inference.factors import Factors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tseval.analysis.inference.differences import Difference

# The smallest difference of accuracies that matters, where nobody says another.
DEFAULT_MARGIN = 0.02
COMPARED = (
    "difference", "se", "low", "high", "df", "p", "p_holm", "p_beyond", "margin", "outcome",
    "clusters", "fixed",
)  # fmt: skip
_TYPES = dict.fromkeys(("difference", "se", "low", "high", "p", "p_holm", "p_beyond", "margin"), "float64")
_COUNTED = ("both", "only_first", "only_second", "neither")
PAIR_COLUMNS = ("first", "second", "n_items", *COMPARED, *_COUNTED, "p_mcnemar", "p_mcnemar_holm")


def pairwise(
    verdicts: Mapping[str, pd.DataFrame], by: str | None = None, margin: float = DEFAULT_MARGIN
) -> pd.DataFrame:
    """Compare all pairs of models on the same items.

    Args:
        verdicts: Name of a model to its verdicts; the same items in the same order for all.
        by: A feature; there is a table for each of its values, after the one over all items.
        margin: The smallest difference of accuracies that matters, between 0 and 1.

    Returns:
        One row per table and pair of models: the value of `by` (missing over all items), the two models,
        `n_items` decidable for both; how much more of them the first gets right, as `compared` tells it; how
        many of them both, one alone or neither got right, `p_mcnemar` of McNemar's exact test (two-sided),
        and `p_mcnemar_holm`, corrected over the pairs of the table.

    Raises:
        RunError: The margin is no difference of accuracies.
    """
    first = next(iter(verdicts.values()))
    tables = [(None, pd.Series(data=True, index=first.index))]
    if by is not None:
        tables += [
            (value, (first[by] == value).fillna(False)) for value in sorted(first[by].dropna().unique())
        ]
    found = [
        _table({name: frame[chosen.to_numpy(bool)] for name, frame in verdicts.items()}, margin)
        for _, chosen in tables
    ]
    frame = pd.concat(found, ignore_index=True)
    # Beside the missing value of the first table, whole numbers would turn into fractions.
    values = [value for (value, _), own in zip(tables, found, strict=True) for _ in range(len(own))]
    frame.insert(0, by or "all", pd.Series(values, dtype=object))
    return frame


def _table(verdicts: Mapping[str, pd.DataFrame], margin: float) -> pd.DataFrame:
    """Compare all pairs on the items of one table."""
    marked = {name: marks(frame) for name, frame in verdicts.items()}
    pairs = list(combinations(marked, 2))
    design = Design.of(Factors.of_verdicts(next(iter(verdicts.values()))))
    frame = pd.DataFrame(pairs, columns=["first", "second"])
    frame = frame.join(pd.DataFrame([_count(marked[one], marked[other]) for one, other in pairs]))
    frame = frame.join(compared(paired_differences(marked, pairs, design), margin))
    tested = [mcnemar(*both) for both in zip(frame["only_first"], frame["only_second"], strict=True)]
    return frame.assign(p_mcnemar=tested, p_mcnemar_holm=holm(tested))[[*PAIR_COLUMNS]]


def compared(found: Sequence[Difference | None], margin: float) -> pd.DataFrame:
    """Say what is known of each pair of a table, at an error rate of 5% for all of them together.

    Args:
        found: The differences of the pairs; None where no item is decidable for both models.
        margin: The smallest difference of accuracies that matters, between 0 and 1.

    Returns:
        A row for each pair, in the columns of `COMPARED`: `difference`, what the first gets right more than
        the second, its standard error, 95% interval and degrees of freedom; `p`, that of no difference;
        `p_holm`, corrected; `p_beyond`, that of a difference of the `margin` or more, corrected; `outcome`,
        in a word, for the first; `clusters` and `fixed`, the factors. All are missing where a pair has none.

    Raises:
        RunError: The margin is no difference of accuracies.
    """
    words = iter(compare([one for one in found if one is not None], margin))
    rows: list[tuple[object, ...]] = []
    for one in found:
        if one is None:
            rows.append((None,) * len(COMPARED))
            continue
        told = next(words)
        rows.append(
            (
                one.value, one.se, one.low, one.high, one.df, one.p, told.p_holm, told.p_beyond, margin,
                told.word,                one.clusters, one.fixed,
            )
        )  # fmt: skip
    told_of = pd.DataFrame(rows, columns=[*COMPARED]).astype(_TYPES)
    # Whole numbers, where all of them are, and where there are none.
    whole = all(one is None or float(one.df).is_integer() for one in found)
    return told_of.astype({"df": "Int64" if whole else "Float64"})


def _count(
    first: tuple[NDArray[np.bool_], NDArray[np.bool_]], second: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> dict[str, int]:
    """Count what both models, one alone or neither gets right, of the items that both can decide."""
    decidable = first[1] & second[1]
    one, other = first[0][decidable], second[0][decidable]
    cells = dict(zip(_COUNTED, (one & other, one & ~other, ~one & other, ~one & ~other), strict=True))
    return {"n_items": len(one), **{name: int(cell.sum()) for name, cell in cells.items()}}


def mcnemar(only_first: int, only_second: int) -> float:
    """Give the two-sided p of McNemar's exact test; 1 where the two never differ.

    Where two models are equally good, an item that one of them alone gets right is as likely to be the one's
    as the other's, whatever the others are: items are regarded as independent.
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0
