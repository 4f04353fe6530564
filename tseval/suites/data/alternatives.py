"""Several words in one cell, `hit|hurt|seen`: how such continuations are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.suites.data.roles import PAIR_LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.suites.data.pair_tables import Roles
    from tseval.suites.data.roles import DataRecord


SEVERAL_WORDS = re.compile(r"\w\|\w")  # `hit|hurt`


def alternatives_in(
    records: Sequence[tuple[str, DataRecord, Roles]],
    good: Sequence[str],
    bad: Sequence[str],
    options: Mapping[str, str],
) -> list[tuple[list[str], list[str]]]:
    """Return the alternatives of every continuation, `hit|hurt|seen`; an empty list if no cell has several.

    Raises:
        SuiteError: A cell has several words, and the option `alternatives` is not set.
    """
    chosen = options.get("alternatives")
    if chosen is not None and chosen not in ALTERNATIVES:
        raise SuiteError(f"--columns: alternatives={chosen}: {suggest(chosen, ALTERNATIVES, 'Values')}")
    if chosen is None and not any("|" in text for texts in (good, bad) for text in texts):
        return []  # so that a million pairs without alternatives need not be split
    parts = [([*map(str.strip, good_text.split("|"))], [*map(str.strip, bad_text.split("|"))])
             for good_text, bad_text in zip(good, bad, strict=True)]  # fmt: skip
    for (place, _, roles), text, both_parts in zip(records, zip(good, bad, strict=True), parts, strict=True):
        several = next((side for side, words in enumerate(both_parts) if len(words) > 1), None)
        before, name = roles.parts[PAIR_LABELS[several or 0]]
        if several is None or not before or not all(map(all, both_parts)):
            continue
        if chosen is None:
            raise SuiteError(
                f"{place}: the column {name!r} has several words: {quoted_text(text[several], 40)}. tseval "
                "does not know which of them to compare.\n"
                "  Write one word. Or add --columns alternatives=any: then a pair is right if one good word "
                "is more probable than each bad word.\n"
                "  Or add --columns alternatives=sum: then the probabilities of the words in a cell add up."
            )
        return parts
    if chosen:
        raise SuiteError(
            f"{records[0][0] if records else 'The table'}: alternatives={chosen} has no effect, because no "
            f"continuation of a prefix has words with | between them.\n  Leave alternatives={chosen} out."
        )
    return []


def in_names(label: str, texts: Sequence[str], n_texts: int) -> list[tuple[str, str]]:
    """Name the alternatives of an item; if it has fewer than other items, its last one is repeated."""
    names = _numbered(label, n_texts)
    return [(name, texts[min(at, len(texts) - 1)]) for at, name in enumerate(names)]


def _numbered(label: str, n_texts: int) -> list[str]:
    """Return the labels of alternatives: good, good_2, good_3.

    >>> _numbered("good", 3)
    ['good', 'good_2', 'good_3']
    """
    return [label, *(f"{label}_{n}" for n in range(2, n_texts + 1))]


def any_of(n_good: int, n_bad: int) -> str:
    """Return the formula: the best of some continuations is more probable than each of some others."""
    good, bad = map(_numbered, PAIR_LABELS, (n_good, n_bad))
    beaten = (" | ".join(f"(2;%{good_word}%) < (2;%{bad_word}%)" for good_word in good) for bad_word in bad)
    return " & ".join(f"[{inequality}]" for inequality in beaten)


def sum_of(n_good: int, n_bad: int) -> str:
    """Return the formula: the probabilities of some continuations sum to more than those of some others.

    >>> sum_of(2, 1)
    '(2;%good%,%good_2%) < (2;%bad%)'
    """
    added = (",".join(f"%{word}%" for word in _numbered(label, n)) for label, n in
             zip(PAIR_LABELS, (n_good, n_bad), strict=True))  # fmt: skip
    return " < ".join(f"(2;{labels})" for labels in added)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A meaning of several words in one cell."""

    formula: Callable[[int, int], str]  # returns the prediction for the largest numbers of good and bad words
    meaning: str


ALTERNATIVES = {
    "any": Alternatives(any_of, "a pair is right if a better word is more probable than each worse word"),
    "sum": Alternatives(sum_of, "tseval adds the probabilities of the words in a cell"),
}
