"""Tables that an earlier version printed, with the same cells and other words.

Before version 0.1.0 got its present words, tables called the effective sample size *Worth* and said that
accuracies are *cut*. These runs are still valid, so their `table.md` is compared by its cells, and its notes
by their numbers.
"""

from __future__ import annotations

import re

EARLIER = "cut to 3 decimals"  # every such table has these words in its notes, and no other table has
HEADINGS = {"Worth": "Eff. items"}
# Numbers in notes that are the same for all runs.
_CONSTANTS = {"95", "5", "3", ".05", ".9", ".93", ".07", "0.05", "0.9", "7", "1"}
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")


def is_earlier_form(stored: str, printed: str) -> bool:
    """Return whether a stored table is that of an earlier version, given the text that is printed today."""
    if EARLIER not in stored:
        return False
    if _cells(stored) != _cells(printed) or _titles(stored) != _titles(printed):
        return False
    notes, today = _notes(stored), _notes(printed)
    current_numbers = {number for note in today for number in _NUMBER.findall(note)} | _CONSTANTS
    changed = [note for note in notes if note not in today]
    numbers = (number for note in changed for number in _NUMBER.findall(note))
    return all(number in current_numbers or _percent(number) in current_numbers for number in numbers)


def _cells(table: str) -> list[list[str]]:
    """Return the cells of all rows, with today's headings."""
    rows = [line for line in table.split("\n") if line.startswith("|") and set(line) - set("|:- ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [[HEADINGS.get(cell, cell) for cell in row] for row in cells]


def _titles(table: str) -> list[str]:
    return [line for line in table.split("\n") if line and not line.startswith(("|", "- "))]


def _notes(table: str) -> list[str]:
    return [line for line in table.split("\n") if line.startswith("- ")]


def _percent(share: str) -> str:
    """Convert a share with three decimals, such as 0.482, into the percentage of today's notes."""
    return str(int(float(share.replace(",", "")) * 1000) // 10) if share.startswith("0.") else share
