"""Findings of lint: the problem, its place, and its severity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import shortened
from tseval.writing import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tseval.suites.mistakes import Severity
    from tseval.suites.overview import CaseOverview


_SHOWN = 8


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A finding of lint in a grammar or a data set."""

    # `error`: items are not what they claim. `warning`: they may mislead. `note`: some uses would fail.
    severity: Severity
    path: Path
    line: int | None
    message: str
    counts: bool = True  # whether the command exits with status 1 because of it; notes never count

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line is not None else f"{self.path}"
        text = f"{where}: {self.severity}: {self.message}"
        return text if isinstance(self.message, Whole) else shortened(text)


class Whole(str):
    """A message that is never shortened."""


@dataclass(frozen=True, slots=True)
class WordsKnown:
    """A model's vocabulary, and whether messages name all words that are missing from it."""

    knows: Callable[[str], bool]
    name_all: bool = False

    def missing(self, words: Sequence[str]) -> list[str]:
        """List the words that the model does not know."""
        return [word for word in words if not self.knows(word)]

    def listed(self, words: Sequence[str]) -> str:
        """List all words, or the first ones and the option that lists all."""
        if self.name_all:
            return ", ".join(words)
        return some(words) + (" (to list all words: --all)" if len(words) > _SHOWN else "")

    def told(self, message: str) -> str:
        """Return a message that names words; if it names all, it is never shortened."""
        return Whole(message) if self.name_all else message


def some(values: Sequence[str]) -> str:
    """List the first values and count the others."""
    more = f", and {len(values) - _SHOWN:,} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more


def quoted_texts(texts: Sequence[str]) -> str:
    """Quote the sentences of an item side by side."""
    return " / ".join(repr(without_boundaries(text)) for text in texts)


class Findings(list[LintFinding]):
    """Findings, the number of items that were checked, and overviews of the cases.

    Items of unreadable grammars do not count.
    """

    n_items = 0
    cases: tuple[CaseOverview, ...] = ()
