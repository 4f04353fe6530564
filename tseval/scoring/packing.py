"""Lay the contexts of a trie out in rows that a transformer can read at once.

A context is a prefix that is continued. In preorder, each followed by all that it begins, the
contexts below any one of them are a contiguous range of numbers: context k is a beginning of context j
exactly if k ≤ j < end[k]. That gives the attention mask of a row without walking the trie.

Two layouts:

- `packed_batches`: rows of many contexts, each of which may attend to its own beginnings only;
- `path_batches`: whole paths, as plain rows of equal length, for models that read a row from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.scoring.trie import Trie

PADDING = -1


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a trie in preorder, and the tokens that follow them.

    Attributes:
        tokens: Last token of each context, (contexts,) int64.
        parents: Number of the context without its last token, -1 for a first one, (contexts,) int64.
        depths: Tokens before the last one: its position, (contexts,) int64.
        ends: Number after the last context that it begins, (contexts,) int64.
        followed: Context that each target follows, ascending, (targets,) int64.
        targets: Token that follows, (targets,) int64.
        nodes: Node of the trie that the target is, (targets,) int64.
    """

    tokens: np.ndarray
    parents: np.ndarray
    depths: np.ndarray
    ends: np.ndarray
    followed: np.ndarray
    targets: np.ndarray
    nodes: np.ndarray

    def targets_of(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find what follows some contexts.

        Args:
            contexts: Numbers of contexts, each once, (some,) int64.

        Returns:
            For each target its position in `contexts`, ascending, and its position in `targets`.
        """
        first = np.searchsorted(self.followed, contexts)
        counts = np.searchsorted(self.followed, contexts, side="right") - first
        which = np.repeat(np.arange(len(contexts)), counts)
        return which, np.arange(len(which)) + np.repeat(first - (np.cumsum(counts) - counts), counts)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to be read at once.

    Attributes:
        contexts: Number of the context at each place, `PADDING` for none, (rows, width) int64.
        asked: Where the output is needed: every context is asked for once, (rows, width) bool.
    """

    contexts: np.ndarray
    asked: np.ndarray


def contexts_of(trie: Trie, start: int | None) -> Contexts:
    """Bring the contexts of a trie into preorder.

    Args:
        trie: Distinct prefixes.
        start: Token that stands before every sentence and is the first context; None for none. Then
            first tokens follow nothing, and are no targets.
    """
    levels, base = trie.levels, 0 if start is None else 1
    # Position of each inner node's parent among the inner nodes of the level before.
    above = [levels[0].parents[levels[0].inner]]
    above += [np.searchsorted(before.inner, level.parents[level.inner]) for before, level in pairwise(levels)]
    numbers, ends = _preorder(above, base)
    total = base + sum(len(level.inner) for level in levels)
    tokens, parents, depths, last = (np.zeros(total, dtype=np.int64) for _ in range(4))
    if start is not None:
        tokens[0], parents[0], last[0] = start, -1, total
    for depth, (level, number, end) in enumerate(zip(levels, numbers, ends, strict=True)):
        tokens[number], depths[number], last[number] = level.tokens[level.inner], depth + base, end
        parents[number] = numbers[depth - 1][above[depth]] if depth else base - 1
    # Every node but a first one without a start symbol is a target: it follows the context above it.
    follow = [np.full(len(levels[0].tokens), base - 1)]
    follow += [
        number[np.searchsorted(before.inner, level.parents)]
        for before, level, number in zip(levels, levels[1:], numbers, strict=False)
    ]
    followed = np.concatenate(follow)
    order = np.argsort(followed, kind="stable")
    order = order[followed[order] >= 0]
    targets = np.concatenate([level.tokens for level in levels])
    return Contexts(tokens, parents, depths, last, followed[order], targets[order], order)


def _preorder(above: list[np.ndarray], base: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Give nodes their numbers in preorder, from the positions of their parents (ascending).

    Returns:
        For each level, the numbers of its nodes, and those after their last descendants.
    """
    sizes = [np.ones(len(parents), dtype=np.int64) for parents in above]
    for depth in range(len(above) - 1, 0, -1):
        np.add.at(sizes[depth - 1], above[depth], sizes[depth])
    numbers: list[np.ndarray] = []
    for depth, (parents, size) in enumerate(zip(above, sizes, strict=True)):
        before = np.cumsum(size) - size
        if depth == 0:
            numbers.append(base + before)
            continue
        eldest = np.searchsorted(parents, parents)  # first child of the same parent
        numbers.append(numbers[-1][parents] + 1 + before - before[eldest])
    return numbers, [number + size for number, size in zip(numbers, sizes, strict=True)]


def packed_batches(contexts: Contexts, width: int, batch_tokens: int) -> Iterator[Batch]:
    """Cut the preorder into rows, each begun by the path to its first context.

    Everything a context may attend to, its beginnings, then stands in its row: on the path or behind it.

    Args:
        contexts: What to read.
        width: Contexts in a row; at least twice the longest path is used.
        batch_tokens: Contexts in a batch; at least one row is used.
    """
    if not len(contexts.tokens):
        return
    width = max(width, 2 * (int(contexts.depths.max()) + 1))
    rows: list[np.ndarray] = []
    starts: list[int] = []
    start = 0
    while start < len(contexts.tokens):
        path: list[int] = []
        parent = int(contexts.parents[start])
        while parent >= 0:
            path.append(parent)
            parent = int(contexts.parents[parent])
        stop = min(len(contexts.tokens), start + width - len(path))
        rows.append(np.concatenate((path[::-1], np.arange(start, stop))).astype(np.int64))
        starts.append(start)
        start = stop
    at_once = max(1, batch_tokens // width)
    for first in range(0, len(rows), at_once):
        some = rows[first : first + at_once]
        table = np.full((len(some), max(map(len, some))), PADDING)
        for line, row in zip(table, some, strict=True):
            line[: len(row)] = row
        yield Batch(table, table >= np.array(starts[first : first + at_once])[:, None])


def attends(contexts: Contexts, batch: Batch) -> np.ndarray:
    """Tell which places each place of a row may attend to: its beginnings and itself.

    Returns:
        (rows, width, width) bool: row, from, to. Padding attends to itself alone.
    """
    numbers = batch.contexts
    ends = np.where(numbers == PADDING, PADDING, contexts.ends[numbers])
    here, there = numbers[:, :, None], numbers[:, None, :]
    seen: np.ndarray = (there <= here) & (here < ends[:, None, :])
    return seen | np.eye(numbers.shape[1], dtype=bool)


def path_batches(contexts: Contexts, batch_tokens: int) -> Iterator[Batch]:
    """Give the path to every last context as a row; a batch holds rows of one length, and no padding.

    Args:
        contexts: What to read.
        batch_tokens: Contexts in a batch; at least one row is used.
    """
    last = np.flatnonzero(contexts.ends == np.arange(len(contexts.ends)) + 1)
    # A context is asked for in the first path that holds it.
    asked_in = last[np.searchsorted(last, np.arange(len(contexts.ends)))]
    for depth in np.unique(contexts.depths[last]):
        ends = last[contexts.depths[last] == depth]
        at_once = max(1, batch_tokens // (int(depth) + 1))
        for first in range(0, len(ends), at_once):
            column = ends[first : first + at_once]
            columns = [column]
            for _ in range(int(depth)):
                columns.append(contexts.parents[columns[-1]])
            rows = np.stack(columns[::-1], axis=1)
            yield Batch(rows, asked_in[rows] == column[:, None])
