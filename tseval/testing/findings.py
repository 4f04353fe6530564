"""What was seen of one property of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tseval.errors import one_line

Verdict = Literal["holds", "fails", "not applicable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen of one property.

    Attributes:
        verdict: Whether it holds, fails, or says nothing about this model.
        note: What was seen, or why it is not applicable; empty where there is nothing to add.
        difference: The worst one between numbers that should be equal, in nats; None where none was measured.
        sentence: Where it was seen, or None.
    """

    verdict: Verdict
    note: str = ""
    difference: float | None = None
    sentence: str | None = None

    def __repr__(self) -> str:
        return one_line(self, self.verdict, *((self.note,) if self.note else ()))


def holds(note: str = "") -> Finding:
    """Say that a property holds."""
    return Finding("holds", note)


def fails(note: str, sentence: str | None = None) -> Finding:
    """Say that a property fails."""
    return Finding("fails", note, None, sentence)


def not_applicable(note: str) -> Finding:
    """Say why a property means nothing for a model."""
    return Finding("not applicable", note)
