"""Estimates: an accuracy or a mean, with an interval that takes shared words into account."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tseval.analysis.estimate_cache import kept_estimates
from tseval.analysis.intervals import quantile, score_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.design import Array, Design

    Verdicts = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # of one model: correct, decidable


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over items, or over rows that count once each, with its standard error and interval.

    Error and interval are NaN if nothing shows how items vary: all are equal, or there is one. `df` is None
    if items are independent (normal quantile). `clusters` are the random factors with their numbers of
    entries; `fixed` are the factors with too few entries.
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
    """An accuracy and its effective sample size `n_eff`; `se` is 0 if all verdicts are equal."""

    n_eff: float


def in_columns(
    found: Iterable[object | None], names: Sequence[str], index: pd.Index[int] | None = None
) -> pd.DataFrame:
    """Tabulate attributes of objects, the last two `clusters` and `fixed`; None gives missing values."""
    rows = [tuple(getattr(result, name, None) for name in names) for result in found]
    return pd.DataFrame(rows, index, [*names]).astype(dict.fromkeys(names[:-2], "float64"))


def estimate(correct: NDArray[np.bool_], decidable: NDArray[np.bool_], design: Design) -> Estimate | None:
    """Estimate the accuracy of a row, or the mean over rows, each counted once.

    Items are a sample of all items that their lexicon can make: the interval is for accuracy with other
    entries of the same kind. It is Wilson's interval with the effective sample size n_eff = p(1 - p) / V and
    the quantile of t for the degrees of freedom of V (`Design.spread`). It is never narrower than for
    independent items. If all verdicts are equal, V is 0, and n_eff is `Design.fewest_words`. If the few
    verdicts that differ belong to one entry, n_eff is hardly larger (`Design.unseen`).

    Returns:
        None if no item is decidable.
    """
    return estimate_models([(correct, decidable)], design)[0]


def estimate_models(models: Sequence[Verdicts], design: Design) -> list[Estimate | None]:
    """Estimate the accuracy of each model from its correct and its decidable items, as `estimate` does.

    Models with the same decidable items are estimated together, which takes a tenth of the time.
    """
    cache = kept_estimates.get()
    if cache is None:
        return _estimate_together(models, design)
    keys = [cache.key(model, design) for model in models]
    unknown = [place for place, key in enumerate(keys) if key not in cache]
    computed = dict(
        zip(unknown, _estimate_together([models[place] for place in unknown], design), strict=True)
    )
    return [
        _of_fields(cache.take(key, _fields(computed[place]) if place in computed else None))
        for place, key in enumerate(keys)
    ]


def _estimate_together(models: Sequence[Verdicts], design: Design) -> list[Estimate | None]:
    """Estimate models; models with the same decidable items share the sums over items."""
    results: list[Estimate | None] = [None] * len(models)
    decidable_alike: dict[bytes, list[int]] = {}
    for place, (_, decidable) in enumerate(models):
        if decidable.any():
            decidable_alike.setdefault(decidable.tobytes(), []).append(place)
    for places in decidable_alike.values():
        decidable = models[places[0]][1]
        subset = design.among(decidable)
        at_once = max(8, _AT_ONCE // len(decidable))
        for start in range(0, len(places), at_once):
            group = places[start : start + at_once]
            values = np.stack([models[place][0][decidable] for place in group], axis=1).astype(np.float64)
            for place, computed in zip(group, _estimates(values, subset), strict=True):
                results[place] = computed
    return results


_AT_ONCE = 1 << 20  # values of several models in memory at the same time


def _fields(known: Estimate | None) -> list[object] | None:
    """Return the fields of an estimate in a form that JSON stores exactly."""
    if known is None:
        return None
    return [
        known.value, known.se, known.low, known.high, known.df, known.n_items,
        known.clusters, list(known.fixed), known.n_eff,
    ]  # fmt: skip


def _of_fields(fields: list[Any] | None) -> Estimate | None:
    if fields is None:
        return None
    value, se, low, high, df, n_items, clusters, fixed, n_eff = fields
    return Estimate(value, se, low, high, df, n_items, dict(clusters), tuple(fixed), n_eff)


def _estimates(values: Array, design: Design) -> Iterator[Estimate]:
    """Estimate the accuracy of each column, (items, models); all items are decidable."""
    spread, means, n_items = design.spread(values), design.means(values), len(values)
    df = spread.df if design.clusters else None
    unseen = design.unseen(values)
    for p, variance, independent, missed in zip(
        means.tolist(), spread.variances.tolist(), spread.independent.tolist(), unseen.tolist(), strict=True
    ):
        n_eff = _worth(p, variance, missed, design)
        if variance == independent and not design.rows.any():
            n_eff = n_items / max(1.0, n_items * missed)
        low, high = score_interval(p, n_eff, quantile(df))
        yield Estimate(p, sqrt(variance), low, high, df, n_items, design.clusters, design.fixed, n_eff)


def worth(values: Array, variance: float, design: Design) -> float:
    """Return the effective sample size of a share with this variance, limited by the number of words.

    `values`, (items, 1), say how far each item is right, 0 to 1. The variance is 0 if all values are equal.
    """
    return _worth(float(design.means(values)[0]), variance, float(design.unseen(values)[0]), design)


def _worth(share: float, variance: float, unseen: float, design: Design) -> float:
    """Return the effective sample size from the share and the least variance (`Design.unseen`)."""
    return 1 / max(variance / (share * (1 - share)), unseen) if variance else design.fewest_words()
