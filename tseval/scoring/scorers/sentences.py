"""Opaque models of words: batches of sentences of similar length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError, quoted_text
from tseval.scoring.given import as_numbers, given_list
from tseval.scoring.memory import Memory
from tseval.scoring.protocol import UNKNOWN, Encoded, ReportingModel
from tseval.scoring.rows import refuse_empty
from tseval.scoring.scorers.scorer import Scorer

if TYPE_CHECKING:
    from tseval.scoring.protocol import SentenceModel

# Sentences that a model gets at a time.
BATCH = 64


class SentenceScorer(Scorer):
    """Scores with a model that gives the log-probabilities of the words of sentences, and no more."""

    def __init__(self, model: SentenceModel) -> None:
        super().__init__(model, Memory(BATCH, "sentences"))
        self._model = model

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Give the model sentences sorted by length; the tokens are words."""
        refuse_empty(sentences)
        texts = [str(text) for text in sentences.to_pylist()]
        lengths = np.array([len(text.split()) for text in texts], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")

        def part(start: int, stop: int) -> np.ndarray:
            return self._batch([texts[i] for i in order[start:stop]])

        by_length = self._memory.in_parts(len(texts), part)
        self.n_contexts += len(by_length)
        rows = np.split(by_length, np.cumsum(lengths[order])[:-1])
        words = np.concatenate([rows[i] for i in np.argsort(order)])
        seen, n_unknown = self._seen(sentences, texts)
        return Encoded(seen, np.empty(0), lengths, n_unknown), words

    def encoded(self, sentences: pa.StringArray) -> Encoded:
        """Give the words; they are the tokens."""
        texts = [str(text) for text in sentences.to_pylist()]
        seen, n_unknown = self._seen(sentences, texts)
        lengths = np.array([len(text.split()) for text in texts], dtype=np.int64)
        return Encoded(seen, np.empty(0), lengths, n_unknown)

    def _batch(self, batch: list[str]) -> np.ndarray:
        """Score a batch, (words,) float32.

        Raises:
            ModelError: The model gives more or fewer numbers than there are words, or no numbers.
        """
        who = self.card.name
        some = f"{len(batch)} sentences, the first {quoted_text(batch[0])}"
        rows = given_list(self._model.word_logprobs(batch), who, f"log-probabilities of the words of {some}")
        if len(rows) != len(batch):
            raise ModelError(f"{who} gave {len(rows)} rows of log-probabilities for {some}")
        words = [
            as_numbers(row, who, f"log-probabilities of the words of {quoted_text(text)}")
            for text, row in zip(batch, rows, strict=True)
        ]
        for text, row in zip(batch, words, strict=True):
            if len(row) != len(text.split()):
                raise ModelError(
                    f"{who} gave {len(row)} log-probabilities for the {len(text.split())} words of "
                    f"{quoted_text(text)}"
                )
        with np.errstate(over="ignore"):  # what float32 does not hold is infinite, and told with its sentence
            return np.concatenate(words).astype(np.float32)

    def _seen(self, sentences: pa.StringArray, texts: list[str]) -> tuple[pa.StringArray, np.ndarray]:
        """Give sentences as the model sees them, and the unknown words of each, if it can say."""
        if not isinstance(self._model, ReportingModel):
            return sentences, np.zeros(len(texts), dtype=np.int32)
        what = f"sentences as it sees them, for {len(texts)}, the first {quoted_text(texts[0])}"
        shown = given_list(self._model.seen(texts), self.card.name, what)
        if len(shown) != len(texts):
            raise ModelError(f"{self.card.name} showed {len(shown)} sentences for {len(texts)}")
        for text, as_seen in zip(texts, shown, strict=True):
            if not isinstance(as_seen, str):
                raise ModelError(f"{self.card.name} did not show the sentence {quoted_text(text)} as text")
        n_unknown = np.array([str(text).split().count(UNKNOWN) for text in shown], dtype=np.int32)
        return pa.array(shown, pa.string()), n_unknown
