"""One scorer for each protocol that a model may offer; `scorer_for` finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tseval.scoring.protocol import RecurrentModel, SentenceModel, TokenModel, refuse_no_model
from tseval.scoring.scorers.recurrent import RecurrentScorer
from tseval.scoring.scorers.scorer import Scorer
from tseval.scoring.scorers.sentences import SentenceScorer
from tseval.scoring.scorers.tokens import TokenScorer
from tseval.scoring.scorers.totals import TotalScorer

if TYPE_CHECKING:
    from tseval.scoring.protocol import TotalModel

__all__ = ["Scorer", "scorer_for"]


def scorer_for(model: object, *, words: bool = False) -> Scorer:
    """Give the scorer of a model, the one of the richest protocol that it offers.

    Args:
        model: Satisfies a protocol of `tseval.scoring.protocol`.
        words: Whether single words matter. Where a model splits words into pieces, the numbers of words are
            then probabilities, at the cost of a little more computing; else they are sums over pieces, which
            is all that whole sentences need.

    Raises:
        ModelError: It offers none.
    """
    if isinstance(model, RecurrentModel):
        return RecurrentScorer(model)
    if isinstance(model, TokenModel):
        return TokenScorer(model, words)
    if isinstance(model, SentenceModel):
        return SentenceScorer(model)
    refuse_no_model(model, "what should be scored")
    return TotalScorer(cast("TotalModel", model))
