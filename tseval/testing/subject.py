"""What every property is given, and how numbers are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.testing.report import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tseval.scoring.protocol import Model
    from tseval.testing.scores import Numbers


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under test.

    Attributes:
        model: The model.
        sentences: Distinct, in order.
        tolerance: Largest difference between numbers that should be equal, in nats.
        scored: The sentences as a run scores them, one row each.
        numbers: Of each of them.
    """

    model: Model
    sentences: tuple[str, ...]
    tolerance: float
    scored: pa.Table
    numbers: Numbers

    def numbers_for(self, sentences: Sequence[str]) -> Numbers:
        """Give the numbers of some of the sentences."""
        place = {sentence: i for i, sentence in enumerate(self.sentences)}
        return [self.numbers[place[sentence]] for sentence in sentences]

    def compare(self, sentences: Sequence[str], ours: Numbers, theirs: Numbers, note: str = "") -> Finding:
        """Hold numbers of the same sentences against each other."""
        worst, where = 0.0, None
        for sentence, one, other in zip(sentences, ours, theirs, strict=True):
            if len(one) != len(other):
                return fails(f"{len(one)} numbers, and {len(other)}", sentence)
            difference = float(np.max(np.abs(one - other), initial=0.0))
            if not difference <= worst:  # a difference that is no number is the worst of all
                worst, where = difference, sentence
        if worst <= self.tolerance:
            return Finding("holds", difference=worst)
        return Finding("fails", note, worst if np.isfinite(worst) else None, where)


def holds(note: str = "") -> Finding:
    """Say that a property holds."""
    return Finding("holds", note)


def fails(note: str, sentence: str | None = None) -> Finding:
    """Say that a property fails."""
    return Finding("fails", note, None, sentence)


def not_applicable(note: str) -> Finding:
    """Say why a property means nothing for a model."""
    return Finding("not applicable", note)
