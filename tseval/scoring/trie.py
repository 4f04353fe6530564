"""The prefix trie of a set of sentences, level by level, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Level:
    """All distinct prefixes of one length.

    Attributes:
        tokens: Last word of each prefix, (nodes,) int64.
        parents: Position of the prefix without its last word in the level before, ascending, (nodes,) int64.
        inner: Positions of the prefixes that go on, ascending, (inner,) int64. Only these are contexts:
            the model never reads the last word of a sentence that no other sentence continues.
    """

    tokens: np.ndarray
    parents: np.ndarray
    inner: np.ndarray


@dataclass(frozen=True, slots=True)
class Trie:
    """Distinct prefixes of encoded sentences.

    Attributes:
        levels: Prefixes of length 1, 2, ... up to the longest sentence.
        paths: Node of every word of every sentence, counted through all levels, sentences one after
            the other, (words,) int64.
    """

    levels: tuple[Level, ...]
    paths: np.ndarray

    @property
    def n_contexts(self) -> int:
        """Number of distinct contexts, the empty one included: how often a model must be advanced."""
        return 1 + sum(len(level.inner) for level in self.levels)


def build_trie(tokens: np.ndarray, lengths: np.ndarray, shared: bool = True) -> Trie:
    """Build the trie of encoded sentences without a Python loop over words or sentences.

    Every level is one sort of the pairs (parent, word): two sentences share a prefix exactly if they
    shared the prefix before and go on with the same word.

    Args:
        tokens: Word ids of all sentences one after the other, (words,) int64.
        lengths: Words of each sentence, (sentences,) int64, each at least 1.
        shared: Whether sentences share the prefixes that they have in common; if not, each has its own.
    """
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    base = int(tokens.max()) + 1 if len(tokens) else 1
    paths = np.empty(len(tokens), dtype=np.int64)
    node = np.zeros(len(lengths), dtype=np.int64) if shared else np.arange(len(lengths))
    alive = np.arange(len(lengths))
    levels: list[Level] = []
    n_nodes, depth = 0, 0
    while len(alive):
        here = starts[alive] + depth
        keys, position = np.unique(node[alive] * base + tokens[here], return_inverse=True)
        node[alive] = position
        paths[here] = position + n_nodes
        n_nodes += len(keys)
        depth += 1
        alive = alive[lengths[alive] > depth]
        levels.append(Level(tokens=keys % base, parents=keys // base, inner=np.unique(node[alive])))
    return Trie(tuple(levels), paths)
