"""Pairs: questions whether the better sentence is strictly more probable than the worse one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.questions.contrast import Contrast
    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score


# The feature with the number of words, at the end of an item's sentences, that the score `ending` compares.
ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Pairs(Question):
    """Ordered pairs of sentences, compared by one score.

    Equal scores are a tie, and wrong. A pair is undecidable if both sentences look the same to the model, or
    if they begin with different tokens whose probability the model does not give. Half-known pairs are
    undecidable too, unless the rule is to compare them.
    """

    ordered: tuple[Contrast, ...]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return an error text for scores of other questions, and for `ending` if items state no length."""
        if score == "choices":
            return (
                f"has no choices between symbols, so --score {score} is not possible. Choose another "
                "--score, such as sentence"
            )
        if score == "inflection":
            return (
                "asks about one verb only, so --score inflection is not possible.\n"
                "  Add :inflection to the name of the suite"
            )
        if score == "prompt":
            return (
                "compares log-probabilities of sentences, so --score prompt is not possible here.\n"
                "  Leave out --score, or use a prompt model: --model prompt:hf:FOLDER"
            )
        if score == "regions":
            return (
                f"has no predictions about regions, so --score {score} is not possible. Choose another "
                "--score, such as sentence"
            )
        if score == "ending" and not (
            ENDING in features.column_names and pa.types.is_integer(features[ENDING].type)
        ):
            return (
                "does not state how many words at the end --score ending compares.\n"
                f"  Add a feature {ENDING!r} with the number of words to each item, or choose another "
                "--score."
            )
        return None

    def n_verdicts(self, n_items: int) -> int:
        """Count one verdict for each item and contrast."""
        return n_items * len(self.ordered)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Compare both sentences of every item, contrast by contrast."""
        for contrast in self.ordered:
            better, worse = rows[contrast.better], rows[contrast.worse]
            undecidable = scored.looks[better] == scored.looks[worse]
            different_starts = scored.begin_apart(better, worse)
            if score == "ending" and different_starts.any():  # matters only if an ending is a whole sentence
                shorter = np.minimum(scored.words.lengths[better], scored.words.lengths[worse])
                different_starts &= features[ENDING].to_numpy() >= shorter
            undecidable |= different_starts
            half_known = scored.unknown_words.differ(better, worse) & ~undecidable
            if not scored.compares_half_known:
                undecidable |= half_known
            high, low = _scores(scored, (better, worse), ~undecidable, features, score)
            undecidable |= np.isnan(high) | np.isnan(low)
            yield Decided(str(contrast), high, low, high > low, undecidable, half_known=half_known)

    def describe(self) -> list[list[str]]:
        """Return the two labels of each contrast."""
        return [[contrast.better, contrast.worse] for contrast in self.ordered]

    def contrasts(self) -> tuple[Contrast, ...]:
        """Return the contrasts."""
        return self.ordered


def _scores(
    scored: ScoredSentences,
    pair: tuple[NDArray[np.int64], NDArray[np.int64]],
    decidable: NDArray[np.bool_],
    features: pa.Table,
    score: Score,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score both sentences of each pair, (items,) each; undecidable pairs may have no critical word."""
    better, worse = pair
    if score == "critical":
        return scored.words.critical(better, worse, decidable)
    if score == "ending":
        lengths = features[ENDING].to_numpy()
        return scored.words.ending(better, lengths), scored.words.ending(worse, lengths)
    sums = scored.means if score == "mean" else scored.sums
    return sums[better], sums[worse]
