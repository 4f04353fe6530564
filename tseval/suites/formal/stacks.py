"""Stacks of brackets: the open brackets at each symbol, for many strings at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.suites.formal.languages import MULTIPLIER, Strings, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


# Number of bracket counters (strings times types) that are in memory at once.
COUNTERS = 2**22


@dataclass(frozen=True, slots=True)
class Stacks:
    """The stack before each symbol of strings, and before the end; arrays are (strings, longest + 1)."""

    open: NDArray[np.int32]  # number of open brackets; 0 after the end of a string
    top: NDArray[np.int32]  # type of the last open bracket, from 0; -1 if none is open
    distance: NDArray[np.int32]  # symbols since it was opened
    attractors: NDArray[np.int32]  # brackets of other types opened since then
    mark: NDArray[np.uint64]  # hash of the whole stack; two stacks collide with probability of about 2^-64


def trace(strings: Strings, n_types: int) -> Stacks:
    """Compute the stacks of strings of brackets, all strings at once.

    Opening brackets are the symbols below `n_types`. Each is closed by the symbol that is `n_types` higher.
    """
    size = max(1, COUNTERS // n_types)
    parts = [_trace(strings.take(slice(i, i + size)), n_types) for i in range(0, len(strings), size)]
    return Stacks(*(np.concatenate([getattr(part, name) for part in parts]) for name in Stacks.__slots__))


def _trace(strings: Strings, n_types: int) -> Stacks:
    n, width = strings.symbols.shape
    steps = np.where(strings.symbols < 0, 0, np.where(strings.symbols < n_types, 1, -1))
    depth = np.zeros((n, width + 1), dtype=np.int32)
    np.cumsum(steps, axis=1, out=depth[:, 1:])
    top = np.full_like(depth, -1)
    distance, attractors = np.zeros_like(depth), np.zeros_like(depth)
    mark = np.zeros(depth.shape, dtype=np.uint64)
    # Arrays by level of the stack (level 0: the empty stack): the bracket there, the number of symbols before
    # it, the count of its type including itself, and the mark of the stack up to it.
    shape = (n, int(depth.max(initial=0)) + 1)
    kinds, opened_at, ranks = (np.full(shape, -1, dtype=np.int32) for _ in range(3))
    marks = np.zeros(shape, dtype=np.uint64)
    counts = np.zeros((n, n_types), dtype=np.int32)
    for position in range(width):
        rows = np.flatnonzero(steps[:, position] > 0)
        level, kind = depth[rows, position + 1], strings.symbols[rows, position]
        counts[rows, kind] += 1
        kinds[rows, level], opened_at[rows, level], ranks[rows, level] = kind, position, counts[rows, kind]
        marks[rows, level] = marks[rows, level - 1] * MULTIPLIER + (kind + 1).astype(np.uint64)
        end = position + 1
        rows = np.flatnonzero(depth[:, end])
        level = depth[rows, end]
        kind = kinds[rows, level]
        n_since = end - 1 - opened_at[rows, level]
        top[rows, end], distance[rows, end], mark[rows, end] = kind, n_since, marks[rows, level]
        # Brackets opened after the top bracket are already closed: they are half of the symbols since.
        attractors[rows, end] = n_since // 2 - (counts[rows, kind] - ranks[rows, level])
    return Stacks(depth, top, distance, attractors, mark)


def marks_of(blocks: Iterator[Strings], n_types: int) -> NDArray[np.uint64]:
    """Return the distinct marks of all non-empty stacks in strings, ascending."""
    all_stacks = (trace(block, n_types) for block in blocks)
    return distinct(np.concatenate([distinct(stacks.mark[stacks.open > 0]) for stacks in all_stacks]))
