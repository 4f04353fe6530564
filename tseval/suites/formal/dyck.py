"""Dyck-(k,m): well-nested brackets of k types, never more than m open at once.

Source: Hewitt, Hahn, Ganguli, Liang & Manning 2020, "RNNs can generate bounded hierarchical languages with
optimal memory", EMNLP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tseval.suites.formal.strings import (
    STOP,
    Strings,
    block_size,
    brackets,
    check_ranges,
    first_tokens,
    generator,
    open_types,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.suites.formal.strings import Split


@dataclass(frozen=True, slots=True)
class Dyck:
    """Dyck-(k,m), sampled as Hewitt et al. sample it.

    Where no bracket is open the string ends with probability 1/2; where m are open the last one is closed,
    elsewhere it is closed with probability 1/2; all brackets that may be opened are equally likely.

    Attributes:
        k: Types of bracket.
        m: Most brackets that are open at once.
        train: Tokens of the training strings, stop symbols among them (published: 2,000 to 20,000,000).
        valid: Tokens of the validation strings.
        test: Tokens of the test strings.
        seed: Of all strings.
    """

    source: ClassVar[str] = (
        "Hewitt et al. 2020, RNNs can generate bounded hierarchical languages with optimal memory, EMNLP"
    )
    k: int
    m: int
    train: int = 2_000_000
    valid: int = 20_000
    test: int = 300_000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be drawn."""
        check_ranges(self, k=(1, 4_096), m=(1, 100))

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"dyck_k{self.k}_m{self.m}"

    @property
    def title(self) -> str:
        """Name as a reader would cite it."""
        return f"Dyck-({self.k},{self.m})"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The opening brackets, then the closing ones in the same order."""
        return brackets(self.k)

    def window(self, split: Split) -> tuple[int, int]:
        """Give the shortest and the longest string that is kept, in tokens, the stop symbol counted.

        Test strings are longer than any training string. As lengths are odd, and a stop symbol that comes
        before the shortest length is thrown away, the shortest strings have 3 tokens and 87 (m = 3).
        """
        longest = 8 * self.m * (self.m - 2) + 60
        return (longest + 1, 2 * longest) if split == "test" else (1, longest)

    def draw(self, split: Split) -> Iterator[Strings]:
        """Draw strings, in blocks, until they have as many tokens as asked for."""
        n_tokens = {"train": self.train, "valid": self.valid, "test": self.test}[split]
        return first_tokens(self._blocks(split), n_tokens)

    def _blocks(self, split: Split) -> Iterator[Strings]:
        random = generator(self.seed, split)
        shortest, longest = self.window(split)
        while True:
            yield self._sample(random, block_size(longest), shortest, longest)

    def _sample(self, random: np.random.Generator, n: int, shortest: int, longest: int) -> Strings:
        """Sample n strings, symbol by symbol all at once, and keep those that end in time."""
        k, m = self.k, self.m
        symbols = np.full((n, longest), -1, dtype=np.int32)
        lengths = np.zeros(n, dtype=np.int64)
        rows = np.arange(n)  # the strings that go on; depth and stack are theirs
        depth, stack = np.zeros(n, dtype=np.int64), np.zeros((n, m), dtype=np.int32)
        for position in range(longest):
            # One draw in 2k decides both whether to close or end, and which bracket to open if not.
            drawn = random.integers(0, 2 * k, len(rows), dtype=np.int32)
            back = drawn < k
            if position >= shortest:
                ended = back & (depth == 0)
                lengths[rows[ended]] = position
                rows, depth, stack, drawn, back = (part[~ended] for part in (rows, depth, stack, drawn, back))
            closes = (depth == m) | (back & (depth > 0))
            top = np.where(closes, depth - 1, depth)
            every = np.arange(len(rows))
            kind = np.where(closes, stack[every, top], drawn % k)
            stack[every, top] = kind
            symbols[rows, position] = np.where(closes, k + kind, kind)
            depth = np.where(closes, depth - 1, depth + 1)
        kept = lengths > 0
        return Strings(symbols[kept], lengths[kept])

    def allowed(self, prefix: Sequence[str]) -> frozenset[str]:
        """Give the symbols that may follow a prefix.

        Raises:
            ValueError: No string of the language begins with the prefix.
        """
        stack = open_types(prefix, self.alphabet, self.m)
        opening = self.alphabet[: self.k] if len(stack) < self.m else ()
        return frozenset((*opening, self.alphabet[self.k + stack[-1]] if stack else STOP))
