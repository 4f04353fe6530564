"""Visit every context of a trie once: advance a recurrent model to it, level by level, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.scoring.protocol import PrefixState, RecurrentModel
    from tseval.scoring.trie import Level, Trie

# Rows advanced together: enough for full speed of a matrix product, few enough to stay in the cache.
CONTEXTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Visit:
    """Some contexts of one length, and the words that follow them.

    Attributes:
        state: The model's state after each context, one row a context.
        rows: Which context each following word belongs to, ascending; every context has one, (words,).
        nodes: Nodes of the trie that the words are, counted through all levels.
        tokens: The words' ids, (words,).
    """

    state: PrefixState
    rows: np.ndarray
    nodes: slice
    tokens: np.ndarray


def visit(model: RecurrentModel, trie: Trie, block: int | None = None) -> Iterator[Visit]:
    """Go through all contexts, the empty one first, then level by level.

    Args:
        model: Advanced once for each context.
        trie: Of the encoded sentences.
        block: Contexts at a time; None for `CONTEXTS_AT_ONCE`.
    """
    state = model.start()
    first = trie.levels[0]
    n_nodes = len(first.tokens)
    yield Visit(state, first.parents, slice(0, n_nodes), first.tokens)
    parent_row = np.zeros(1, dtype=np.int64)  # row of `state` that holds a node of the level before
    for level, following in zip(trie.levels, trie.levels[1:], strict=False):
        states: list[PrefixState] = []
        for inner, children in _blocks(level, following, block or CONTEXTS_AT_ONCE):
            here = model.advance(take(state, parent_row[level.parents[inner]]), level.tokens[inner])
            # Positions in the level become rows of this block: children of the first inner node are row 0.
            rows = np.searchsorted(inner, following.parents[children])
            nodes = slice(n_nodes + children.start, n_nodes + children.stop)
            yield Visit(here, rows, nodes, following.tokens[children])
            states.append(here)
        state = tuple(torch.cat(tensors) for tensors in zip(*states, strict=True))
        parent_row = np.zeros(len(level.tokens), dtype=np.int64)
        parent_row[level.inner] = np.arange(len(level.inner))
        n_nodes += len(following.tokens)


def node_logprobs(model: RecurrentModel, trie: Trie) -> np.ndarray:
    """Compute the log-probability of every node given its context, (nodes,) float32, in nats."""
    return np.concatenate([model.logprobs(v.state, v.rows, v.tokens) for v in visit(model, trie)])


def take(state: PrefixState, rows: np.ndarray) -> PrefixState:
    """Gather the rows of a state."""
    index = torch.from_numpy(rows).to(state[0].device)
    return tuple(tensor[index] for tensor in state)


def _blocks(level: Level, following: Level, block: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Cut a level into blocks: positions of inner nodes, and the slice of their children."""
    for start in range(0, len(level.inner), block):
        inner = level.inner[start : start + block]
        first, last = np.searchsorted(following.parents, [inner[0], inner[-1] + 1])
        yield inner, slice(int(first), int(last))
