"""Estimates: an accuracy or a mean, and how sure it is where items share words."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.estimate_cache import kept_estimates
from tseval.analysis.intervals import quantile, score_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.design import Array, Design


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over items, or over rows, each counted once, and how sure it is.

    Error and interval are no numbers where nothing shows how items vary: all are alike, or there is one. `df`
    is None for the normal quantile, where items are independent. `clusters` are factors whose entries are
    regarded as drawn, with their numbers of entries, `fixed` those with too few for that.
    """

    value: float
    se: float
    low: float
    high: float
    df: float | None
    n_items: int
    clusters: dict[str, int]
    fixed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Estimate(Average):
    """An accuracy, and how many independent items these are worth; se is 0 where verdicts are alike."""

    n_eff: float


def in_columns(
    found: Iterable[object | None], names: Sequence[str], index: pd.Index[int] | None = None
) -> pd.DataFrame:
    """Tabulate what has these names, the last two `clusters` and `fixed`; missing where there is nothing."""
    rows = [tuple(getattr(one, name, None) for name in names) for one in found]
    return pd.DataFrame(rows, index, [*names]).astype(dict.fromkeys(names[:-2], "float64"))


def estimate(correct: NDArray[np.bool_], decidable: NDArray[np.bool_], design: Design) -> Estimate | None:
    """Estimate the accuracy of a row, or the mean over rows, each counted once.

    Items are a sample of all that their lexicon could have made: the interval is for accuracy with other
    entries of the same kind. It is Wilson's, for as many items as these are worth, n_eff = p(1 - p) / V,
    with the quantile of t for the degrees of freedom of V (`Design.spread`); never narrower than if items
    were independent. Where all verdicts are alike V is 0, and the items are worth `Design.fewest_words`;
    and hardly more where the few that differ are of one entry (`Design.unseen`).

    Returns:
        None where no item is decidable.
    """
    if not decidable.any():
        return None
    if (kept := kept_estimates.get()) is None:
        return _estimate(correct, decidable, design)
    fields = kept.get((correct, decidable), design, lambda: _fields(_estimate(correct, decidable, design)))
    if fields is None:
        return None
    value, se, low, high, df, n_items, clusters, fixed, n_eff = fields
    return Estimate(value, se, low, high, df, n_items, dict(clusters), tuple(fixed), n_eff)


def _fields(known: Estimate) -> list[object]:
    """Return the fields of an estimate as a file of JSON can hold them, exactly."""
    return [
        known.value, known.se, known.low, known.high, known.df, known.n_items,
        known.clusters, list(known.fixed), known.n_eff,
    ]  # fmt: skip


def _estimate(correct: NDArray[np.bool_], decidable: NDArray[np.bool_], design: Design) -> Estimate:
    among = design.among(decidable)
    values = correct[decidable, None].astype(np.float64)
    spread, p, n_items = among.spread(values), float(among.means(values)[0]), len(values)
    variance, df = float(spread.variances[0]), spread.df if among.clusters else None
    n_eff = worth(values, variance, among)
    if variance == spread.independent[0] and not among.rows.any():
        n_eff = n_items / max(1.0, n_items * float(among.unseen(values)[0]))
    low, high = score_interval(p, n_eff, quantile(df))
    return Estimate(p, sqrt(variance), low, high, df, n_items, among.clusters, among.fixed, n_eff)


def worth(values: Array, variance: float, design: Design) -> float:
    """Say how many independent items would give a share this variance, and as many as words allow at most.

    `values`, (items, 1), say how far each is right, 0 to 1; the variance is 0 where all are alike.
    """
    if not variance:
        return design.fewest_words()
    p = float(design.means(values)[0])
    return 1 / max(variance / (p * (1 - p)), float(design.unseen(values)[0]))
