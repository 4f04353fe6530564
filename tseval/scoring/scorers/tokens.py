"""Models that score the tokens of many sentences themselves: transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tseval.scoring.memory import Memory
from tseval.scoring.rows import refuse_empty
from tseval.scoring.scorers.scorer import Scorer

if TYPE_CHECKING:
    import numpy as np
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
        logprobs, n_contexts = self._memory.whole(lambda size: self._model.token_logprobs(encoded, size))
        self.n_contexts += n_contexts
        return encoded, logprobs

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Spell the pieces."""
        return self._model.token_texts(encoded.tokens)
