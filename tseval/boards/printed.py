"""Accuracies as a paper prints them: texts, since 0.5 and 0.50 say different things."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.formats import ContentError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MOST_DECIMALS = 15  # no paper prints more, and a table would be as wide as it says
PRINTED = re.compile(r"(?:0(?:\.([0-9]+))?|1(?:\.(0+))?)")
RowKey = tuple[str | None, str, str, str]


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """An accuracy as it was printed, and the row of the table that it stands in."""

    dependency: str | None
    phenomenon: str
    construction: str
    contrast: str
    accuracy: str

    @property
    def key(self) -> RowKey:
        """What tells the row from others."""
        return self.dependency, self.phenomenon, self.construction, self.contrast


@dataclass(frozen=True, slots=True)
class Human:
    """What people get right. It stands beside models and takes no rank from them.

    Attributes:
        name: Heading of their column.
        source: Who asked whom, with reference.
        rows: Their accuracies, printed with as many decimals as are known; a row without one is absent.
    """

    name: str
    source: str
    rows: tuple[PrintedRow, ...]


def check_printed_rows(
    rows: Sequence[PrintedRow], known: Collection[RowKey], decimals: int, where: str = "rows"
) -> None:
    """Hold printed accuracies to the rows of their board.

    Args:
        rows: The accuracies.
        known: The rows of the board.
        decimals: Most that may be printed.
        where: Path of the field.

    Raises:
        ContentError: One is no fraction, stands twice or in no row of the board, or there is none.
    """
    if not rows:
        raise ContentError("should hold an accuracy at least", where)
    seen: set[RowKey] = set()
    for i, row in enumerate(rows):
        if row.key not in known:
            raise ContentError("is none of the board's rows", f"{where}[{i}]")
        if row.key in seen:
            raise ContentError("repeats an earlier row", f"{where}[{i}]")
        seen.add(row.key)
        check_printed(row.accuracy, decimals, f"{where}[{i}].accuracy")


def check_printed(printed: str, decimals: int, where: str) -> None:
    """Refuse what is no fraction from 0 to 1 of so many decimals at most.

    Raises:
        ContentError: Names the field.
    """
    match = PRINTED.fullmatch(printed)
    if match is None or len(match[1] or match[2] or "") > decimals:
        raise ContentError(
            f"should be a fraction from 0 to 1 with at most {decimals} decimals, not {printed!r}", where
        )


def check_decimals(decimals: int) -> None:
    """Refuse decimals that no table can have.

    Raises:
        ContentError: Names the field.
    """
    if decimals < 1:
        raise ContentError(f"should be at least 1, not {decimals}", "decimals")
    if decimals > MOST_DECIMALS:
        raise ContentError(f"should be at most {MOST_DECIMALS}, not {decimals}", "decimals")
