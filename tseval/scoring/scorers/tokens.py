"""Models that score the tokens of many sentences themselves: transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.errors import ModelError, quoted_text
from tseval.scoring.given import as_array, refuse_misencoded
from tseval.scoring.memory import Memory
from tseval.scoring.protocol import CorrectingModel
from tseval.scoring.rows import refuse_empty
from tseval.scoring.scorers.scorer import Scorer

if TYPE_CHECKING:
    import pyarrow as pa

    from tseval.scoring.protocol import Encoded, TokenModel


class TokenScorer(Scorer):
    """Scores with a model that splits words into pieces and reads batches of tokens.

    Args:
        model: What is scored with.
        words: Whether single words matter: then they are corrected, if the model says by how much.
    """

    def __init__(self, model: TokenModel, words: bool) -> None:
        super().__init__(model, Memory(model.batch_tokens, "tokens"))
        self._model = model
        self._correcting = model if words and isinstance(model, CorrectingModel) else None

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Let the model score a shard in batches small enough for memory."""
        encoded = self.encoded(sentences)
        given: object = self._memory.whole(lambda size: self._model.token_logprobs(encoded, size))
        match given:
            case (logprobs, int() | np.integer() as n_contexts):
                self.n_contexts += int(n_contexts)
                what = f"log-probabilities of the tokens of {_named(sentences)}"
                return encoded, as_array(logprobs, len(encoded.tokens), self.card.name, what)
        raise ModelError(
            f"{self.card.name} gave no pair of log-probabilities and a number of contexts for "
            f"{_named(sentences)}"
        )

    @torch.inference_mode()
    def score_words(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray, np.ndarray | None]:
        """Let the model score tokens and correct words, if it does and words matter."""
        model = self._correcting
        if model is None:
            return super().score_words(sentences)
        encoded = self.encoded(sentences)
        given: object = self._memory.whole(lambda size: model.corrected_logprobs(encoded, size))
        match given:
            case (logprobs, corrections, int() | np.integer() as n_contexts):
                self.n_contexts += int(n_contexts)
                what, who = f"log-probabilities of the tokens of {_named(sentences)}", self.card.name
                tokens = as_array(logprobs, len(encoded.tokens), who, what)
                if corrections is not None:
                    n_words = int(encoded.lengths.sum())
                    corrections = as_array(
                        corrections, n_words, who, f"corrections of the words of {_named(sentences)}"
                    )
                return encoded, tokens, corrections
        raise ModelError(
            f"{self.card.name} gave no log-probabilities, corrections and number of contexts for "
            f"{_named(sentences)}"
        )

    def encoded(self, sentences: pa.StringArray) -> Encoded:
        """Bring sentences to the model's vocabulary."""
        refuse_empty(sentences)
        encoded = self._model.encode(sentences)
        refuse_misencoded(encoded, sentences, self.card.name)
        return encoded

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the pieces by their numbers: what two pieces are spelt like may be the same."""
        return [str(token) for token in encoded.tokens.tolist()]

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Spell the pieces."""
        return self._model.token_texts(encoded.tokens)


def _named(sentences: pa.StringArray) -> str:
    return f"the sentence {quoted_text(sentences[0].as_py())} and {len(sentences) - 1} others"
