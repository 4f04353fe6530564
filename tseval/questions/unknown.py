"""Words that a model does not know, and pairs with one known form.

A pair is half known if the unknown words of its two sentences are not the same words. The model then reads
`<unk>` instead of one form and knows the other, so the comparison is not the intended one. A word that is
unknown in both sentences does no harm.

Source: Linzen, Dupoux & Goldberg 2016, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive
Dependencies", and Gulordava et al. 2018, "Colorless Green Recurrent Networks Dream Hierarchically", use only
verbs of which both forms are in the vocabulary. The script of Marvin & Linzen 2018 compares all pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, suggest
from tseval.writing import without_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.formats import Json

    Rows = NDArray[np.int64]


# The rule for half-known pairs: they are undecidable, or they are compared like all others.
UnknownRule = Literal["undecidable", "score"]
UNKNOWN_RULES: tuple[UnknownRule, ...] = get_args(UnknownRule)
# How vocabularies write the word for all unknown words.
UNKNOWN_MARKS = (
    "<unk>", "<UNK>", "<unknown>", "<UNKNOWN>", "[UNK]", "<oov>", "<OOV>", "UNK", "<|unk|>",
)  # fmt: skip


def check_rule(rule: str) -> None:
    """Raise an error for a rule that does not exist."""
    if rule not in UNKNOWN_RULES:
        raise SuiteError(f"unknown={rule!r}: {suggest(rule, UNKNOWN_RULES, 'Rules for half-known pairs')}")


@dataclass(frozen=True, slots=True)
class Unknown:
    """The model's sign of unknown words, and the rule for half-known pairs.

    Attributes:
        rule: `undecidable`, or `score` to compare half-known pairs like all others.
        mark: The word for unknown words; None if the model does not state it, as models of pieces.
        lowercase: Whether the model reads words in lower case.
        unsaid: Whether half-known pairs are not marked, as in old runs, which did not count them.
    """

    rule: UnknownRule = "undecidable"
    mark: str | None = None
    lowercase: bool = False
    unsaid: bool = False

    @classmethod
    def of(cls, protocol: Mapping[str, Json], rule: UnknownRule = "undecidable") -> Unknown:
        """Read the sign of unknown words from the protocol of a model."""
        mark = protocol.get("unknown")
        return cls(rule, mark if isinstance(mark, str) else None, protocol.get("lowercase") is True)

    def is_unknown(self, word: str, seen: str) -> bool:
        """Return whether a word is unknown, given the form `seen` in which the model shows it."""
        if self.mark is not None:
            return seen == self.mark
        if seen == word:  # the text itself has this word
            return False
        return seen in UNKNOWN_MARKS or any(mark in seen for mark in _BRACKETED)

    def pattern(self) -> str:
        """Return a regular expression that finds sentences with possibly unknown words."""
        return "|".join(map(re.escape, UNKNOWN_MARKS if self.mark is None else (self.mark,)))


# A piece for unknown letters may be part of a word; no word contains one of these by chance.
_BRACKETED = tuple(mark for mark in UNKNOWN_MARKS if not mark.isalpha())


class UnknownWords:
    """The unknown words of scored sentences.

    Args:
        table: One row for each sentence: `sentence`, and `seen`, its words as the model reads them.
        unknown: The model's sign of unknown words.
    """

    def __init__(self, table: pa.Table, unknown: Unknown) -> None:
        self._table, self._unknown = table, unknown

    @cached_property
    def of_rows(self) -> dict[int, list[tuple[int, str]]]:
        """Unknown words by the row of their sentence, each with its position; only rows that have any."""
        if self._table["seen"].equals(self._table["sentence"]) and self._unknown.mark is None:
            return {}
        maybe = pc.match_substring_regex(self._table["seen"], self._unknown.pattern())
        rows = np.flatnonzero(maybe.to_numpy(zero_copy_only=False))
        table = self._table.select(["sentence", "seen"]).take(pa.array(rows, pa.int64()))
        texts = zip(*(table[name].to_pylist() for name in ("sentence", "seen")), strict=True)
        by_row = {int(row): self._of_sentence(*pair) for row, pair in zip(rows, texts, strict=True)}
        return {row: words for row, words in by_row.items() if words}

    def _of_sentence(self, sentence: str, seen: str) -> list[tuple[int, str]]:
        text = without_context(sentence)
        text = text.lower() if self._unknown.lowercase else text
        words, seen_words = text.split(), seen.split()
        if len(words) != len(seen_words):  # words cannot be aligned: those that are not in `seen` are unknown
            return [(0, word) for word in (Counter(words) - Counter(seen_words)).elements()]
        numbered = enumerate(zip(words, seen_words, strict=True))
        return [
            (position, word)
            for position, (word, seen_word) in numbered
            if self._unknown.is_unknown(word, seen_word)
        ]

    @cached_property
    def kinds(self) -> Rows:
        """A number for each sentence, equal if the unknown words are the same; 0 for none, (sentences,)."""
        numbers: dict[tuple[str, ...], int] = {}
        kinds = np.zeros(len(self._table), dtype=np.int64)
        for row, words in self.of_rows.items():
            unknown_words = tuple(sorted(word for _, word in words))
            kinds[row] = numbers.setdefault(unknown_words, len(numbers) + 1)
        return kinds

    def differ(self, rows: Rows, other_rows: Rows) -> NDArray[np.bool_]:
        """Return which pairs of sentences, given by their rows, are half known, (pairs,)."""
        if not self.of_rows:
            return np.zeros(len(rows), dtype=np.bool_)
        half_known: NDArray[np.bool_] = self.kinds[rows] != self.kinds[other_rows]
        return half_known

    def within(self, row: int, start: int, stop: int) -> Counter[str]:
        """Count the unknown words of a sentence from position `start` to before `stop`."""
        return Counter(word for position, word in self.of_rows.get(row, ()) if start <= position < stop)

    def count_missing(self, of_labels: Sequence[Rows]) -> Counter[str]:
        """Count for each word the items in which it is unknown in one sentence and not in another.

        For an item of a single sentence, all its unknown words count.

        Args:
            of_labels: The row of each item's sentence, (items,), for each of its labels.
        """
        costs: Counter[str] = Counter()
        if not self.of_rows:
            return costs
        rows = np.stack(of_labels, axis=1)
        _, firsts, counts = np.unique(self.kinds[rows], axis=0, return_index=True, return_counts=True)
        for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
            of_item = [Counter(word for _, word in self.of_rows.get(row, ())) for row in rows[first].tolist()]
            for word in unshared(of_item):
                costs[word] += count
        return costs


def unshared(sentences: Iterable[Counter[str]]) -> set[str]:
    """Return words whose counts differ between the sentences of an item; all words of a single sentence."""
    counts = list(sentences)
    words = {word for count in counts for word in count}
    return {word for word in words if len(counts) == 1 or len({count[word] for count in counts}) > 1}


def rank_missing(costs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort words by the number of pairs that each costs, then by name."""
    return sorted(costs.items(), key=lambda pair: (-pair[1], pair[0]))
