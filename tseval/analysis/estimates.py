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
    from collections.abc import Iterable, Iterator, Sequence

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
    return estimate_models([(correct, decidable)], design)[0]


def estimate_models(
    models: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]], design: Design
) -> list[Estimate | None]:
    """Estimate the accuracy of each model, as `estimate` does, from its correct and its decidable items.

    Models for which the same items are decidable are estimated together, which takes a tenth of the time.
    """
    kept = kept_estimates.get()
    keys = [None if kept is None else kept.key(model, design) for model in models]
    unknown: dict[bytes, list[int]] = {}
    for place, ((_, decidable), key) in enumerate(zip(models, keys, strict=True)):
        if decidable.any() and (kept is None or key not in kept):
            unknown.setdefault(decidable.tobytes(), []).append(place)
    computed: dict[int, Estimate] = {}
    for places in unknown.values():
        decidable = models[places[0]][1]
        among = design.among(decidable)
        at_once = max(8, _AT_ONCE // len(decidable))
        for start in range(0, len(places), at_once):
            chosen = places[start : start + at_once]
            values = np.stack([models[place][0][decidable] for place in chosen], axis=1).astype(np.float64)
            computed |= zip(chosen, _estimates(values, among), strict=True)
    found = []
    for place, ((_, decidable), key) in enumerate(zip(models, keys, strict=True)):
        if not decidable.any():
            found.append(None)
        elif kept is None or key is None:
            found.append(computed[place])
        else:
            fields = kept.take(key, None if key in kept else _fields(computed[place]))
            value, se, low, high, df, n_items, clusters, fixed, n_eff = fields
            found.append(Estimate(value, se, low, high, df, n_items, dict(clusters), tuple(fixed), n_eff))
    return found


_AT_ONCE = 1 << 20  # values of several models that are held in memory at the same time


def _fields(known: Estimate) -> list[object]:
    """Return the fields of an estimate as a file of JSON can hold them, exactly."""
    return [
        known.value, known.se, known.low, known.high, known.df, known.n_items,
        known.clusters, list(known.fixed), known.n_eff,
    ]  # fmt: skip


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
    """Say how many independent items would give a share this variance, and as many as words allow at most.

    `values`, (items, 1), say how far each is right, 0 to 1; the variance is 0 where all are alike.
    """
    return _worth(float(design.means(values)[0]), variance, float(design.unseen(values)[0]), design)


def _worth(share: float, variance: float, unseen: float, design: Design) -> float:
    """Say the same from the share, and from what is left to assume (`Design.unseen`)."""
    return 1 / max(variance / (share * (1 - share)), unseen) if variance else design.fewest_words()
