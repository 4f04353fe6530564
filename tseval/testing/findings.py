"""Findings on single properties of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tseval.errors import one_line

Verdict = Literal["holds", "fails", "not applicable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding on one property.

    Attributes:
        verdict: Whether the property holds, fails, or does not apply to this model.
        note: An explanation, or why the property does not apply; may be empty.
        difference: The largest difference between numbers that should be equal, in nats, if measured.
        sentence: Sentence with this difference or fault, or None.
    """

    verdict: Verdict
    note: str = ""
    difference: float | None = None
    sentence: str | None = None

    def __repr__(self) -> str:
        return one_line(self, self.verdict, *((self.note,) if self.note else ()))


def holds(note: str = "") -> Finding:
    """Make the finding that a property holds."""
    return Finding("holds", note)


def fails(note: str, sentence: str | None = None) -> Finding:
    """Make the finding that a property fails."""
    return Finding("fails", note, None, sentence)


def not_applicable(note: str) -> Finding:
    """Make the finding that a property does not apply, with the reason."""
    return Finding("not applicable", note)
