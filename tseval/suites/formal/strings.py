"""Strings of a formal language, many at a time, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

# The end of a string as a symbol. It is not written into the text of a string: every line of training text
# ends in it anyway, and models read it as their start symbol.
STOP = "<eos>"
# Strings and stacks are told apart by a polynomial in this odd number, modulo 2^64.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Symbols that strings sampled together may have at most.
BLOCK_SYMBOLS = 2**20

BERNARDY = (
    "Bernardy & Lappin 2022, A neural model for compositional word embeddings and sentence processing, CMCL"
)

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Strings:
    """Strings of a language.

    Attributes:
        symbols: Places in the alphabet, -1 after the end of a string, (strings, longest) int32.
        lengths: Symbols of each string, the stop symbol not counted, (strings,) int64.
    """

    symbols: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        """Count the strings."""
        return len(self.lengths)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Strings:
        """Give some of the strings."""
        return Strings(self.symbols[rows], self.lengths[rows])

    def texts(self, alphabet: Sequence[str]) -> list[str]:
        """Write the strings as text, symbols separated by spaces."""
        names = np.array(alphabet, dtype=object)[self.symbols]  # -1 takes any name, and is cut off
        return [" ".join(row[:n]) for row, n in zip(names, self.lengths, strict=True)]


def generator(seed: int, split: Split) -> np.random.Generator:
    """Make the source of randomness of one set of strings."""
    return np.random.default_rng([seed, SPLITS.index(split)])


def first_strings(blocks: Iterator[Strings], n: int) -> Iterator[Strings]:
    """Give the first so many strings."""
    for block in blocks:
        yield block.take(slice(n))
        n -= len(block)
        if n <= 0:
            return


def first_tokens(blocks: Iterator[Strings], n: int) -> Iterator[Strings]:
    """Give the first strings that together have so many tokens, or a few more; stop symbols count."""
    for block in blocks:
        ends = np.cumsum(block.lengths + 1)
        yield block.take(slice(int(np.searchsorted(ends, n)) + 1))
        n -= int(ends[-1])
        if n <= 0:
            return


def distinct(marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort numbers, each once."""
    # `np.unique` would hash them, and numbers such as these make its hash slow.
    ordered = np.sort(marks)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]


def among(marks: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which numbers are among ascending ones."""
    places = np.searchsorted(known, marks)
    found: NDArray[np.bool_] = np.append(known, np.uint64(0))[places] == marks
    return found & (places < len(known))


def block_size(longest: int) -> int:
    """Give the number of strings to sample together, at most so long each."""
    return max(1, min(4096, BLOCK_SYMBOLS // longest))


def brackets(n_types: int) -> tuple[str, ...]:
    """Name opening brackets, `(1 (2 ...`, then the closing ones in the same order, `)1 )2 ...`."""
    return tuple(f"{side}{i}" for side in "()" for i in range(1, n_types + 1))


def open_types(prefix: Sequence[str], alphabet: Sequence[str], deepest: int | None = None) -> list[int]:
    """Read the stack after a prefix of brackets: the types still open, from 0, the top one last.

    Raises:
        ValueError: A symbol is not in the alphabet, closes what is not open, or goes too deep.
    """
    n_types = len(alphabet) // 2
    places = {symbol: place for place, symbol in enumerate(alphabet)}
    stack: list[int] = []
    for symbol in prefix:
        place = places.get(symbol)
        if place is None:
            raise ValueError(f"{symbol!r} is not a symbol of the language")
        if place < n_types:
            stack.append(place)
        elif not stack or stack.pop() != place - n_types:
            raise ValueError(f"{symbol!r} closes what is not open in {' '.join(prefix)!r}")
        if deepest is not None and len(stack) > deepest:
            raise ValueError(f"more than {deepest} brackets are open in {' '.join(prefix)!r}")
    return stack


def check_ranges(language: object, **ranges: tuple[int, int]) -> None:
    """Hold the settings of a language to what can be drawn.

    Args:
        language: The language.
        ranges: Smallest and largest value of each setting.

    Raises:
        SuiteError: Names the setting, its value and what it may be.
    """
    sizes = dict.fromkeys(("train", "valid", "test"), (1, 10**9))
    for name, (least, most) in {**ranges, **sizes, "seed": (0, 2**63 - 1)}.items():
        value = getattr(language, name)
        if not least <= value <= most:
            raise SuiteError(f"{name}={value} is out of range.\n  Choose {name} from {least:,} to {most:,}.")
