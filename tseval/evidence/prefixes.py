"""Words of sorted sentences, prefixes shared by neighbours, and the nodes of the prefix trie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of sentences, concatenated, (words,), and the number of words in each, (sentences,)."""

    texts: pa.StringArray
    lengths: Rows

    @cached_property
    def starts(self) -> Rows:
        """The index of the first word of each sentence, (sentences,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def shared(self) -> Rows:
        """The number of leading words that each sentence shares with the one before, (sentences,)."""
        ids = self.texts.dictionary_encode().indices.to_numpy()
        return count_shared(ids, self)

    @cached_property
    def joined(self) -> pa.StringArray:
        """The sentences, as a model reads them that knows all words, (sentences,)."""
        return join_words(self.texts, self)

    @cached_property
    def evidence_rows(self) -> dict[tuple[tuple[int, int], ...], Rows]:
        """A cache: the row of evidence for every word, (words,), by the prefixes that were computed twice."""
        return {}


def join_words(texts: pa.StringArray, words: Words) -> pa.StringArray:
    """Join words to sentences, with the lengths of `words`, (sentences,)."""
    lists = pa.ListArray.from_arrays(list_offsets(words.lengths), texts)
    return cast("pa.StringArray", pc.binary_join(lists, " "))


def split_words(sentences: pa.StringArray) -> Words:
    """Split sentences into the words that models read; an empty string has none."""
    split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
    lengths = pc.list_value_length(split).to_numpy().astype(np.int64)
    return Words(cast("pa.StringArray", split.flatten()), lengths)


def count_shared(values: NDArray[np.generic], words: Words, most: Rows | None = None) -> Rows:
    """Count the leading words whose values each sentence shares with the sentence before.

    Args:
        most: The largest count of each sentence, (sentences,); None for the length of the shorter sentence.
    """
    shared = np.zeros(len(words.lengths), dtype=np.int64)
    if most is None:
        most = np.minimum(words.lengths, np.concatenate(([0], words.lengths[:-1])))
    alive = np.flatnonzero(most > 0)
    depth = 0
    while len(alive):
        indices, before = words.starts[alive] + depth, words.starts[alive - 1] + depth
        alive = alive[values[indices] == values[before]]
        depth += 1
        shared[alive] = depth
        alive = alive[most[alive] > depth]
    return shared


def mark_nodes(words: Words, shared: Rows) -> NDArray[np.bool_]:
    """Mark the words that are not shared with the sentence before, (words,)."""
    depth = np.arange(len(words.texts)) - np.repeat(words.starts, words.lengths)
    return np.asarray(depth >= np.repeat(shared, words.lengths))


def find_nodes(words: Words, shared: Rows) -> Rows:
    """Return for every word its node: its number among the words marked by `mark_nodes`, (words,).

    The node of a shared word is the word at the same depth in the last sentence that does not share it.
    """
    is_node = mark_nodes(words, shared)
    nodes = np.cumsum(is_node) - 1
    alive = np.flatnonzero(words.lengths > 0)
    depth = 0
    while len(alive):
        indices = words.starts[alive] + depth
        # The last sentence whose word at this depth is a node: all sentences between share the word.
        origin = np.maximum.accumulate(np.where(is_node[indices], np.arange(len(alive)), 0))
        nodes[indices] = nodes[indices[origin]]
        depth += 1
        alive = alive[words.lengths[alive] > depth]
    return nodes


def list_offsets(lengths: Rows) -> pa.Int32Array:
    """Return the start of each Arrow list, and the end of the last, (lists + 1,)."""
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
