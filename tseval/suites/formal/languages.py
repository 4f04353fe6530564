"""Formal languages by name, `dyck(k=4,m=3)`: Dyck, generalised Dyck, cross-serial dependencies.

Dyck-(k,m): well-nested brackets of k types, with at most m open at once. Source: Hewitt, Hahn, Ganguli,
Liang & Manning 2020, "RNNs can generate bounded hierarchical languages with optimal memory", EMNLP.

Generalised Dyck words with attractors: well-nested brackets of several types, of one length. Cross-serial
dependencies: a^m b^n c^m d^n. Source of both: Bernardy & Lappin 2022, "A neural model for compositional word
embeddings and sentence processing", CMCL.

Every language is a frozen dataclass; its fields are the settings of a specification. `name` is for files and
tables, `title` for citations, and `alphabet` holds the symbols. `draw` returns the training, validation or
test strings, which are always the same. `allowed` returns the symbols that may follow a prefix.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tseval.errors import SuiteError, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


# The end of a string as a symbol. The text of a string does not contain it: every line of training text ends
# in it anyway, and models read it as their start symbol.
STOP = "<eos>"
# Strings and stacks are hashed by a polynomial in this odd number, modulo 2^64.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Maximum number of symbols that are sampled together.
BLOCK_SYMBOLS = 2**20

BERNARDY = (
    "Bernardy & Lappin 2022, A neural model for compositional word embeddings and sentence processing, CMCL"
)

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Strings:
    """Strings of a language."""

    symbols: NDArray[np.int32]  # indices into the alphabet, -1 after the end of a string, (strings, longest)
    lengths: NDArray[np.int64]  # number of symbols of each string, without the stop symbol, (strings,)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Strings:
        """Return some of the strings."""
        return Strings(self.symbols[rows], self.lengths[rows])

    def texts(self, alphabet: Sequence[str]) -> list[str]:
        """Return the strings as text, with spaces between symbols."""
        names = np.array(alphabet, dtype=object)[self.symbols]  # -1 gives some symbol, which is cut off
        return [" ".join(row[:n]) for row, n in zip(names, self.lengths, strict=True)]


def generator(seed: int, split: Split) -> np.random.Generator:
    """Return the random generator of one split."""
    return np.random.default_rng([seed, SPLITS.index(split)])


def first_strings(blocks: Iterator[Strings], n: int) -> Iterator[Strings]:
    """Yield the first `n` strings."""
    for block in blocks:
        yield block.take(slice(n))
        n -= len(block)
        if n <= 0:
            return


def first_tokens(blocks: Iterator[Strings], n: int) -> Iterator[Strings]:
    """Yield the first strings with at least `n` tokens in total, ending with a whole string; stops count."""
    for block in blocks:
        ends = np.cumsum(block.lengths + 1)
        yield block.take(slice(int(np.searchsorted(ends, n)) + 1))
        n -= int(ends[-1])
        if n <= 0:
            return


def distinct(marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return distinct numbers, sorted."""
    # `np.unique` uses a hash, which is slow for numbers such as these.
    ordered = np.sort(marks)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]


