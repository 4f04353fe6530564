"""Scored sentences as rows, and how many are scored at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError
from tseval.scoring.numerics import empty_caches, out_of_memory
from tseval.scoring.protocol import (
    Encoded,
    not_finite,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def refuse_empty(sentences: pa.StringArray) -> None:
    """Refuse sentences without words.

    Raises:
        ModelError: One has none.
    """
    if pc.min(pc.utf8_length(pc.utf8_trim_whitespace(sentences))).as_py() == 0:
        raise ModelError("a sentence without words cannot be scored")


def pieces_of(encoded: Encoded) -> np.ndarray:
    """Give the number of tokens of each word, (words,) int64."""
    if encoded.pieces is not None:
        return encoded.pieces
    return np.ones(int(encoded.lengths.sum()), dtype=np.int64)


def sum_pieces(encoded: Encoded, logprobs: np.ndarray) -> np.ndarray:
    """Sum the log-probabilities of tokens, (tokens,), to those of words, (words,) float32."""
    if encoded.pieces is None:
        return logprobs
    word_of = np.repeat(np.arange(len(encoded.pieces)), encoded.pieces)
    return np.bincount(word_of, weights=logprobs, minlength=len(encoded.pieces)).astype(np.float32)


def rows_of_words(
    sentences: pa.StringArray,
    encoded: Encoded,
    words: np.ndarray,
    who: str,
    corrections: np.ndarray | None = None,
) -> pa.Table:
    """Gather word log-probabilities, (words,), into one row per sentence.

    Corrections are added to the words, and not to the sentence: they add up to how its last word ends and its
    first one begins, which is no part of its probability. What they were added to stands beside the words, as
    `pieces`.
    """
    starts = np.concatenate(([0], np.cumsum(encoded.lengths)))[:-1]
    sums = np.add.reduceat(words.astype(np.float64), starts) if len(words) else np.empty(0)
    if corrections is None:
        return rows_of_sums(sentences, encoded, pa.array(words, pa.float32()), sums, who)
    corrected = (words + corrections).astype(np.float32)
    refuse_infinite_words(corrected, encoded.lengths, sentences, who)
    table = rows_of_sums(sentences, encoded, pa.array(corrected, pa.float32()), sums, who)
    offsets = pa.array(np.concatenate(([0], np.cumsum(encoded.lengths))), pa.int32())
    return table.append_column("pieces", pa.ListArray.from_arrays(offsets, pa.array(words, pa.float32())))


def refuse_infinite_words(
    words: np.ndarray, lengths: np.ndarray, sentences: pa.StringArray, who: str
) -> None:
    """Refuse corrected words that are not finite.

    Raises:
        ModelError: Names the model and the sentence.
    """
    wrong = np.flatnonzero(~np.isfinite(words))
    if len(wrong):
        row = int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
        raise not_finite(float(words[wrong[0]]), sentences[row].as_py(), who)


def rows_of_sums(
    sentences: pa.StringArray, encoded: Encoded, words: pa.FloatArray, sums: np.ndarray, who: str
) -> pa.Table:
    """Lay out one row per sentence; `words`, (words,), are null where only the sums are known.

    Raises:
        ModelError: A sum is not finite; names the model, `who`, and the sentence.
    """
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise not_finite(float(sums[row]), sentences[row].as_py(), who)
    offsets = np.concatenate(([0], np.cumsum(encoded.lengths)))
    return pa.table(
        {
            "sentence": sentences,
            "seen": encoded.seen,
            "logprob": pa.array(sums, pa.float64()),
            "words": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words),
            "n_unknown": pa.array(encoded.n_unknown, pa.int32()),
        }
    )


def with_unscored(table: pa.Table, encoded: Encoded) -> pa.Table:
    """Add the column `unscored`: the first token of each sentence, for a model that leaves it unscored."""
    counts = encoded.token_counts
    return table.append_column("unscored", pa.array(encoded.tokens[np.cumsum(counts) - counts], pa.int64()))


T = TypeVar("T")


class Memory:
    """Remembers the size of batch that fitted.

    Args:
        at_once: What to begin with.
        unit: What is counted, for the warnings: `sentences` or `tokens`.

    Attributes:
        shortages: A line for each time that memory did not suffice.
    """

    def __init__(self, at_once: int, unit: str) -> None:
        self.at_once, self.unit = at_once, unit
        self.shortages: list[str] = []

    def whole(self, score: Callable[[int], T]) -> T:
        """Call a function with the size of its batches, until they are small enough.

        Raises:
            ModelError: Not even the smallest batch fits.
        """
        while True:
            try:
                return score(self.at_once)
            except (MemoryError, RuntimeError) as error:
                self._halve(self.at_once, error)

    def in_parts(self, n: int, part: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Join what a function gives for parts [start, stop) of n, each small enough.

        Raises:
            ModelError: Not even the smallest part fits.
        """
        pieces: list[np.ndarray] = []
        start = 0
        while start < n:
            stop = min(start + self.at_once, n)
            try:
                pieces.append(part(start, stop))
            except (MemoryError, RuntimeError) as error:
                self._halve(stop - start, error)
            else:
                start = stop
        return np.concatenate(pieces)

    def _halve(self, tried: int, error: MemoryError | RuntimeError) -> None:
        """Go on with half of what was tried, if it was memory that did not suffice."""
        if not out_of_memory(error):
            raise error
        if tried == 1:
            raise ModelError("not enough memory to score even one sentence: try another --device")
        self.at_once = tried // 2
        empty_caches()
        self.shortages.append(f"out of memory with {tried} {self.unit} at once; went on with {self.at_once}")
