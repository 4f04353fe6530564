"""Models behind a wall: one number for a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tseval.errors import ModelError, quoted_text
from tseval.scoring.given import as_numbers
from tseval.scoring.memory import Memory
from tseval.scoring.protocol import Encoded
from tseval.scoring.rows import refuse_empty, rows_of_sums
from tseval.scoring.scorers.scorer import Scorer

if TYPE_CHECKING:
    from tseval.scoring.protocol import TotalModel


class TotalScorer(Scorer):
    """Scores with a model that says nothing of words; batches and memory are its own affair."""

    gives_words = False

    def __init__(self, model: TotalModel) -> None:
        super().__init__(model, Memory(1, "sentences"))
        self._model = model

    @torch.inference_mode()
    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Give the model the whole shard; `words` are null."""
        refuse_empty(sentences)
        texts = [str(text) for text in sentences.to_pylist()]
        what = f"log-probabilities of {len(texts)} sentences, the first {quoted_text(texts[0])}"
        totals = as_numbers(self._model.sentence_logprobs(texts), self.card.name, what)
        if len(totals) != len(sentences):
            raise ModelError(f"{self.card.name} gave {len(totals)} scores for {len(sentences)} sentences")
        lengths = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences)))
        self.n_contexts += len(sentences)
        n_words = np.asarray(lengths, dtype=np.int64)
        words = pa.nulls(int(n_words.sum()), pa.float32())
        none = np.zeros(len(sentences), dtype=np.int32)
        return rows_of_sums(
            sentences, Encoded(sentences, np.empty(0), n_words, none), words, totals, self.card.name
        )

    def score_tokens(self, sentences: pa.StringArray) -> NoReturn:
        """Refuse: nothing is known of tokens."""
        raise ModelError(f"{self.card.name} gives one number for a sentence, and nothing of its words")
