"""Choices inside sentences: which symbols are more probable, after one prefix or many?"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.questions.asks import Asked, Asks
from tseval.questions.columns import hash_column, named_columns
from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score


@dataclass(frozen=True, slots=True)
class Choices(Question):
    """What a model must choose right inside the sentences of a case, whose items have one label.

    At each choice something is asked: are the right symbols more probable than the wrong ones?

    Attributes:
        name: What must win, for the tables: `matching > other closing brackets`.
        alternatives: The symbols that are compared, and which of them are right.
        item: The sentence's place in the case, ascending, (choices,) int64.
        position: Words before the choice, (choices,) int64.
        which: What is asked there, (choices,) int64; never two different things after equal prefixes.
        features: One column per feature of a choice, (choices, features).
        whole: Whether a sentence is judged as one, by its weakest choice.
    """

    name: str
    alternatives: Asks
    item: NDArray[np.int64]
    position: NDArray[np.int64]
    which: NDArray[np.int64]
    features: pa.Table
    whole: bool = False

    def __str__(self) -> str:
        return self.name

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Refuse every score but `choices`."""
        return None if score == "choices" else f"consists of choices: --score {score} cannot be used"

    def n_verdicts(self, n_items: int) -> int:
        """Count the choices, or the sentences where each is judged as one."""
        return n_items if self.whole else len(self.item)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Compare what the right symbols have with what they must exceed, at every choice.

        Of a sentence that is judged as one, these are those of its weakest choice, where the first exceeds
        the second least, the first of such.
        """
        (of_item,) = rows.values()
        right, wrong = scored.inside(of_item[self.item], self.position)
        if self.whole:
            order = np.lexsort((self.position, right - wrong, self.item))
            weakest = order[np.unique(self.item[order], return_index=True)[1]]
            right, wrong = right[weakest], wrong[weakest]
        nothing = np.zeros(len(right), dtype=np.bool_)
        decided = Decided(self.name, right, wrong, right > wrong, nothing)
        yield decided if self.whole else replace(decided, items=self.item, features=self.features)

    def describe(self) -> list[list[str]]:
        """Name no labels: there is one."""
        return []

    def hash_into(self, digest: hashlib._Hash) -> None:
        """Add what is asked, where, and what is known of each choice."""
        columns = named_columns(self.features)
        kinds = [(name, str(column.type)) for name, column in columns]
        asks = self.alternatives
        about = [self.name, asks.symbols, asks.signs.shape, asks.share, self.whole, kinds]
        digest.update(json.dumps(about).encode())
        digest.update(asks.signs.astype("<i1").tobytes())
        for numbers in (self.item, self.position, self.which):
            digest.update(numbers.astype("<i8").tobytes())
        for _, column in columns:
            hash_column(digest, column)

    def feature_types(self) -> list[pa.Field[Any]]:
        """Give the features of single choices, where these have verdicts of their own."""
        return [] if self.whole else list(self.features.schema)

    def asks(self) -> Asks:
        """Give what is compared after prefixes."""
        return self.alternatives

    def asked(self, texts: pa.StringArray, sentences: pa.StringArray) -> Asked:
        """Say which choice stands before which word."""
        # The sentences of equal items are equal, and so are the choices in them: the first will do.
        first = pc.index_in(sentences, value_set=texts).to_numpy()
        starts, stops = (np.searchsorted(self.item, first, side) for side in ("left", "right"))
        words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
        before = [np.full(length, -1, dtype=np.int32) for length in pc.list_value_length(words).to_numpy()]
        for here, start, stop in zip(before, starts, stops, strict=True):
            here[self.position[start:stop]] = self.which[start:stop]
        return Asked(self.alternatives, before)
