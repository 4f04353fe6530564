"""Formal languages: sample their strings, say what may follow a prefix, make suites of them. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tseval.files import beyond, limits
from tseval.items import Case, as_entries
from tseval.questions.pairs import Asks, Choices
from tseval.suites.formal.languages import (
    MULTIPLIER,
    STOP,
    CrossSerial,
    Dyck,
    Strings,
    among,
    distinct,
    first_strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.suites.formal.languages import GeneralisedDyck, Language

    Features = dict[str, pa.Array[Any]]


# Counters of brackets by type that are held at once.
COUNTERS = 2**22


@dataclass(frozen=True, slots=True)
class Stacks:
    """What is open before each symbol of strings, and at last before the end, (strings, longest + 1) each."""

    open: NDArray[np.int32]  # brackets; 0 also after the end of a string
    top: NDArray[np.int32]  # type of the last one, from 0; -1 where none is open
    distance: NDArray[np.int32]  # symbols since it was opened
    attractors: NDArray[np.int32]  # brackets of other types opened since then
    mark: NDArray[np.uint64]  # of the whole stack; two share one with a chance of about 2^-64


def trace(strings: Strings, n_types: int) -> Stacks:
    """Follow the stack through strings of brackets, all strings at once.

    Opening brackets are symbols below `n_types`; the symbol `n_types` higher closes each.
    """
    size = max(1, COUNTERS // n_types)
    parts = [_trace(strings.take(slice(i, i + size)), n_types) for i in range(0, len(strings), size)]
    return Stacks(*(np.concatenate([getattr(part, name) for part in parts]) for name in Stacks.__slots__))


def _trace(strings: Strings, n_types: int) -> Stacks:
    n, width = strings.symbols.shape
    steps = np.where(strings.symbols < 0, 0, np.where(strings.symbols < n_types, 1, -1))
    depth = np.zeros((n, width + 1), dtype=np.int32)
    np.cumsum(steps, axis=1, out=depth[:, 1:])
    top = np.full_like(depth, -1)
    distance, attractors = np.zeros_like(depth), np.zeros_like(depth)
    mark = np.zeros(depth.shape, dtype=np.uint64)
    # By level of the stack, level 0 being the empty stack: the bracket there, the symbols before it, how many
    # of its type had been opened with it, and the mark of the stack up to it.
    shape = (n, int(depth.max(initial=0)) + 1)
    kinds, opened_at, same = (np.full(shape, -1, dtype=np.int32) for _ in range(3))
    marks = np.zeros(shape, dtype=np.uint64)
    counts = np.zeros((n, n_types), dtype=np.int32)
    for position in range(width):
        rows = np.flatnonzero(steps[:, position] > 0)
        level, kind = depth[rows, position + 1], strings.symbols[rows, position]
        counts[rows, kind] += 1
        kinds[rows, level], opened_at[rows, level], same[rows, level] = kind, position, counts[rows, kind]
        marks[rows, level] = marks[rows, level - 1] * MULTIPLIER + (kind + 1).astype(np.uint64)
        here = position + 1
        rows = np.flatnonzero(depth[:, here])
        level = depth[rows, here]
        kind = kinds[rows, level]
        since = here - 1 - opened_at[rows, level]
        top[rows, here], distance[rows, here], mark[rows, here] = kind, since, marks[rows, level]
        # What was opened since the top bracket has been closed again: it is half of the symbols.
        attractors[rows, here] = since // 2 - (counts[rows, kind] - same[rows, level])
    return Stacks(depth, top, distance, attractors, mark)


def marks_of(blocks: Iterator[Strings], n_types: int) -> NDArray[np.uint64]:
    """Collect the marks of all stacks that stand anywhere in strings, ascending."""
    all_stacks = (trace(block, n_types) for block in blocks)
    return distinct(np.concatenate([distinct(own.mark[own.open > 0]) for own in all_stacks]))


FORMAL_PHENOMENON = "Formal languages"
LABEL = "string"
# The matching bracket must have more than this share of the probability of all closing ones.
SHARE = 0.8


def draw_test(language: Language, limit: int | None = None) -> Strings:
    """Draw the test strings of a language, or the first of them, as one block; refuse more than `rows`."""
    blocks = language.draw("test")
    drawn, left = [], limits().rows
    for block in blocks if limit is None else first_strings(blocks, limit):
        drawn.append(block)
        left -= len(block.lengths)
        if left < 0:
            raise beyond("rows", language.name, "the language has too many test strings")
    widest = max(block.symbols.shape[1] for block in drawn)
    padded = [
        np.pad(block.symbols, ((0, 0), (0, widest - block.symbols.shape[1])), constant_values=-1)
        for block in drawn
    ]
    return Strings(np.concatenate(padded), np.concatenate([block.lengths for block in drawn]))


def language_case(language: Language, strings: Strings, index: NDArray[np.int64]) -> Case:
    """Make the case of a language; the index is each string's place among all test strings, (strings,)."""
    texts = strings.texts(language.alphabet)
    # What a string asks at several places is answered alike more often than in several strings.
    if isinstance(language, CrossSerial):
        (features, choices), shared = _cross_serial(language, strings, texts), {}
    else:
        (features, choices), shared = _brackets(language, strings), {LABEL: as_entries(texts)}
    return Case(
        name=language.name,
        construction=language.title,
        phenomenon=FORMAL_PHENOMENON,
        dependency=None,
        question=choices,
        index=pa.array(index, pa.int64()),
        sentences=pa.table({LABEL: pa.array(texts, pa.string())}),
        features=pa.table(features),
        entries=pa.table(shared),
    )


