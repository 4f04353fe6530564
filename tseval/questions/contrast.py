"""An ordered pair of labels, the better one first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contrast:
    """An ordered pair of labels, the better one first."""

    better: str
    worse: str

    def __str__(self) -> str:
        return f"{self.better} > {self.worse}"
