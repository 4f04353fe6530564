"""Which words of sorted sentences begin a prefix that no sentence before them has.

In sentences sorted by code point those with a common prefix stand together. So the nodes of their prefix
trie, in preorder, are the words that remain when each sentence leaves out what it shares with the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of sentences, end to end.

    Attributes:
        texts: Every word, (words,).
        lengths: Words of each sentence, (sentences,) int64.
    """

    texts: pa.StringArray
    lengths: _Rows

    @cached_property
    def starts(self) -> _Rows:
        """First word of each sentence, (sentences,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def shared(self) -> _Rows:
        """Words that each sentence has in common with the one before, from the first on, (sentences,)."""
        ids = self.texts.dictionary_encode().indices.to_numpy()
        return common(ids, self)


def split_words(sentences: pa.StringArray) -> Words:
    """Split sentences into the words that models read; before the terminator of an empty string is none."""
    split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
    return Words(
        cast("pa.StringArray", split.flatten()), pc.list_value_length(split).to_numpy().astype(np.int64)
    )


def common(values: NDArray[np.generic], words: Words, most: _Rows | None = None) -> _Rows:
    """Count the leading words whose values each sentence shares with the sentence before.

    Args:
        values: One for each word, (words,).
        words: Whose they are.
        most: Where to stop in each sentence, (sentences,); None for the shorter of the two.
    """
    shared = np.zeros(len(words.lengths), dtype=np.int64)
    if most is None:
        most = np.minimum(words.lengths, np.concatenate(([0], words.lengths[:-1])))
    alive = np.flatnonzero(most > 0)
    depth = 0
    while len(alive):
        here, before = words.starts[alive] + depth, words.starts[alive - 1] + depth
        alive = alive[values[here] == values[before]]
        depth += 1
        shared[alive] = depth
        alive = alive[most[alive] > depth]
    return shared


def kept(words: Words, shared: _Rows) -> NDArray[np.bool_]:
    """Mark the words that are not shared with the sentence before, (words,)."""
    depth = np.arange(len(words.texts)) - np.repeat(words.starts, words.lengths)
    return np.asarray(depth >= np.repeat(shared, words.lengths))


def spread(words: Words, shared: _Rows) -> _Rows:
    """Find for every word the one among the kept that stands for it, by its place among them, (words,).

    A word that a sentence shares stands where the sentence before has it, or the one before that.
    """
    own = kept(words, shared)
    place = np.cumsum(own) - 1
    shorter = words.lengths
    alive = np.flatnonzero(shorter > 0)
    depth = 0
    while len(alive):
        here = words.starts[alive] + depth
        # The last sentence that has a word of its own at this depth: all between share it.
        origin = np.maximum.accumulate(np.where(own[here], np.arange(len(alive)), 0))
        place[here] = place[here[origin]]
        depth += 1
        alive = alive[shorter[alive] > depth]
    return place
