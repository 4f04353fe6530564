"""Entries whose evidence was made from that of others: copied, changed a little, scaled, or blended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    _Rows = NDArray[np.int64]
    _Values = NDArray[np.float64]


NEAR = 0.03  # nats, by which evidence of the same weights may differ: in another type, on another machine
# Two seeds of one architecture correlate to .97, two models to .94; noise of .09 nats leaves .9995.
ALIKE = 0.9995
SAMPLED = 2_000  # numbers of each entry that are compared first
# Share of sampled numbers that must be near, where an entry takes each from one of two others.
STITCHED = 0.99


@dataclass(frozen=True)
class Numbers:
    """The log-probabilities of an entry.

    Attributes:
        name: Of the entry.
        fingerprint: Of its model.
        sample: Those at the places that all entries are compared at, (sampled,).
        load: Gives all of them at the places that entries share, (places,).
    """

    name: str
    fingerprint: str
    sample: _Values
    load: Callable[[], _Values]


def sampled_places(n_places: int, suite_digest: str) -> _Rows:
    """Choose the places of a suite at which entries are compared first, ascending."""
    if n_places <= SAMPLED:
        return np.arange(n_places)
    draw = np.random.default_rng(int(suite_digest[:16], 16))
    return np.sort(draw.choice(n_places, SAMPLED, replace=False)).astype(np.int64)


def copies(entries: Sequence[Numbers]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what looks like copies: the names of the entries, the suspected one first, and why.

    Of two entries that are alike, the later one in `entries` is suspected.
    """
    by_length: dict[int, list[Numbers]] = {}
    for entry in entries:
        by_length.setdefault(len(entry.sample), []).append(entry)
    for alike in by_length.values():
        originals: list[Numbers] = []  # each of which no earlier one is like
        for entry in alike:
            known = [other for other in originals if other.fingerprint == entry.fingerprint]
            found = [(other, why) for other in originals if (why := _copied(other, entry)) is not None]
            if not known and found:
                yield (entry.name, found[0][0].name), found[0][1]
            if not known and not found:
                originals.append(entry)
        for entry in originals:
            yield from _blended(entry, [other for other in originals if other is not entry])


def _copied(first: Numbers, second: Numbers) -> str | None:
    """Say how the numbers of one entry follow from those of another; None if they do not."""
    if float(np.abs(first.sample - second.sample).max(initial=0.0)) <= NEAR:
        ours, theirs = first.load(), second.load()
        if len(ours) == len(theirs) and float(np.abs(ours - theirs).max(initial=0.0)) <= NEAR:
            return (
                f"all its log-probabilities are within {NEAR} nats of those of {first.name}, so both may be "
                "the same model"
            )
    if len(first.sample) < SAMPLED // 20 or min(first.sample.std(), second.sample.std()) == 0:
        return None
    correlation = float(np.corrcoef(first.sample, second.sample)[0, 1])
    if correlation < ALIKE:
        return None
    slope = float(second.sample.std() / first.sample.std())
    scaled = f", {slope:.3g} times as large" if abs(slope - 1) > 0.01 else ""
    return (
        f"its log-probabilities are nearly those of {first.name}{scaled} (correlation {correlation:.5f}), so "
        "both may be the same model"
    )


def _blended(entry: Numbers, others: Sequence[Numbers]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Find two entries of which one is a weighted mean, or from which each of its numbers is taken."""
    if len(others) < 2 or len(entry.sample) < SAMPLED // 20:
        return
    apart = np.stack([other.sample for other in others]) - entry.sample
    found = _between(apart)
    if found is None:  # a mean of probabilities, as of an ensemble
        found = _between(np.expm1(np.minimum(apart, 50.0)))
    if found is not None:
        first, second, weight = others[found[0]].name, others[found[1]].name, found[2]
        yield (
            (entry.name, first, second),
            f"its log-probabilities are a mean of those of {first} ({weight:.0%}) and {second} "
            f"({1 - weight:.0%})",
        )
        return
    near = (np.abs(apart) <= NEAR).astype(np.float64)
    alone = near.mean(axis=1)
    both = alone[:, None] + alone[None, :] - near @ near.T / near.shape[1]
    i, j = np.unravel_index(int(np.triu(both, 1).argmax()), both.shape)
    if both[i, j] >= STITCHED and max(alone[i], alone[j]) < STITCHED:
        first, second = others[int(i)].name, others[int(j)].name
        yield (
            (entry.name, first, second),
            f"each of its log-probabilities is that of {first} or that of {second}",
        )


def _between(apart: _Values) -> tuple[int, int, float] | None:
    """Find two others between which an entry lies, given how far others are from it, (others, numbers).

    The weight `w` for which `w` times the first and `1 - w` times the second is nearest to 0 follows from
    products of the rows, so all pairs are found at once.
    """
    products = apart @ apart.T / apart.shape[1]
    square = np.diag(products)
    between = square[:, None] + square[None, :] - 2 * products
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = (square[None, :] - products) / between
        left = square[None, :] - (square[None, :] - products) ** 2 / between
    possible = (weight > 0.02) & (weight < 0.98) & np.isfinite(left)
    left = np.where(possible, left, np.inf)
    i, j = np.unravel_index(int(left.argmin()), left.shape)
    if not left[i, j] <= NEAR**2:
        return None
    w = float(weight[i, j])
    rest = w * apart[i] + (1 - w) * apart[j]
    if float(np.quantile(np.abs(rest), 0.99)) > 3 * NEAR:
        return None
    return int(i), int(j), w
