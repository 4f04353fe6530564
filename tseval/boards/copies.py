"""Find entries whose evidence was made from other entries: copied, slightly changed, scaled or mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    _Rows = NDArray[np.int64]
    _Values = NDArray[np.float64]


NEAR = 0.03  # nats; evidence of the same weights differs by less, even with another number format or machine
# Two seeds of one architecture correlate to .97, two models to .94; noise of .09 nats leaves .9995.
ALIKE = 0.9995
SAMPLED = 2_000  # numbers of each entry that are compared first
# If an entry takes each number from one of two others, at least this share of its sample is near one of them.
STITCHED = 0.99


@dataclass(frozen=True)
class Numbers:
    """The log-probabilities of an entry.

    Attributes:
        name: Name of the entry.
        fingerprint: Fingerprint of its model.
        sample: The numbers at the places where all entries are compared first, (sampled,).
        load: Function that returns the numbers at all places that the entries share, (places,).
    """

    name: str
    fingerprint: str
    sample: _Values
    load: Callable[[], _Values]


def sampled_places(n_places: int, suite_digest: str) -> _Rows:
    """Choose the places of a suite at which entries are compared first, in ascending order."""
    if n_places <= SAMPLED:
        return np.arange(n_places)
    draw = np.random.default_rng(int(suite_digest[:16], 16))
    return np.sort(draw.choice(n_places, SAMPLED, replace=False)).astype(np.int64)


def copies(entries: Sequence[Numbers]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield suspected copies: the names of the entries (the suspected one first), and the reason.

    If two entries are alike, the later one in `entries` is suspected.
    """
    by_length: dict[int, list[Numbers]] = {}
    for entry in entries:
        by_length.setdefault(len(entry.sample), []).append(entry)
    for group in by_length.values():
        originals: list[Numbers] = []  # entries that are no copies of earlier ones
        for entry in group:
            same_model = [first for first in originals if first.fingerprint == entry.fingerprint]
            matches = [(first, text) for first in originals if (text := _copied(first, entry)) is not None]
            if not same_model and matches:
                yield (entry.name, matches[0][0].name), matches[0][1]
            if not same_model and not matches:
                originals.append(entry)
        for entry in originals:
            yield from _blended(entry, [first for first in originals if first is not entry])


def _copied(first: Numbers, second: Numbers) -> str | None:
    """Explain how the numbers of one entry follow from those of another; None if they do not."""
    if float(np.abs(first.sample - second.sample).max(initial=0.0)) <= NEAR:
        values, other_values = first.load(), second.load()
        if len(values) == len(other_values) and float(np.abs(values - other_values).max(initial=0.0)) <= NEAR:
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
    """Find two entries whose weighted mean this entry is, or from which it takes each of its numbers."""
    if len(others) < 2 or len(entry.sample) < SAMPLED // 20:
        return
    gaps = np.stack([numbers.sample for numbers in others]) - entry.sample
    mixture = _between(gaps)
    if mixture is None:  # a mean of probabilities, as in an ensemble
        mixture = _between(np.expm1(np.minimum(gaps, 50.0)))
    if mixture is not None:
        first, second, weight = others[mixture[0]].name, others[mixture[1]].name, mixture[2]
        yield (
            (entry.name, first, second),
            f"its log-probabilities are a mean of those of {first} ({weight:.0%}) and {second} "
            f"({1 - weight:.0%})",
        )
        return
    is_near = (np.abs(gaps) <= NEAR).astype(np.float64)
    shares = is_near.mean(axis=1)
    pair_shares = shares[:, None] + shares[None, :] - is_near @ is_near.T / is_near.shape[1]
    i, j = np.unravel_index(int(np.triu(pair_shares, 1).argmax()), pair_shares.shape)
    if pair_shares[i, j] >= STITCHED and max(shares[i], shares[j]) < STITCHED:
        first, second = others[int(i)].name, others[int(j)].name
        yield (
            (entry.name, first, second),
            f"each of its log-probabilities is that of {first} or that of {second}",
        )


def _between(apart: _Values) -> tuple[int, int, float] | None:
    """Find two other entries between which an entry lies.

    `apart` has the differences of the others from the entry, (others, numbers). For each pair of rows, the
    weight `w` that brings `w` times the first plus `1 - w` times the second nearest to 0 follows from
    products of the rows. So one matrix product serves all pairs.
    """
    products = apart @ apart.T / apart.shape[1]
    square = np.diag(products)
    distances = square[:, None] + square[None, :] - 2 * products
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = (square[None, :] - products) / distances
        rest_squares = square[None, :] - (square[None, :] - products) ** 2 / distances
    possible = (weight > 0.02) & (weight < 0.98) & np.isfinite(rest_squares)
    rest_squares = np.where(possible, rest_squares, np.inf)
    i, j = np.unravel_index(int(rest_squares.argmin()), rest_squares.shape)
    if not rest_squares[i, j] <= NEAR**2:
        return None
    w = float(weight[i, j])
    remainder = w * apart[i] + (1 - w) * apart[j]
    if float(np.quantile(np.abs(remainder), 0.99)) > 3 * NEAR:
        return None
    return int(i), int(j), w
