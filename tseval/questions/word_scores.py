"""Log-probabilities of single words, and their sums over the parts of sentences that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class WordScores:
    """The words of all scored sentences end to end, with where each sentence starts."""

    def __init__(self, scored: pa.Table) -> None:
        split = pc.split_pattern(scored["seen"].combine_chunks(), " ")
        self.ids = split.flatten().dictionary_encode().indices.to_numpy()
        self.logprobs = pc.list_flatten(scored["words"]).to_numpy()
        assert len(self.ids) == len(self.logprobs), "log-probabilities do not align with the words seen"
        self.sentences = scored["seen"]
        self.lengths = pc.list_value_length(split).to_numpy()
        self.starts = np.cumsum(self.lengths) - self.lengths

    def critical(
        self, better: NDArray[np.int64], worse: NDArray[np.int64], decidable: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Score the first word at which each pair differs; not a number where none does.

        Args:
            better: Rows of the better sentences, (pairs,).
            worse: Rows of the worse sentences, (pairs,).
            decidable: False where the two are the same to the model, (pairs,).
        """
        scores = np.full((2, len(better)), np.nan)
        pairs = np.flatnonzero(decidable)
        position = 0
        while len(pairs):  # one turn per word position; pairs that have differed drop out
            b, w = better[pairs], worse[pairs]
            ended = position >= np.minimum(self.lengths[b], self.lengths[w])
            if ended.any():
                first = int(np.flatnonzero(ended)[0])
                raise SuiteError(
                    f"{self.sentences[int(b[first])].as_py()!r} and "
                    f"{self.sentences[int(w[first])].as_py()!r} have no critical word: one is the "
                    "beginning of the other.\n  Compare whole sentences: --score sentence."
                )
            at_b, at_w = self.starts[b] + position, self.starts[w] + position
            differ = self.ids[at_b] != self.ids[at_w]
            scores[0, pairs[differ]] = self.logprobs[at_b[differ]]
            scores[1, pairs[differ]] = self.logprobs[at_w[differ]]
            pairs, position = pairs[~differ], position + 1
        return scores[0], scores[1]

    def ending(self, rows: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum the log-probabilities of the last words of sentences, in float64, (sentences,).

        Args:
            rows: The sentences, (sentences,).
            length: How many words to sum, (sentences,).
        """
        wrong = np.flatnonzero((length < 1) | (length > self.lengths[rows]))
        if len(wrong):
            sentence = self.sentences[int(rows[wrong[0]])].as_py()
            raise SuiteError(f"{sentence!r} has no ending of {length[wrong[0]]} words to compare")
        return self._sums(self.starts[rows] + self.lengths[rows] - length, length)

    def region(
        self, rows: NDArray[np.int64], lengths: Sequence[Sequence[int]], number: int | None
    ) -> NDArray[np.float64]:
        """Sum the log-probabilities of one region of sentences, in float64, (sentences,).

        Args:
            rows: The sentences, (sentences,).
            lengths: Words of each region of each sentence.
            number: Which region, from 1; None for the whole sentence.
        """
        if number is None:
            return self._sums(self.starts[rows], self.lengths[rows])
        before = np.array([sum(own[: number - 1]) for own in lengths])
        return self._sums(self.starts[rows] + before, np.array([own[number - 1] for own in lengths]))

    def _sums(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum runs of words; an empty run is 0."""
        # Differences of one running sum would be quicker, but equal runs must have equal sums.
        spans = np.stack((starts, starts + lengths), axis=1).ravel()
        sums = np.add.reduceat(np.append(self.logprobs.astype(np.float64), 0.0), spans)[::2]
        return np.where(lengths == 0, 0.0, sums)
