"""Opaque models of words: batches of sentences of similar length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError
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

    def _batch(self, batch: list[str]) -> np.ndarray:
        """Score a batch, (words,) float32.

        Raises:
            ModelError: The model gives more or fewer numbers than there are words.
        """
        rows = self._model.word_logprobs(batch)
        for text, row in zip(batch, rows, strict=True):
            if len(row) != len(text.split()):
                raise ModelError(
                    f"{self.card.name} gave {len(row)} log-probabilities for the "
                    f"{len(text.split())} words of {text!r}"
                )
        return np.array([value for row in rows for value in row], dtype=np.float32)

    def _seen(self, sentences: pa.StringArray, texts: list[str]) -> tuple[pa.StringArray, np.ndarray]:
        """Give sentences as the model sees them, and the unknown words of each, if it can say."""
        if not isinstance(self._model, ReportingModel):
            return sentences, np.zeros(len(texts), dtype=np.int32)
        shown = list(self._model.seen(texts))
        if len(shown) != len(texts):
            raise ModelError(f"{self.card.name} showed {len(shown)} sentences for {len(texts)}")
        n_unknown = np.array([text.split().count(UNKNOWN) for text in shown], dtype=np.int32)
        return pa.array(shown, pa.string()), n_unknown