def _brackets(language: Dyck | GeneralisedDyck, strings: Strings) -> tuple[Features, Choices]:
    """Ask which bracket is to be closed.

    Dyck-(k,m): wherever one is open, whether or not it is closed next, as Hewitt et al. 2020 do. Generalised
    Dyck words: wherever one is closed next, as Bernardy & Lappin 2022 do.
    """
    n_types = len(language.alphabet) // 2
    stacks = trace(strings, n_types)
    judged = stacks.open > 0
    if not isinstance(language, Dyck):
        judged[:, :-1] &= strings.symbols >= n_types
    item, position = np.nonzero(judged)
    known = marks_of(language.draw("train"), n_types)
    unseen = np.zeros(judged.shape, dtype=np.bool_)
    unseen[judged] = ~among(stacks.mark[judged], known)
    whole: Features = {
        "length": _whole(strings.lengths),
        "depth": _whole(stacks.open.max(axis=1)),
        "max_distance": _whole(np.where(judged, stacks.distance, 0).max(axis=1)),
        "max_attractors": _whole(np.where(judged, stacks.attractors, 0).max(axis=1)),
        "unseen_stacks": _whole(unseen.sum(axis=1)),
    }
    single: Features = {
        "position": _whole(position),
        "open": _whole(stacks.open[judged]),
        "distance": _whole(stacks.distance[judged]),
        "attractors": _whole(stacks.attractors[judged]),
        "unseen_stack": pa.array(unseen[judged]),
    }
    is_dyck = isinstance(language, Dyck)
    return whole, Choices(
        name=f"matching > {SHARE} of closing brackets" if is_dyck else "matching > other closing brackets",
        alternatives=Asks(
            symbols=language.alphabet[n_types:],
            signs=2 * np.eye(n_types, dtype=np.int8) - np.int8(1),
            share=SHARE if is_dyck else None,
        ),
        item=item,
        position=position,
        which=stacks.top[judged].astype(np.int64),
        features=pa.table(single),
    )


def _whole(numbers: NDArray[np.integer[Any]]) -> pa.Array[Any]:
    return pa.array(numbers, pa.int64())


def _cross_serial(language: CrossSerial, strings: Strings, texts: list[str]) -> tuple[Features, Choices]:
    """Ask at every position, the end included, what is possible there; a string is right if all is right."""
    symbols = (*language.alphabet, STOP)
    after = {text: _possible(language, text.split(), symbols) for text in set(texts)}
    answers = np.concatenate([after[text] for text in texts])
    signs, which = np.unique(answers, axis=0, return_inverse=True)
    n_positions = strings.lengths + 1
    starts = np.cumsum(n_positions) - n_positions
    position = np.arange(len(answers)) - np.repeat(starts, n_positions)
    m, n = ((strings.symbols == language.alphabet.index(symbol)).sum(axis=1) for symbol in "ab")
    features: Features = {"m": _whole(m), "n": _whole(n), "m_plus_n": _whole(m + n)}
    features["unseen_pattern"] = pa.array(m + n >= language.bound("train"))
    return features, Choices(
        name="possible > impossible",
        alternatives=Asks(symbols, signs.astype(np.int8)),
        item=np.repeat(np.arange(len(texts)), n_positions),
        position=position,
        which=which.reshape(-1),
        features=pa.table({}),
        whole=True,
    )


def _possible(language: CrossSerial, string: list[str], symbols: tuple[str, ...]) -> NDArray[np.int8]:
    """Mark after every prefix of a string which symbols are possible (1) and which are not (-1)."""
    allowed = [language.allowed(string[:length]) for length in range(len(string) + 1)]
    return np.array([[1 if symbol in one else -1 for symbol in symbols] for one in allowed], dtype=np.int8)
