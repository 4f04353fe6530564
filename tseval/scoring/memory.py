"""How much is scored at once: as much as fits, halved after each shortage of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tseval.errors import ModelError
from tseval.scoring.numerics.device import empty_caches, out_of_memory

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Memory:
    """Remembers the size of batch that fitted.

    Args:
        at_once: What to begin with.
        unit: What is counted, for the warnings: `sentences` or `tokens`.

    Attributes:
        shortages: A line for each time that memory did not suffice.
    """

    def __init__(self, at_once: int, unit: str) -> None:
        self.at_once, self.unit = at_once, unit
        self.shortages: list[str] = []

    def whole(self, score: Callable[[int], T]) -> T:
        """Call a function with the size of its batches, until they are small enough.

        Raises:
            ModelError: Not even the smallest batch fits.
        """
        while True:
            try:
                return score(self.at_once)
            except (MemoryError, RuntimeError) as error:
                self._halve(self.at_once, error)

    def in_parts(self, n: int, part: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Join what a function gives for parts [start, stop) of n, each small enough.

        Raises:
            ModelError: Not even the smallest part fits.
        """
        pieces: list[np.ndarray] = []
        start = 0
        while start < n:
            stop = min(start + self.at_once, n)
            try:
                pieces.append(part(start, stop))
            except (MemoryError, RuntimeError) as error:
                self._halve(stop - start, error)
            else:
                start = stop
        return np.concatenate(pieces)

    def _halve(self, tried: int, error: MemoryError | RuntimeError) -> None:
        """Go on with half of what was tried, if it was memory that did not suffice."""
        if not out_of_memory(error):
            raise error
        if tried == 1:
            raise ModelError("not enough memory to score even one sentence: try another --device")
        self.at_once = tried // 2
        empty_caches()
        self.shortages.append(f"out of memory with {tried} {self.unit} at once; went on with {self.at_once}")
