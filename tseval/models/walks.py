"""Limited walks through saved data, which visit every container once.

A few bytes can encode a structure in which each level refers to the next one twice. A walk along every
reference would never end.
"""

from __future__ import annotations

from collections.abc import Sized

from tseval.models.refusals import refused

MOST_VISITS = 20_000_000  # a vocabulary of a million words needs some millions
MOST_PARTS = 200_000  # modules and tensors of one model
LONGEST_STEP = 100  # characters of a name in a path


class Walk:
    """The state of one walk: visited containers and the number of visits."""

    def __init__(self, most: int = MOST_VISITS) -> None:
        self._entered: set[tuple[int, int]] = set()
        self._most, self._visits = most, 0

    def enters(self, value: object, depth: int = 0) -> bool:
        """Return whether a container is new at this remaining depth, and count its entries."""
        visit = id(value), depth
        if visit in self._entered:
            return False
        self._entered.add(visit)
        self.count(1 + (len(value) if isinstance(value, Sized) else 0))
        return True

    def count(self, visits: int = 1) -> None:
        """Count visits.

        Raises:
            ModelError: There are more than the limit.
        """
        self._visits += visits
        if self._visits > self._most:
            raise refused(f"tseval refuses this file: its content has more than {self._most:,} parts")


def path_within(path: str, name: object) -> str:
    """Return the path of an entry, such as `corpus.dictionary`; a long name is shortened."""
    step = name if isinstance(name, str) else str(name)
    step = step if len(step) <= LONGEST_STEP else f"{step[:LONGEST_STEP]}…"
    return f"{path}.{step}" if path else step
