"""Ratings: how far do the scores of single sentences go with how people rate them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.questions import Decided, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from tseval.questions import RowsByLabel, Score
    from tseval.questions.scored import ScoredSentences

# The one label of a rated sentence, and what its score is set against.
RATED, MEAN_RATING = "sentence", "rating"


@dataclass(frozen=True, slots=True)
class Ratings(Question):
    """Sentences that were rated, one to an item, with the rating among its features.

    A verdict holds the score of a sentence; nothing about it is right or wrong.
    """

    def right_or_wrong(self) -> bool:
        """Say that verdicts are neither."""
        return False

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Refuse what compares parts of sentences."""
        if score in ("sentence", "mean"):
            return None
        return f"has ratings of whole sentences: --score {score} cannot be used"

    def n_verdicts(self, n_items: int) -> int:
        """Count one for each sentence."""
        return n_items

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Give the score of every sentence.

        Where the model leaves first tokens unscored the score is that of the others.
        """
        scores = (scored.means if score == "mean" else scored.sums)[rows[RATED]]
        nothing = np.zeros(len(scores), dtype=np.bool_)
        yield Decided(MEAN_RATING, scores, np.full(len(scores), np.nan), None, nothing)

    def describe(self) -> list[list[str]]:
        """Name what scores are set against."""
        return [[MEAN_RATING]]
