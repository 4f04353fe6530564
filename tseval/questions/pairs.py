"""Pairs: is the better sentence strictly more probable than the worse one? And single sentences, rated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.questions import Decided, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.questions import Contrast, RowsByLabel, Score
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


# The feature that says how many words at the end of an item's sentences the score `ending` compares.
ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Pairs(Question):
    """Ordered pairs of sentences, compared by one score.

    Equal scores are a tie, and wrong. Two sentences that look the same to the model are undecidable, and so
    are two that begin with different tokens if the model cannot say how probable these are.

    Attributes:
        ordered: The contrasts that count.
    """

    ordered: tuple[Contrast, ...]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Refuse scores of other forms, and `ending` where the items do not say how long endings are."""
        if score == "choices":
            return f"has no choices after prefixes: --score {score} cannot be used"
        if score == "regions":
            return f"has no predictions on regions: --score {score} cannot be used"
        if score == "ending" and not _says_endings(features):
            return (
                "does not say how long the endings are that should be compared.\n"
                f"  Give its items a feature {ENDING!r}, a number of words, or choose another --score."
            )
        return None

    def n_verdicts(self, n_items: int) -> int:
        """Count one for each item and contrast."""
        return n_items * len(self.ordered)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Compare both sentences of every item, contrast by contrast."""
        for contrast in self.ordered:
            better, worse = rows[contrast.better], rows[contrast.worse]
            undecidable = scored.looks[better] == scored.looks[worse]
            apart = scored.begin_apart(better, worse)
            if score == "ending" and apart.any():  # no matter, unless an ending is the whole sentence
                shorter = np.minimum(scored.words.lengths[better], scored.words.lengths[worse])
                apart &= features[ENDING].to_numpy() >= shorter
            undecidable |= apart
            high, low = _scores(scored, (better, worse), ~undecidable, features, score)
            yield Decided(str(contrast), high, low, high > low, undecidable)

    def describe(self) -> list[list[str]]:
        """Name the two labels of each contrast."""
        return [[contrast.better, contrast.worse] for contrast in self.ordered]

    def contrasts(self) -> tuple[Contrast, ...]:
        """Give the contrasts."""
        return self.ordered


def _scores(
    scored: ScoredSentences,
    pair: tuple[NDArray[np.int64], NDArray[np.int64]],
    decidable: NDArray[np.bool_],
    features: pa.Table,
    score: Score,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score both sentences of each pair, (items,) each; undecidable pairs have no critical word."""
    better, worse = pair
    if score == "critical":
        return scored.words.critical(better, worse, decidable)
    if score == "ending":
        lengths = features[ENDING].to_numpy()
        return scored.words.ending(better, lengths), scored.words.ending(worse, lengths)
    sums = scored.means if score == "mean" else scored.sums
    return sums[better], sums[worse]


def _says_endings(features: pa.Table) -> bool:
    return ENDING in features.column_names and pa.types.is_integer(features[ENDING].type)
