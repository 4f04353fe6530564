"""Make the test case of a formal language: its strings, and the question about each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tseval.files import beyond, limits
from tseval.items import Case, as_entries
from tseval.questions.choices import Asks, Choices
from tseval.suites.formal.languages import STOP, CrossSerial, Dyck, Strings, among, first_strings
from tseval.suites.formal.stacks import marks_of, trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.suites.formal.languages import GeneralisedDyck, Language

    Features = dict[str, pa.Array[Any]]


FORMAL_PHENOMENON = "Formal languages"
LABEL = "string"
# Dyck: the matching bracket must have more than this share of the probability of all closing brackets.
SHARE = 0.8


def draw_test(language: Language, limit: int | None = None) -> Strings:
    """Draw the test strings of a language, or the first `limit`, as one block; refuse more than `rows`."""
    blocks = language.draw("test")
    drawn, n_remaining = [], limits().rows
    for block in blocks if limit is None else first_strings(blocks, limit):
        drawn.append(block)
        n_remaining -= len(block.lengths)
        if n_remaining < 0:
            raise beyond("rows", language.name, "the language has too many test strings")
    widest = max(block.symbols.shape[1] for block in drawn)
    padded = [
        np.pad(block.symbols, ((0, 0), (0, widest - block.symbols.shape[1])), constant_values=-1)
        for block in drawn
    ]
    return Strings(np.concatenate(padded), np.concatenate([block.lengths for block in drawn]))


def language_case(language: Language, strings: Strings, index: NDArray[np.int64]) -> Case:
    """Return the case of a language; `index` is the place of each string in the test set, (strings,)."""
    texts = strings.texts(language.alphabet)
    # Answers within one string are more alike than answers in different strings.
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
    """Return the question about which bracket must be closed.

    Dyck-(k,m): wherever a bracket is open, whether or not it is closed next (Hewitt et al. 2020). Generalised
    Dyck words: wherever a bracket is closed next (Bernardy & Lappin 2022).
    """
    n_types = len(language.alphabet) // 2
    stacks = trace(strings, n_types)
    judged = stacks.open > 0
    if not isinstance(language, Dyck):
        judged[:, :-1] &= strings.symbols >= n_types
    item, position = np.nonzero(judged)
    training_marks = marks_of(language.draw("train"), n_types)
    unseen = np.zeros(judged.shape, dtype=np.bool_)
    unseen[judged] = ~among(stacks.mark[judged], training_marks)
    string_features: Features = {
        "length": _as_int64(strings.lengths),
        "depth": _as_int64(stacks.open.max(axis=1)),
        "max_distance": _as_int64(np.where(judged, stacks.distance, 0).max(axis=1)),
        "max_attractors": _as_int64(np.where(judged, stacks.attractors, 0).max(axis=1)),
        "unseen_stacks": _as_int64(unseen.sum(axis=1)),
    }
    choice_features: Features = {
        "position": _as_int64(position),
        "open": _as_int64(stacks.open[judged]),
        "distance": _as_int64(stacks.distance[judged]),
        "attractors": _as_int64(stacks.attractors[judged]),
        "unseen_stack": pa.array(unseen[judged]),
    }
    is_dyck = isinstance(language, Dyck)
    return string_features, Choices(
        name=f"matching > {SHARE} of closing brackets" if is_dyck else "matching > other closing brackets",
        alternatives=Asks(
            symbols=language.alphabet[n_types:],
            signs=2 * np.eye(n_types, dtype=np.int8) - np.int8(1),
            share=SHARE if is_dyck else None,
        ),
        item=item,
        position=position,
        which=stacks.top[judged].astype(np.int64),
        features=pa.table(choice_features),
    )


def _as_int64(numbers: NDArray[np.integer[Any]]) -> pa.Array[Any]:
    return pa.array(numbers, pa.int64())


def _cross_serial(language: CrossSerial, strings: Strings, texts: list[str]) -> tuple[Features, Choices]:
    """Return the question about the next symbol at every position; a string is right if all positions are."""
    symbols = (*language.alphabet, STOP)
    after = {text: _possible(language, text.split(), symbols) for text in set(texts)}
    answers = np.concatenate([after[text] for text in texts])
    signs, which = np.unique(answers, axis=0, return_inverse=True)
    n_positions = strings.lengths + 1
    starts = np.cumsum(n_positions) - n_positions
    position = np.arange(len(answers)) - np.repeat(starts, n_positions)
    m, n = ((strings.symbols == language.alphabet.index(symbol)).sum(axis=1) for symbol in "ab")
    features: Features = {"m": _as_int64(m), "n": _as_int64(n), "m_plus_n": _as_int64(m + n)}
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
    """Mark, after every prefix of a string, each symbol as possible (1) or impossible (-1)."""
    allowed = [language.allowed(string[:length]) for length in range(len(string) + 1)]
    return np.array(
        [[1 if symbol in possible else -1 for symbol in symbols] for possible in allowed], dtype=np.int8
    )
