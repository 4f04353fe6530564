"""Generalised Dyck words with attractors: well-nested brackets of several types, of one length.

Source: Bernardy & Lappin 2022, "A neural model for compositional word embeddings and sentence
processing", CMCL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tseval.errors import SuiteError
from tseval.suites.formal.strings import (
    BERNARDY,
    MULTIPLIER,
    STOP,
    Strings,
    among,
    block_size,
    brackets,
    check_ranges,
    distinct,
    first_strings,
    generator,
    open_types,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tseval.suites.formal.strings import Split

# Blocks of test strings in a row that may all be training strings before we give up.
FRUITLESS = 20


@dataclass(frozen=True, slots=True)
class GeneralisedDyck:
    """Bracket strings of one length, shaped by a random walk.

    The walk goes from corner to corner of a square grid and never crosses the diagonal: one step opens a
    bracket, the other closes one, and where both are possible each has probability 1/2. So not all strings
    are equally likely. The type of every opening bracket is uniform.

    Attributes:
        pairs: Types of bracket.
        length: Symbols of a string.
        train_depth: Deepest nesting of training and validation strings; test strings are of any depth. The
            paper trains on shallow strings and tests on deeper ones; where it draws the line it does not say.
        train: Number of training strings.
        valid: Number of validation strings.
        test: Number of test strings. None of them is a training string.
        seed: Of all strings.
    """

    source: ClassVar[str] = BERNARDY
    pairs: int = 5
    length: int = 20
    train_depth: int = 3
    train: int = 102_400
    valid: int = 5_120
    test: int = 5_120
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be drawn."""
        check_ranges(self, pairs=(2, 4_096), length=(2, 2_000), train_depth=(1, 1_000))
        if self.length % 2:
            raise SuiteError(
                f"length={self.length} is odd, but brackets come in pairs.\n  Choose an even length."
            )

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"generalised_dyck_{self.pairs}_{self.length}"

    @property
    def title(self) -> str:
        """Name as a reader would cite it."""
        return f"Generalised Dyck, {self.pairs} pairs, length {self.length}"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The opening brackets, then the closing ones in the same order."""
        return brackets(self.pairs)

    def draw(self, split: Split) -> Iterator[Strings]:
        """Draw strings, in blocks.

        Raises:
            SuiteError: All test strings that are found are training strings.
        """
        if split == "test":
            return first_strings(self._unseen(), self.test)
        return first_strings(self._blocks(split), self.train if split == "train" else self.valid)

    def _blocks(self, split: Split) -> Iterator[Strings]:
        random = generator(self.seed, split)
        opening = self.opening_probabilities(self.length if split == "test" else self.train_depth)
        while True:
            yield self._sample(random, block_size(self.length), opening)

    def _unseen(self) -> Iterator[Strings]:
        """Draw test strings that are not training strings."""
        known = distinct(np.concatenate([_marks(block) for block in self.draw("train")]))
        fruitless = 0
        for block in self._blocks("test"):
            new = ~among(_marks(block), known)
            fruitless = 0 if new.any() else fruitless + 1
            if fruitless == FRUITLESS:
                raise SuiteError(
                    f"{self.name}: every string is among the {self.train:,} training strings, so none "
                    "is left for the test.\n  Choose a smaller train=, or a larger length= or pairs=."
                )
            yield block.take(new)

    def opening_probabilities(self, deepest: int) -> NDArray[np.float64]:
        """Give the probability that the next symbol opens a bracket, on walks that stay shallow.

        Drawing walks without a limit and throwing away the deep ones gives the same strings; this way none is
        thrown away.

        Args:
            deepest: Most brackets that may be open at once.

        Returns:
            By symbols so far and brackets open, (length, deepest + 1).
        """
        free = np.zeros((self.length, deepest + 2))  # without the limit
        stays = np.zeros((self.length + 1, deepest + 2))  # probability to stay within the limit from here on
        stays[self.length, 0] = 1
        for position in reversed(range(self.length)):
            for depth in range(deepest + 1):
                opened = (position + depth) / 2
                free[position, depth] = 1 if depth == 0 else 0 if opened >= self.length / 2 else 1 / 2
                opens = free[position, depth]
                after = stays[position + 1]
                stays[position, depth] = opens * after[depth + 1] + (1 - opens) * after[depth - 1]
        before, after = stays[:-1, :-1], stays[1:, 1:]
        ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
        opening: NDArray[np.float64] = free[:, :-1] * ratio
        return opening

    def _sample(self, random: np.random.Generator, n: int, opening: NDArray[np.float64]) -> Strings:
        """Sample n strings, symbol by symbol all at once."""
        symbols = np.empty((n, self.length), dtype=np.int32)
        depth, stack = np.zeros(n, dtype=np.int64), np.zeros((n, opening.shape[1]), dtype=np.int32)
        every = np.arange(n)
        for position in range(self.length):
            opens = random.random(n) < opening[position, depth]
            top = np.where(opens, depth, depth - 1)
            kind = np.where(opens, random.integers(0, self.pairs, n, dtype=np.int32), stack[every, top])
            stack[every, top] = kind
            symbols[:, position] = np.where(opens, kind, self.pairs + kind)
            depth = np.where(opens, depth + 1, depth - 1)
        return Strings(symbols, np.full(n, self.length))

    def allowed(self, prefix: Sequence[str]) -> frozenset[str]:
        """Give the symbols that may follow a prefix.

        Raises:
            ValueError: No string of the language begins with the prefix.
        """
        stack = open_types(prefix, self.alphabet)
        left = self.length - len(prefix)
        if len(stack) > left:
            raise ValueError(f"{' '.join(prefix)!r} cannot be closed within {self.length} symbols")
        if left == 0:
            return frozenset({STOP})
        opening = self.alphabet[: self.pairs] if len(stack) < left else ()
        return frozenset((*opening, *(self.alphabet[self.pairs + kind] for kind in stack[-1:])))


def _marks(strings: Strings) -> NDArray[np.uint64]:
    """Give every string a number; two that share one by chance cost the test set a string, no more."""
    symbols = (strings.symbols + 1).astype(np.uint64)
    marks = np.zeros(len(strings), dtype=np.uint64)
    for column in symbols.T:
        marks = marks * MULTIPLIER + column
    return marks
