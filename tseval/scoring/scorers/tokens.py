"""Models that score the tokens of many sentences themselves: transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.errors import ModelError
from tseval.scoring.given import as_array, refuse_misencoded
from tseval.scoring.memory import Memory
from tseval.scoring.rows import refuse_empty
from tseval.scoring.scorers.scorer import Scorer
from tseval.shown import quoted_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tseval.scoring.protocol import Encoded, TokenModel


class TokenScorer(Scorer):
    """Scores with a model that splits words into pieces and reads batches of tokens."""

    def __init__(self, model: TokenModel) -> None:
        super().__init__(model, Memory(model.batch_tokens, "tokens"))
        self._model = model

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Let the model score a shard in batches small enough for memory."""
        refuse_empty(sentences)
        encoded = self._model.encode(sentences)
        refuse_misencoded(encoded, sentences, self.card.name)
        given: object = self._memory.whole(lambda size: self._model.token_logprobs(encoded, size))
        first = f"the sentence {quoted_text(sentences[0].as_py())} and {len(sentences) - 1} others"
        match given:
            case (logprobs, int() | np.integer() as n_contexts):
                self.n_contexts += int(n_contexts)
                what = f"log-probabilities of the tokens of {first}"
                return encoded, as_array(logprobs, len(encoded.tokens), self.card.name, what)
        raise ModelError(
            f"{self.card.name} gave no pair of log-probabilities and a number of contexts for {first}"
        )

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Spell the pieces."""
        return self._model.token_texts(encoded.tokens)