def among(marks: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which numbers are in an ascending array."""
    places = np.searchsorted(known, marks)
    is_among: NDArray[np.bool_] = np.append(known, np.uint64(0))[places] == marks
    return is_among & (places < len(known))


def block_size(longest: int) -> int:
    """Return the number of strings to sample together, given their maximum length."""
    return max(1, min(4096, BLOCK_SYMBOLS // longest))


def brackets(n_types: int) -> tuple[str, ...]:
    """Return the opening brackets, `(1 (2 ...`, then the closing ones in the same order, `)1 )2 ...`."""
    return tuple(f"{side}{i}" for side in "()" for i in range(1, n_types + 1))


def open_types(prefix: Sequence[str], alphabet: Sequence[str], deepest: int | None = None) -> list[int]:
    """Return the stack after a prefix of brackets: the open types, from 0, the top one last."""
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
            raise ValueError(
                f"the symbol {symbol!r} closes a bracket that is not open in {' '.join(prefix)!r}"
            )
        if deepest is not None and len(stack) > deepest:
            raise ValueError(
                f"{' '.join(prefix)!r} has more than {deepest} open brackets, which the language does not "
                "allow"
            )
    return stack


def check_ranges(language: object, **ranges: tuple[int, int]) -> None:
    """Refuse settings of a language outside the ranges that can be drawn (smallest and largest value)."""
    sizes = dict.fromkeys(("train", "valid", "test"), (1, 10**9))
    for name, (least, most) in {**ranges, **sizes, "seed": (0, 2**63 - 1)}.items():
        value = getattr(language, name)
        if not least <= value <= most:
            raise SuiteError(
                f"{name}={value} is too small or too large.\n  Choose a value of {name} from {least:,} to "
                f"{most:,}."
            )


@dataclass(frozen=True, slots=True)
class Dyck:
    """Dyck-(k,m), sampled as in Hewitt et al. 2020.

    If no bracket is open, the string ends with probability 1/2. If m brackets are open, the last one is
    closed; otherwise it is closed with probability 1/2. All brackets that may be opened are equally likely.
    """

    source: ClassVar[str] = (
        "Hewitt et al. 2020, RNNs can generate bounded hierarchical languages with optimal memory, EMNLP"
    )
    k: int  # number of bracket types
    m: int  # maximum number of open brackets
    train: int = 2_000_000  # tokens, including stop symbols (published: 2,000 to 20,000,000)
    valid: int = 20_000
    test: int = 300_000
    seed: int = 0  # seed for all strings

    def __post_init__(self) -> None:
        check_ranges(self, k=(1, 4_096), m=(1, 100))

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"dyck_k{self.k}_m{self.m}"

    @property
    def title(self) -> str:
        """Name for citations."""
        return f"Dyck-({self.k},{self.m})"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The opening brackets, then the closing ones in the same order."""
        return brackets(self.k)

    def window(self, split: Split) -> tuple[int, int]:
        """Return the minimum and maximum length of strings, in tokens including the stop symbol.

        Test strings are longer than all training strings. Lengths are odd, and a stop symbol before the
        shortest length is discarded. So the shortest strings have 3 tokens, in the test 87 (m = 3).
        """
        longest = 8 * self.m * (self.m - 2) + 60
        return (longest + 1, 2 * longest) if split == "test" else (1, longest)

    def draw(self, split: Split) -> Iterator[Strings]:
        """Draw strings in blocks until they have the required number of tokens."""
        return first_tokens(self._blocks(split), getattr(self, split))

    def _blocks(self, split: Split) -> Iterator[Strings]:
        random = generator(self.seed, split)
        shortest, longest = self.window(split)
        while True:
            yield self._sample(random, block_size(longest), shortest, longest)

    def _sample(self, random: np.random.Generator, n: int, shortest: int, longest: int) -> Strings:
        """Sample n strings, all at once symbol by symbol, and keep those that end in time."""
        k, m = self.k, self.m
        symbols = np.full((n, longest), -1, dtype=np.int32)
        lengths = np.zeros(n, dtype=np.int64)
        rows = np.arange(n)  # the unfinished strings; depth and stack have one row for each of them
        depth, stack = np.zeros(n, dtype=np.int64), np.zeros((n, m), dtype=np.int32)
        for position in range(longest):
            # One draw below 2k decides whether to close or end, and otherwise which bracket to open.
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
        is_not_empty = lengths > 0
        return Strings(symbols[is_not_empty], lengths[is_not_empty])

    def allowed(self, prefix: Sequence[str]) -> frozenset[str]:
        """Return the symbols that may follow a prefix."""
        stack = open_types(prefix, self.alphabet, self.m)
        opening = self.alphabet[: self.k] if len(stack) < self.m else ()
        return frozenset((*opening, self.alphabet[self.k + stack[-1]] if stack else STOP))


# Give up if this many successive blocks of test strings contain only training strings.
FRUITLESS = 20


@dataclass(frozen=True, slots=True)
class GeneralisedDyck:
    """Bracket strings of one length, generated by a random walk.

    The walk goes from corner to corner of a square grid and never crosses the diagonal. One kind of step
    opens a bracket, the other closes one; if both are possible, each has probability 1/2. So strings are not
    equally likely. The type of every opening bracket is uniform. Training and validation strings have a
    maximum depth, test strings do not. The paper trains on shallow strings and tests on deeper ones, but does
    not state the limit. No test string is a training string.
    """

    source: ClassVar[str] = BERNARDY
    pairs: int = 5  # number of bracket types
    length: int = 20  # number of symbols of a string
    train_depth: int = 3
    train: int = 102_400  # strings
    valid: int = 5_120
    test: int = 5_120
    seed: int = 0  # seed for all strings

    def __post_init__(self) -> None:
        check_ranges(self, pairs=(2, 4_096), length=(2, 2_000), train_depth=(1, 1_000))
        if self.length % 2:
            raise SuiteError(
                f"length={self.length} is an odd number, but each bracket needs a partner.\n  Choose an "
                "even number for length=."
            )

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"generalised_dyck_{self.pairs}_{self.length}"

    @property
    def title(self) -> str:
        """Name for citations."""
        return f"Generalised Dyck, {self.pairs} pairs, length {self.length}"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The opening brackets, then the closing ones in the same order."""
        return brackets(self.pairs)

    def draw(self, split: Split) -> Iterator[Strings]:
        """Draw strings, in blocks."""
        return first_strings(self._unseen() if split == "test" else self._blocks(split), getattr(self, split))

    def _blocks(self, split: Split) -> Iterator[Strings]:
        random = generator(self.seed, split)
        opening = self.opening_probabilities(self.length if split == "test" else self.train_depth)
        while True:
            yield self._sample(random, block_size(self.length), opening)

    def _unseen(self) -> Iterator[Strings]:
        training_marks = distinct(np.concatenate([_marks(block) for block in self.draw("train")]))
        fruitless = 0
        for block in self._blocks("test"):
            new = ~among(_marks(block), training_marks)
            fruitless = 0 if new.any() else fruitless + 1
            if fruitless == FRUITLESS:
                raise SuiteError(
                    f"{self.name}: all strings of this language are training strings "
                    f"(train={self.train:,}), so no string is left for the test.\n  Lower train=, or raise "
                    "length= or pairs=."
                )
            yield block.take(new)

    def opening_probabilities(self, deepest: int) -> NDArray[np.float64]:
        """Return the probability that the next symbol opens a bracket, on walks no deeper than `deepest`.

        The array is indexed by the number of symbols so far and of open brackets, (length, deepest + 1). The
        strings are distributed as if walks were drawn without a limit and deep ones discarded.
        """
        free = np.zeros((self.length, deepest + 2))  # probability to open without the limit
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
        """Sample n strings, all at once symbol by symbol."""
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
        """Return the symbols that may follow a prefix."""
        stack = open_types(prefix, self.alphabet)
        n_remaining = self.length - len(prefix)
        if len(stack) > n_remaining:
            raise ValueError(
                f"the open brackets of {' '.join(prefix)!r} cannot all be closed within {self.length} symbols"
            )
        if n_remaining == 0:
            return frozenset({STOP})
        opening = self.alphabet[: self.pairs] if len(stack) < n_remaining else ()
        return frozenset((*opening, *(self.alphabet[self.pairs + kind] for kind in stack[-1:])))


def _marks(strings: Strings) -> NDArray[np.uint64]:
    """Return a hash of every string; a collision only removes a string from the test set."""
    symbols = (strings.symbols + 1).astype(np.uint64)
    marks = np.zeros(len(strings), dtype=np.uint64)
    for column in symbols.T:
        marks = marks * MULTIPLIER + column
    return marks


@dataclass(frozen=True, slots=True)
class CrossSerial:
    """C_k = { a^m b^n c^m d^n : m + n < k }; m and n may be 0, and all k(k+1)/2 strings are equally likely.

    Training and validation strings are from C_k, test strings from C_{k+more}. The larger language decides
    which symbols may follow a prefix.
    """

    source: ClassVar[str] = BERNARDY
    k: int
    more: int = 2
    train: int = 51_200  # strings
    valid: int = 5_120
    test: int = 5_120
    seed: int = 0  # seed for all strings

    def __post_init__(self) -> None:
        check_ranges(self, k=(1, 1_000), more=(0, 1_000))

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"cross_serial_{self.k}_{self.k + self.more}"

    @property
    def title(self) -> str:
        """Name for citations."""
        return f"Cross-serial dependencies, C_{self.k} to C_{self.k + self.more}"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The four symbols."""
        return ("a", "b", "c", "d")

    def bound(self, split: Split) -> int:
        """Return the number that m + n must stay below."""
        return self.k + self.more if split == "test" else self.k

    def draw(self, split: Split) -> Iterator[Strings]:
        """Draw strings, in blocks."""
        return first_strings(self._blocks(split), getattr(self, split))

    def _blocks(self, split: Split) -> Iterator[Strings]:
        random = generator(self.seed, split)
        bound = self.bound(split)
        pairs = np.array([(m, n) for m in range(bound) for n in range(bound - m)])
        while True:
            m, n = pairs[random.integers(0, len(pairs), block_size(2 * bound))].T
            # The index of a symbol in the alphabet is the number of parts of the string that end before it.
            ends = np.cumsum([m, n, m, n], axis=0)
            positions = np.arange(max(1, 2 * (bound - 1)))
            parts = (positions >= ends[:, :, None]).sum(axis=0)
            yield Strings(np.where(parts < len(ends), parts, -1).astype(np.int32), ends[-1])

    def allowed(self, prefix: Sequence[str]) -> frozenset[str]:
        """Return the symbols that may follow a prefix in C_{k+more}."""
        a, b, c, d = (list(prefix).count(symbol) for symbol in self.alphabet)
        is_sorted = list(prefix) == ["a"] * a + ["b"] * b + ["c"] * c + ["d"] * d
        counted = c <= a and d <= b and (d == 0 or c == a) and a + b < self.bound("test")
        if not (is_sorted and counted):
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


Language = Dyck | GeneralisedDyck | CrossSerial

FORMAL_LANGUAGES: dict[str, type[Language]] = {
    "dyck": Dyck,
    "generalised_dyck": GeneralisedDyck,
    "cross_serial": CrossSerial,
}
CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


def names_language(spec: str) -> bool:
    """Return whether a specification names a formal language: `dyck(k=4,m=3)`, or a known name."""
    return CALL.fullmatch(spec) is not None or spec in FORMAL_LANGUAGES


def parse_language(spec: str) -> Language:
    """Return the language of a specification.

    The form is `NAME(VALUE, SETTING=VALUE, ...)`, with values without a name first and in order; or the name.
    """
    called = CALL.fullmatch(spec)
    name, inside = called.groups() if called else (spec, "")
    if name not in FORMAL_LANGUAGES:
        raise SuiteError(
            f"there is no formal language {name!r}.\n  {suggest(name, FORMAL_LANGUAGES, 'Languages')}"
        )
    settings = {field.name: field.default for field in fields(FORMAL_LANGUAGES[name])}
    parts = [part.strip() for part in inside.split(",")] if inside.strip() else []
    chosen = _read_settings(spec, parts, list(settings))
    if missing := [key for key, default in settings.items() if default is MISSING and key not in chosen]:
        form = usage(name)
        raise SuiteError(f"{spec}: the language needs a value for {' and '.join(missing)}.\n  Write {form}")
    try:
        return FORMAL_LANGUAGES[name](**chosen)
    except SuiteError as error:
        raise SuiteError(f"{spec}: {error}") from None


def usage(name: str) -> str:
    """Return how to write a language, with its settings and their defaults."""
    settings = fields(FORMAL_LANGUAGES[name])
    written = (
        setting.name if setting.default is MISSING else f"{setting.name}={setting.default}"
        for setting in settings
    )
    return f"{name}({', '.join(written)})"


def _read_settings(spec: str, parts: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    chosen: dict[str, int] = {}
    named = False
    for place, part in enumerate(parts):
        key, equals, text = (side.strip() for side in part.partition("="))
        named = named or bool(equals)
        if not equals:
            if named or place >= len(known):
                raise SuiteError(
                    f"{spec}: the value {part!r} has no name of a setting before it.\n  Write NAME={part}, "
                    "as in dyck(k=2,m=3)."
                )
            key, text = known[place], part
        if key not in known:
            raise SuiteError(f"{spec}: no setting {key!r}.\n  {suggest(key, known, 'Settings')}")
        if key in chosen:
            raise SuiteError(f"{spec}: the setting {key!r} appears twice.\n  Give {key} only once.")
        try:
            chosen[key] = int(text)
        except ValueError:
            raise SuiteError(f"{spec}: the setting {key} must be a whole number, not {text!r}.") from None
    return chosen
