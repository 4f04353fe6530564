"""Stacks of brackets: what is open at each symbol of many strings at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.suites.formal.languages import MULTIPLIER, Strings, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


# Counters of brackets by type that are held at once.
COUNTERS = 2**22


@dataclass(frozen=True, slots=True)
class Stacks:
    """What is open before each symbol of strings, and at last before the end, (strings, longest + 1) each."""

    open: NDArray[np.int32]  # brackets; 0 also after the end of a string
    top: NDArray[np.int32]  # type of the last one, from 0; -1 where none is open
    distance: NDArray[np.int32]  # symbols since it was opened
    attractors: NDArray[np.int32]  # brackets of other types opened since then
    mark: NDArray[np.uint64]  # of the whole stack; two share one with a chance of about 2^-64


def trace(strings: Strings, n_types: int) -> Stacks:
    """Follow the stack through strings of brackets, all strings at once.

    Opening brackets are symbols below `n_types`; the symbol `n_types` higher closes each.
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
    # By level of the stack, level 0 being the empty stack: the bracket there, the symbols before it, how many
    # of its type had been opened with it, and the mark of the stack up to it.
    shape = (n, int(depth.max(initial=0)) + 1)
    kinds, opened_at, same = (np.full(shape, -1, dtype=np.int32) for _ in range(3))
    marks = np.zeros(shape, dtype=np.uint64)
    counts = np.zeros((n, n_types), dtype=np.int32)
    for position in range(width):
        rows = np.flatnonzero(steps[:, position] > 0)
        level, kind = depth[rows, position + 1], strings.symbols[rows, position]
        counts[rows, kind] += 1
        kinds[rows, level], opened_at[rows, level], same[rows, level] = kind, position, counts[rows, kind]
        marks[rows, level] = marks[rows, level - 1] * MULTIPLIER + (kind + 1).astype(np.uint64)
        here = position + 1
        rows = np.flatnonzero(depth[:, here])
        level = depth[rows, here]
        kind = kinds[rows, level]
        since = here - 1 - opened_at[rows, level]
        top[rows, here], distance[rows, here], mark[rows, here] = kind, since, marks[rows, level]
        # What was opened since the top bracket has been closed again: it is half of the symbols.
        attractors[rows, here] = since // 2 - (counts[rows, kind] - same[rows, level])
    return Stacks(depth, top, distance, attractors, mark)


def marks_of(blocks: Iterator[Strings], n_types: int) -> NDArray[np.uint64]:
    """Collect the marks of all stacks that stand anywhere in strings, ascending."""
    all_stacks = (trace(block, n_types) for block in blocks)
    return distinct(np.concatenate([distinct(stacks.mark[stacks.open > 0]) for stacks in all_stacks]))
