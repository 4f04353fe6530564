"""Cross-serial dependencies: a^m b^n c^m d^n.

Source: Bernardy & Lappin 2022, "A neural model for compositional word embeddings and sentence
processing", CMCL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tseval.suites.formal.strings import (
    BERNARDY,
    STOP,
    Strings,
    block_size,
    check_ranges,
    first_strings,
    generator,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.suites.formal.strings import Split


@dataclass(frozen=True, slots=True)
class CrossSerial:
    """C_k = { a^m b^n c^m d^n : m + n < k }; m and n may be 0, and all k(k+1)/2 strings are equally likely.

    Attributes:
        k: Training and validation strings are of C_k.
        more: Test strings are of C_{k+more}, and what may follow a prefix is told by that language.
        train: Number of training strings.
        valid: Number of validation strings.
        test: Number of test strings.
        seed: Of all strings.
    """

    source: ClassVar[str] = BERNARDY
    k: int
    more: int = 2
    train: int = 51_200
    valid: int = 5_120
    test: int = 5_120
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be drawn."""
        check_ranges(self, k=(1, 1_000), more=(0, 1_000))

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"cross_serial_{self.k}_{self.k + self.more}"

    @property
    def title(self) -> str:
        """Name as a reader would cite it."""
        return f"Cross-serial dependencies, C_{self.k} to C_{self.k + self.more}"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The four symbols."""
        return ("a", "b", "c", "d")

    def bound(self, split: Split) -> int:
        """Give what m + n stays below."""
        return self.k + self.more if split == "test" else self.k

    def draw(self, split: Split) -> Iterator[Strings]:
        """Draw strings, in blocks."""
        n_strings = {"train": self.train, "valid": self.valid, "test": self.test}[split]
        return first_strings(self._blocks(split), n_strings)

    def _blocks(self, split: Split) -> Iterator[Strings]:
        random = generator(self.seed, split)
        bound = self.bound(split)
        pairs = np.array([(m, n) for m in range(bound) for n in range(bound - m)])
        while True:
            m, n = pairs[random.integers(0, len(pairs), block_size(2 * bound))].T
            # A symbol's place in the alphabet is the number of parts of the string that end before it.
            ends = np.cumsum([m, n, m, n], axis=0)
            positions = np.arange(max(1, 2 * (bound - 1)))
            parts = (positions >= ends[:, :, None]).sum(axis=0)
            yield Strings(np.where(parts < len(ends), parts, -1).astype(np.int32), ends[-1])

    def allowed(self, prefix: Sequence[str]) -> frozenset[str]:
        """Give the symbols that may follow a prefix in C_{k+more}.

        Raises:
            ValueError: No string of the language begins with the prefix.
        """
        a, b, c, d = (list(prefix).count(symbol) for symbol in self.alphabet)
        sorted_so = list(prefix) == ["a"] * a + ["b"] * b + ["c"] * c + ["d"] * d
        counted = c <= a and d <= b and (d == 0 or c == a) and a + b < self.bound("test")
        if not (sorted_so and counted):
            raise ValueError(f"no string of {self.title} begins with {' '.join(prefix)!r}")
        room = a + b + 1 < self.bound("test") and c == d == 0
        follows = {
            "a": room and b == 0,
            "b": room,
            "c": c < a and d == 0,
            "d": c == a and d < b,
            STOP: c == a and d == b,
        }
        return frozenset(symbol for symbol, possible in follows.items() if possible)
