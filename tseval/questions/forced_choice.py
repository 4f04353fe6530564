"""Forced choice: a prompt asks a model which of two sentences is better, once in each order."""

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


# Columns of verdicts: the answer, 1 or 2, if the better sentence comes first, and if the worse one does.
BETTER_FIRST, WORSE_FIRST = "answer_better_first", "answer_worse_first"


def question_label(first: str, second: str) -> str:
    """Return the column name of questions that show the sentences of two labels in this order."""
    return f"{first} or {second}"


@dataclass(frozen=True, slots=True)
class ForcedChoice(Question):
    """Pairs of sentences, each with two questions: the better sentence comes first, or second.

    A pair is right if the model chooses the better sentence both times. If it chooses it once, the order
    decides and not the sentences: the pair is a tie, and wrong. If an answer is neither 1 nor 2, the pair is
    undecidable.
    """

    ordered: tuple[Contrast, ...]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return an error text for every score but `prompt`."""
        if score == "prompt":
            return None
        return (
            f"has questions for a prompt model, which gives no log-probabilities, so --score {score} is not "
            "possible.\n  Leave out --score."
        )

    def n_verdicts(self, n_items: int) -> int:
        """Count one verdict for each item and contrast."""
        return n_items * len(self.ordered)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Count how often the model chose each sentence of a pair: scores are 0, 1 or 2."""
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
        """Return the two labels of each contrast."""
        return [[contrast.better, contrast.worse] for contrast in self.ordered]


def _known(answers: Any) -> pa.Array[Any]:
    return pa.array(answers, pa.int64(), mask=np.asarray(answers == 0))
