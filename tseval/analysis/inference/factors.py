"""Lexical factors: which entry of the lexicon stands in each slot of each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.items import ENTRY

if TYPE_CHECKING:
    from numpy.typing import NDArray

# With fewer entries, nothing can be said about those that were not drawn: the factor stays fixed.
FEWEST_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Factors:
    """The lexicon entries of items, as whole numbers.

    Attributes:
        names: One name per factor: `subject`, `verb`, ...
        codes: (items, factors), the entry of each item, counted from 0; -1 where an item has none.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, entries: pd.DataFrame) -> Factors:
        """Give every entry of each factor a number.

        Args:
            entries: One row per item, one column per factor; missing where an item has no entry. Without
                columns, items are independent.
        """
        codes = np.empty(entries.shape, np.int64)
        for place, (_, column) in enumerate(entries.items()):
            codes[:, place] = pd.factorize(column)[0]
        return cls(tuple(map(str, entries.columns)), codes)

    @classmethod
    def of_verdicts(cls, verdicts: pd.DataFrame) -> Factors:
        """Read the lexical factors of verdicts from their columns, `verb.entry` and the like.

        Args:
            verdicts: As `tseval.verdicts.judge` gives them; without such a column, items are independent.
        """
        names = [name for name in map(str, verdicts.columns) if name.endswith(ENTRY)]
        return cls.of(verdicts[names].rename(columns=lambda name: name.removesuffix(ENTRY)))

    def take(self, items: NDArray[np.bool_] | NDArray[np.int64]) -> Factors:
        """Keep the items that are chosen, or those at some places."""
        return Factors(self.names, self.codes[items])

    def keep(self, places: list[int]) -> Factors:
        """Keep some factors, by their places."""
        return Factors(tuple(self.names[place] for place in places), self.codes[:, places])

    def levels(self, counted: NDArray[np.bool_]) -> dict[str, int]:
        """Count the entries that each factor has among the items that count; none, and it is left out."""
        counts = (np.count_nonzero(np.bincount(column + 1)[1:]) for column in self.codes[counted].T)
        return {name: int(n) for name, n in zip(self.names, counts, strict=True) if n}
