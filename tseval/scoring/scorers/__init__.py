"""One scorer for each protocol that a model may offer; `scorer_for` finds it."""

from __future__ import annotations

from tseval.errors import ModelError
from tseval.scoring.protocol import RecurrentModel, SentenceModel, TokenModel, TotalModel
from tseval.scoring.scorers.recurrent import RecurrentScorer
from tseval.scoring.scorers.scorer import Scorer
from tseval.scoring.scorers.sentences import SentenceScorer
from tseval.scoring.scorers.tokens import TokenScorer
from tseval.scoring.scorers.totals import TotalScorer

__all__ = ["Scorer", "scorer_for"]


def scorer_for(model: object) -> Scorer:
    """Give the scorer of a model, the one of the richest protocol that it offers.

    Raises:
        ModelError: It offers none.
    """
    if isinstance(model, RecurrentModel):
        return RecurrentScorer(model)
    if isinstance(model, TokenModel):
        return TokenScorer(model)
    if isinstance(model, SentenceModel):
        return SentenceScorer(model)
    if isinstance(model, TotalModel):
        return TotalScorer(model)
    raise ModelError(
        f"a {type(model).__name__} cannot be scored: it has no card, or no method for log-probabilities.\n"
        "  Give it a ModelCard as `card`, and `word_logprobs` or `sentence_logprobs` (docs/adapters.md)."
    )
