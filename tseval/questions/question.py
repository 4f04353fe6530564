"""The interface of all questions, and the verdicts that they give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tseval.questions.choices import Asked, Asks
    from tseval.questions.contrast import Contrast
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score

    RowsByLabel = Mapping[str, NDArray[np.int64]]


class Question(ABC):
    """A question about all items of a case; it has columns, one row per item, if it needs any."""

    __slots__ = ()

    @abstractmethod
    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return why a score cannot be used, as a predicate of the case's name; None if it can be used."""

    @abstractmethod
    def n_verdicts(self, n_items: int) -> int:
        """Count the verdicts on `n_items` items."""

    @abstractmethod
    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Turn scored sentences into verdicts, one block for each contrast or prediction.

        Args:
            scored: All sentences of the suite.
            rows: Row of each item's sentence in `scored`, for each label, (items,) each.
            features: The features of the items.
            score: The score to compare by; `refusal` must accept it.
        """

    @abstractmethod
    def describe(self) -> list[list[str]]:
        """Return the names of contrasts or predictions, in order, for the digest of a suite."""

    def hash_into(self, digest: hashlib._Hash) -> None:  # noqa: B027 - most forms hold no columns of their own
        """Add the columns of the question to the digest of a suite."""

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield what makes verdicts misleading: the name of a contrast or prediction, and the problem."""
        return iter(())

    def right_or_wrong(self) -> bool:
        """Return whether verdicts are right or wrong, so that there is an accuracy."""
        return True

    def contrasts(self) -> tuple[Contrast, ...]:
        """Return the ordered pairs of labels; none for other questions."""
        return ()

    def feature_types(self) -> list[pa.Field[Any]]:
        """Return the features of single verdicts, in addition to those of items, with their types."""
        return []

    def asks(self) -> Asks | None:
        """Return the symbols to compare inside sentences; None if the scores of sentences are enough."""
        return None

    def asked(self, texts: pa.StringArray, sentences: pa.StringArray) -> Asked | None:
        """Return the choices inside sentences; None if the scores of sentences are enough.

        Args:
            texts: The sentence of each item, (items,).
            sentences: The distinct sentences, in the form that the model reads, (sentences,).
        """
        return None

    def take(self, rows: pa.Int64Array) -> Question:
        """Return the question for some of the items."""
        return self


@dataclass(frozen=True, slots=True)
class Decided:
    """The verdicts of one case on one contrast or prediction, by column.

    A verdict is undecidable if sentences look the same to the model, differ in tokens that it leaves
    unscored, are half known (`tseval.questions.unknown`), or are too long for it.
    """

    contrast: str  # the name in tables: `grammatical > ungrammatical`
    better: NDArray[np.float64]  # in nats; NaN if nothing was compared, (verdicts,)
    worse: NDArray[np.float64]  # the value that `better` must exceed, (verdicts,)
    correct: NDArray[np.bool_] | None  # (verdicts,); None if verdicts are not right or wrong
    undecidable: NDArray[np.bool_]  # (verdicts,)
    items: NDArray[np.int64] | None = None  # place of each verdict's item; None: every item once, in order
    features: pa.Table | None = None  # of verdicts, in addition to those of items, (verdicts, features)
    half_known: NDArray[np.bool_] | None = None  # (verdicts,); None if no verdict is half known

    def among(self, asked: NDArray[np.bool_]) -> Decided:
        """Expand verdicts on the items of a mask, (items,), to all items; the others are undecidable."""
        better, worse = np.full((2, len(asked)), np.nan)
        undecidable = ~asked
        better[asked], worse[asked] = self.better, self.worse
        undecidable[asked] = self.undecidable
        correct = None
        if self.correct is not None:
            correct = np.zeros(len(asked), dtype=np.bool_)
            correct[asked] = self.correct
        half_known = None
        if self.half_known is not None:
            half_known = np.zeros(len(asked), dtype=np.bool_)
            half_known[asked] = self.half_known
        features = self.features
        if features is not None:
            places = np.cumsum(asked) - 1
            features = features.take(pa.array(places, pa.int64(), mask=~asked))
        return replace(
            self, better=better, worse=worse, correct=correct, undecidable=undecidable, features=features,
            half_known=half_known,
        )  # fmt: skip
