"""The log-probabilities of single words of all scored sentences, concatenated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError
from tseval.questions.normalisation import text_length
from tseval.writing import UNFINISHED, without_boundaries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Sums = NDArray[np.float64]


class WordScores:
    """The words of all scored sentences, concatenated, with the start of each sentence."""

    def __init__(self, table: pa.Table) -> None:
        split = pc.split_pattern(table["seen"].combine_chunks(), " ")
        self.unfinished = unfinished_words(table)
        words = split.flatten()
        if self.unfinished.any():  # the form in `seen` of such a word depends on neighbouring words
            texts = pc.utf8_split_whitespace(table["sentence"].combine_chunks()).flatten()
            words = pc.if_else(pa.array(self._shares_piece()), texts, words)
        self.ids = words.dictionary_encode().indices.to_numpy()
        self.logprobs = pc.list_flatten(table["words"]).to_numpy()
        assert len(self.ids) == len(self.logprobs), "log-probabilities do not align with the words seen"
        self.sentences, self.texts = table["seen"], table["sentence"]
        self.totals = table["logprob"].to_numpy()
        self.lengths = pc.list_value_length(split).to_numpy()
        self.starts = np.cumsum(self.lengths) - self.lengths

    def critical(self, better: Rows, worse: Rows, decidable: NDArray[np.bool_]) -> tuple[Sums, Sums]:
        """Score the first word at which each pair differs, (pairs,); NaN if the pair is not decidable."""
        scores = np.full((2, len(better)), np.nan)
        pairs = np.flatnonzero(decidable)
        position = 0
        while len(pairs):  # one pass per word position; pairs that have differed are removed
            b, w = better[pairs], worse[pairs]
            is_over = position >= np.minimum(self.lengths[b], self.lengths[w])
            if is_over.any():
                first = int(np.flatnonzero(is_over)[0])
                raise SuiteError(
                    f"{self.sentences[int(b[first])].as_py()!r} and "
                    f"{self.sentences[int(w[first])].as_py()!r} have no critical word (first different "
                    "word), because one sentence is the beginning of the other.\n"
                    "  To compare whole sentences, write --score sentence."
                )
            at_b, at_w = self.starts[b] + position, self.starts[w] + position
            differ = self.ids[at_b] != self.ids[at_w]
            scores[0, pairs[differ]] = self.logprobs[at_b[differ]]
            scores[1, pairs[differ]] = self.logprobs[at_w[differ]]
            shared = self._shares_piece()
            for pair in pairs[differ & (shared[at_b] | shared[at_w])].tolist():
                scores[:, pair] = self._from_common_piece(int(better[pair]), int(worse[pair]), position)
            pairs, position = pairs[~differ], position + 1
        return scores[0], scores[1]

    def _shares_piece(self) -> NDArray[np.bool_]:
        """Return which words share a piece with the word before or after them, (words,)."""
        # The last word of a sentence is never unfinished.
        shared: NDArray[np.bool_] = self.unfinished | np.append(False, self.unfinished[:-1])
        return shared

    def _from_common_piece(self, better: int, worse: int, position: int) -> tuple[float, float]:
        """Score the word at a position with all pieces that contain its letters, and their other letters.

        If such a piece also has a part of a later word, the probability is unknown: NaN.
        """
        starts = [int(self.starts[row]) for row in (better, worse)]
        if any(self.unfinished[start + position] for start in starts):
            return np.nan, np.nan
        first = position
        while first and any(self.unfinished[start + first - 1] for start in starts):
            first -= 1
        first_part, second_part = (
            float(self.logprobs[start + first : start + position + 1].astype(np.float64).sum())
            for start in starts
        )
        return first_part, second_part

    def ending(self, rows: Rows, length: Rows) -> Sums:
        """Sum the log-probabilities of the last words of sentences, in float64, (sentences,).

        NaN if a piece has letters of the ending and of the text before it. The same holds for `sums_within`.
        """
        wrong = np.flatnonzero((length < 1) | (length > self.lengths[rows]))
        if len(wrong):
            sentence = self.sentences[int(rows[wrong[0]])].as_py()
            raise SuiteError(
                f"the feature `ending` of {sentence!r} is {length[wrong[0]]}, but `ending` must say how "
                "many words at the end of the sentence tseval compares.\n"
                "  Write a whole number from 1 to the number of words in the sentence."
            )
        return self._sums(self.starts[rows] + self.lengths[rows] - length, length)

    def lengths_within(self, rows: Rows, before: Rows, lengths: Rows, unit: str) -> Rows:
        """Count the characters or bytes of a span of words, given as in `sums_within`, (sentences,)."""
        text_lengths = []
        for row, start, length in zip(rows.tolist(), before.tolist(), lengths.tolist(), strict=True):
            text = str(self.texts[row].as_py())
            spans = [word.span() for word in re.finditer(r"\S+", text)]
            stretch = text[spans[start][0] : spans[start + length - 1][1]] if length else ""
            text_lengths.append(text_length(without_boundaries(stretch), unit))
        return np.maximum(np.array(text_lengths, dtype=np.int64), 1)

    def sums_within(self, rows: Rows, before: Rows, lengths: Rows) -> Sums:
        """Sum a span of words in each sentence, after `before` words, in float64, (sentences,)."""
        return self._sums(self.starts[rows] + before, lengths)

    def within(self, rows: Rows, before: Rows, lengths: Rows) -> list[NDArray[np.float64]]:
        """Return the log-probabilities of a span of words, given as in `sums_within`, (words,) each."""
        spans = zip(self.starts[rows] + before, lengths, strict=True)
        by_sentence = [self.logprobs[start : start + length].astype(np.float64) for start, length in spans]
        if not self.unfinished.any():
            return by_sentence
        starts, shared = (self.starts[rows] + before).tolist(), self._shares_piece()
        for start, values in zip(starts, by_sentence, strict=True):
            values[shared[start : start + len(values)]] = np.nan
        return by_sentence

    def _sums(self, starts: Rows, lengths: Rows) -> Sums:
        """Sum runs of words; an empty run is 0."""
        # Differences of a cumulative sum would be faster, but equal spans must have equal sums.
        spans = np.stack((starts, starts + lengths), axis=1).ravel()
        sums = np.add.reduceat(np.append(self.logprobs.astype(np.float64), 0.0), spans)[::2]
        sums = np.where(lengths == 0, 0.0, sums)
        if self.unfinished.any():
            ends = np.append(False, self.unfinished)
            sums[(lengths > 0) & (ends[starts] | ends[starts + lengths])] = np.nan
        return sums


def unfinished_words(table: pa.Table) -> NDArray[np.bool_]:
    """Return which words of all sentences end inside a piece of a later word, (words,).

    Such a word has no separate probability, and the next word has none either.
    """
    seen = pc.split_pattern(table["seen"].combine_chunks(), " ").flatten()
    if not pc.any(pc.ends_with(seen, UNFINISHED), min_count=0).as_py():
        return np.zeros(len(seen), dtype=np.bool_)
    texts = pc.utf8_split_whitespace(table["sentence"].combine_chunks()).flatten()
    if len(texts) != len(seen):  # the adapter shows words that do not match the sentence's words
        return np.zeros(len(seen), dtype=np.bool_)
    marked = pc.and_not(pc.ends_with(seen, UNFINISHED), pc.ends_with(texts, UNFINISHED))
    return cast("NDArray[np.bool_]", marked.to_numpy(zero_copy_only=False))
