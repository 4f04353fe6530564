"""Forced choice: a model is asked which of two sentences is better, once in each order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.questions.contrast import Contrast
    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score


# Columns of verdicts: the answer, 1 or 2, when the better sentence stands first, and when the worse one does.
BETTER_FIRST, WORSE_FIRST = "answer_better_first", "answer_worse_first"


def question_label(first: str, second: str) -> str:
    """Name the column of the questions that show the sentences of two labels in this order."""
    return f"{first} or {second}"


@dataclass(frozen=True, slots=True)
class ForcedChoice(Question):
    """Pairs of sentences, each of which is two questions: the better sentence first, and second.

    A pair is right if the better sentence is chosen both times. If it is chosen once, the order decides, not
    the sentences: the pair is a tie, and wrong. If an answer is neither 1 nor 2 the pair is undecidable.
    """

    ordered: tuple[Contrast, ...]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Refuse every score but `prompt`."""
        if score == "prompt":
            return None
        return (
            f"has questions for a prompt model, which gives no log-probabilities, so --score {score} is not "
            "possible.\n  Leave out --score."
        )

    def n_verdicts(self, n_items: int) -> int:
        """Count one for each item and contrast."""
        return n_items * len(self.ordered)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Count how often each sentence of a pair was chosen: scores are 0, 1 or 2."""
        for contrast in self.ordered:
            better_first = rows[question_label(contrast.better, contrast.worse)]
            worse_first = rows[question_label(contrast.worse, contrast.better)]
            first, second = scored.choices[better_first], scored.choices[worse_first]
            better = ((first == 1) * 1.0) + (second == 2)
            worse = ((first == 2) * 1.0) + (second == 1)
            undecidable = (first == 0) | (second == 0) | (better_first == worse_first)
            answers = pa.table({BETTER_FIRST: _known(first), WORSE_FIRST: _known(second)})
            yield Decided(str(contrast), better, worse, better > worse, undecidable, features=answers)

    def feature_types(self) -> list[pa.Field[Any]]:
        """Return the answers in both orders."""
        return [pa.field(name, pa.int64()) for name in (BETTER_FIRST, WORSE_FIRST)]

    def describe(self) -> list[list[str]]:
        """Name the two labels of each contrast."""
        return [[contrast.better, contrast.worse] for contrast in self.ordered]


def _known(answers: Any) -> pa.Array[Any]:
    return pa.array(answers, pa.int64(), mask=np.asarray(answers == 0))
