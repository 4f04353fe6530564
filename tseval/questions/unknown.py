"""Words that a model does not know, and pairs of which it knows one form only.

A pair is half known if the unknown words of its two sentences are not the same words. The model then reads
`<unk>` in place of one form and knows the other, so it compares something that nobody asked. A word that is
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


# What happens to half-known pairs: they are undecidable, or they are compared like all others.
UnknownRule = Literal["undecidable", "score"]
UNKNOWN_RULES: tuple[UnknownRule, ...] = get_args(UnknownRule)
# How vocabularies write the word that stands for all unknown ones.
UNKNOWN_MARKS = (
    "<unk>", "<UNK>", "<unknown>", "<UNKNOWN>", "[UNK]", "<oov>", "<OOV>", "UNK", "<|unk|>",
)  # fmt: skip


def check_rule(rule: str) -> None:
    """Refuse a rule that does not exist."""
    if rule not in UNKNOWN_RULES:
        raise SuiteError(f"unknown={rule!r}: {suggest(rule, UNKNOWN_RULES, 'Rules for half-known pairs')}")


@dataclass(frozen=True, slots=True)
class Unknown:
    """How a model shows unknown words, and what happens to half-known pairs.

    Attributes:
        rule: `undecidable`, or `score` to compare half-known pairs like all others.
        mark: The word that stands for unknown words; None if the model does not say, as models of pieces.
        lowercase: Whether the model reads words in lower case.
        unsaid: Whether half-known pairs are not marked, as in runs from before they were counted.
    """

    rule: UnknownRule = "undecidable"
    mark: str | None = None
    lowercase: bool = False
    unsaid: bool = False

    @classmethod
    def of(cls, protocol: Mapping[str, Json], rule: UnknownRule = "undecidable") -> Unknown:
        """Read from the protocol of a model how it shows unknown words."""
        mark = protocol.get("unknown")
        return cls(rule, mark if isinstance(mark, str) else None, protocol.get("lowercase") is True)

    def is_unknown(self, word: str, seen: str) -> bool:
        """Return whether a model that shows a word so does not know it."""
        if self.mark is not None:
            return seen == self.mark
        if seen == word:  # a word of the text, whatever it looks like
            return False
        return seen in UNKNOWN_MARKS or any(mark in seen for mark in _BRACKETED)

    def pattern(self) -> str:
        """Return a regular expression that finds the sentences in which a word may be unknown."""
        return "|".join(map(re.escape, UNKNOWN_MARKS if self.mark is None else (self.mark,)))


# A piece that stands for unknown letters may be a part of a word; no word contains one of these by chance.
_BRACKETED = tuple(mark for mark in UNKNOWN_MARKS if not mark.isalpha())


class UnknownWords:
    """The unknown words of scored sentences.

    Args:
        table: One row for each sentence: `sentence`, and `seen`, its words as the model sees them.
        unknown: How the model shows unknown words.
    """

    def __init__(self, table: pa.Table, unknown: Unknown) -> None:
        self._table, self._unknown = table, unknown

    @cached_property
    def of_rows(self) -> dict[int, list[tuple[int, str]]]:
        """Unknown words by the row of their sentence, each with its position; only of rows that have any."""
        if self._table["seen"].equals(self._table["sentence"]) and self._unknown.mark is None:
            return {}
        maybe = pc.match_substring_regex(self._table["seen"], self._unknown.pattern())
        rows = np.flatnonzero(maybe.to_numpy(zero_copy_only=False))
        taken = self._table.select(["sentence", "seen"]).take(pa.array(rows, pa.int64()))
        texts = zip(*(taken[name].to_pylist() for name in ("sentence", "seen")), strict=True)
        by_row = {int(row): self._of_sentence(*pair) for row, pair in zip(rows, texts, strict=True)}
        return {row: words for row, words in by_row.items() if words}

    def _of_sentence(self, sentence: str, seen: str) -> list[tuple[int, str]]:
        text = without_context(sentence)
        text = text.lower() if self._unknown.lowercase else text
        words, seen_words = text.split(), seen.split()
        if len(words) != len(seen_words):  # nobody knows which word is which: what is not shown is unknown
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
        """Tell which pairs of sentences, given by their rows, are half known, (pairs,)."""
        if not self.of_rows:
            return np.zeros(len(rows), dtype=np.bool_)
        half_known: NDArray[np.bool_] = self.kinds[rows] != self.kinds[other_rows]
        return half_known

    def within(self, row: int, start: int, stop: int) -> Counter[str]:
        """Count the unknown words of a stretch of a sentence."""
        return Counter(word for position, word in self.of_rows.get(row, ()) if start <= position < stop)

    def count_missing(self, of_labels: Sequence[Rows]) -> Counter[str]:
        """Count for each word how many items lack it in one of their sentences and not in another.

        An item of a single sentence lacks all its unknown words.

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
    """Name the words that are not equally often in all sentences of an item; of a single one all."""
    counts = list(sentences)
    words = {word for count in counts for word in count}
    return {word for word in words if len(counts) == 1 or len({count[word] for count in counts}) > 1}


def rank_missing(costs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Order words by the pairs that each costs, those of equal cost by name."""
    return sorted(costs.items(), key=lambda pair: (-pair[1], pair[0]))
