"""Choices: questions about which symbols are more probable, after one prefix or many."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.questions.columns import hash_column, named_columns
from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score


@dataclass(frozen=True, slots=True)
class Asks:
    """Choices to make after a prefix: are the right symbols more probable than the wrong ones?"""

    symbols: tuple[str, ...]  # single words to compare; one may be the stop symbol of the text
    # For each choice, which symbols are right (1), wrong (-1) and not compared (0), (choices, symbols).
    signs: NDArray[np.int8]
    # The right symbols must have more than this share of the probability of all compared symbols. If it is
    # None, the best right symbol must have a higher probability than the best wrong one.
    share: float | None = None

    def compare(
        self, which: NDArray[np.int64], logprobs: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Reduce log-probabilities to a value of the right symbols and a threshold for it, (prefixes,) each.

        If `share` is given, the value is the logarithm of the right symbols' share, and the threshold is the
        logarithm of `share`.

        Args:
            which: The choice after each prefix, (prefixes,).
            logprobs: Log-probabilities of all symbols after each prefix, in nats, (prefixes, symbols).
        """
        signs = self.signs[which]
        values = logprobs.astype(np.float64)
        right = np.where(signs > 0, values, -np.inf)
        if self.share is None:
            return right.max(1), np.where(signs < 0, values, -np.inf).max(1)
        total = np.logaddexp.reduce(np.where(signs != 0, values, -np.inf), axis=1)
        return np.logaddexp.reduce(right, axis=1) - total, np.full(len(which), log(self.share))


@dataclass(frozen=True, slots=True)
class Asked:
    """All choices in the sentences of a suite."""

    asks: Asks
    before: Sequence[NDArray[np.int32]]  # for each sentence, the row of `asks` before each word, -1 for none

    def take(self, rows: Sequence[int]) -> Asked:
        """Return the choices of some of the sentences."""
        return replace(self, before=[self.before[row] for row in rows])


@dataclass(frozen=True, slots=True)
class Choices(Question):
    """The choices inside the sentences of a case whose items have one label.

    At each choice the question is whether the right symbols are more probable than the wrong ones.
    """

    name: str  # the comparison, for tables: `matching > other closing brackets`
    alternatives: Asks
    item: NDArray[np.int64]  # the sentence's place in the case, ascending, (choices,)
    position: NDArray[np.int64]  # number of words before the choice, (choices,)
    which: NDArray[np.int64]  # the row of `alternatives`, (choices,); the same after equal prefixes
    features: pa.Table  # (choices, features)
    whole: bool = False  # True: a sentence gets one verdict, from its weakest choice

    def __str__(self) -> str:
        return self.name

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return an error text for every score but `choices`."""
        return (
            None
            if score == "choices"
            else (
                f"asks the model to choose symbols inside sentences, so --score {score} is not "
                "possible.\n"
                "  Write --score choices."
            )
        )

    def n_verdicts(self, n_items: int) -> int:
        """Count the choices, or the sentences if each gets one verdict."""
        return n_items if self.whole else len(self.item)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Compare the value of the right symbols with its threshold, at every choice.

        A sentence with one verdict gets that of its weakest choice: the choice with the smallest difference,
        and the first of equal ones.
        """
        (of_item,) = rows.values()
        right, wrong = scored.inside(of_item[self.item], self.position)
        if self.whole:
            order = np.lexsort((self.position, right - wrong, self.item))
            weakest = order[np.unique(self.item[order], return_index=True)[1]]
            right, wrong = right[weakest], wrong[weakest]
        undecidable = np.zeros(len(right), dtype=np.bool_)
        decided = Decided(self.name, right, wrong, right > wrong, undecidable)
        yield decided if self.whole else replace(decided, items=self.item, features=self.features)

    def describe(self) -> list[list[str]]:
        """Return no labels, because there is only one."""
        return []

    def hash_into(self, digest: hashlib._Hash) -> None:
        """Add the compared symbols, their places, and the features of each choice."""
        columns = named_columns(self.features)
        kinds = [(name, str(column.type)) for name, column in columns]
        alternatives = self.alternatives
        facts = [
            self.name,
            alternatives.symbols,
            alternatives.signs.shape,
            alternatives.share,
            self.whole,
            kinds,
        ]
        digest.update(json.dumps(facts).encode())
        digest.update(alternatives.signs.astype("<i1").tobytes())
        for numbers in (self.item, self.position, self.which):
            digest.update(numbers.astype("<i8").tobytes())
        for _, column in columns:
            hash_column(digest, column)

    def feature_types(self) -> list[pa.Field[Any]]:
        """Return the features of single choices, if these have separate verdicts."""
        return [] if self.whole else list(self.features.schema)

    def asks(self) -> Asks:
        """Return the symbols to compare after prefixes."""
        return self.alternatives

    def asked(self, texts: pa.StringArray, sentences: pa.StringArray) -> Asked:
        """Return which choice is before which word of each sentence."""
        # Equal sentences have equal choices, so those of the first item with a sentence are used.
        first = pc.index_in(sentences, value_set=texts).to_numpy()
        starts, stops = (np.searchsorted(self.item, first, side) for side in ("left", "right"))
        words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
        before = [np.full(length, -1, dtype=np.int32) for length in pc.list_value_length(words).to_numpy()]
        for numbers, start, stop in zip(before, starts, stops, strict=True):
            numbers[self.position[start:stop]] = self.which[start:stop]
        return Asked(self.alternatives, before)
