"""Ratings: the correlation of scores of single sentences with human judgements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score


# The only label of a rated sentence, and the feature to correlate scores with.
RATED, MEAN_RATING = "sentence", "rating"


@dataclass(frozen=True, slots=True)
class Ratings(Question):
    """Sentences with ratings, one per item, with the rating as a feature.

    Items may also be pairs, whose rating says how much people prefer the first sentence. A verdict has the
    score of a sentence, or the difference of two scores; it is not right or wrong.
    """

    def right_or_wrong(self) -> bool:
        """Return False: verdicts are neither right nor wrong."""
        return False

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return an error text for scores that compare parts of sentences."""
        if score in ("sentence", "mean"):
            return None
        return (
            f"has ratings of whole sentences, so --score {score} is not possible.\n"
            "  Write --score sentence or --score mean."
        )

    def n_verdicts(self, n_items: int) -> int:
        """Count one verdict for each sentence."""
        return n_items

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Yield the score of every sentence, or for a pair the first score minus the second.

        If the model leaves first tokens unscored, the score is that of the other tokens. A sentence with
        unknown words is counted as half known and keeps its score. The difference of a half-known pair is
        undecidable.
        """
        all_scores = scored.means if score == "mean" else scored.sums
        first, *others = (all_scores[label_rows] for label_rows in rows.values())
        scores = first - others[0] if others else first
        undecidable = np.zeros(len(scores), dtype=np.bool_)
        places = list(rows.values())
        if others:
            half_known = scored.unknown_words.differ(*places)
            undecidable |= half_known & (not scored.compares_half_known)
        else:
            half_known = scored.unknown_words.kinds[places[0]] > 0
        no_scores = np.full(len(scores), np.nan)
        yield Decided(MEAN_RATING, scores, no_scores, None, undecidable, half_known=half_known)

    def describe(self) -> list[list[str]]:
        """Return the name of the feature that scores are correlated with."""
        return [[MEAN_RATING]]
