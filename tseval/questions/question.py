"""What every form of question can do, and the verdicts that it gives."""

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
    """What is asked about all items of a case; it holds columns, one row an item, where it needs any."""

    __slots__ = ()

    @abstractmethod
    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Say why a score cannot be used, to go on from the name of the case; None if it can."""

    @abstractmethod
    def n_verdicts(self, n_items: int) -> int:
        """Count the verdicts on so many items."""

    @abstractmethod
    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Turn scored sentences into verdicts, one block for each thing that counts.

        Args:
            scored: All sentences of the suite.
            rows: Row of each item's sentence among them, by label, (items,) each.
            features: Of the items.
            score: What sentences are compared by; one that was not refused.
        """

    @abstractmethod
    def describe(self) -> list[list[str]]:
        """Name what counts, in order, for the digest of a suite."""

    def hash_into(self, digest: hashlib._Hash) -> None:  # noqa: B027 - most forms hold no columns of their own
        """Add the columns that it holds to the digest of a suite."""

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Say what may mislead a reader of the verdicts: what counts, and what is wrong with it."""
        return iter(())

    def right_or_wrong(self) -> bool:
        """Return whether verdicts are right or wrong, so that there is an accuracy."""
        return True

    def contrasts(self) -> tuple[Contrast, ...]:
        """Return the ordered pairs of labels that count; none where something else is asked."""
        return ()

    def feature_types(self) -> list[pa.Field[Any]]:
        """Return the features of single verdicts, beside those of their items, with their types."""
        return []

    def asks(self) -> Asks | None:
        """Return what can be asked inside sentences; None where their scores are enough."""
        return None

    def asked(self, texts: pa.StringArray, sentences: pa.StringArray) -> Asked | None:
        """Say what must be asked where; None where the scores of sentences are enough.

        Args:
            texts: The sentence of each item, (items,).
            sentences: The distinct ones, as the model will be given them, (sentences,).
        """
        return None

    def take(self, rows: pa.Int64Array) -> Question:
        """Ask the same about some of the items."""
        return self


@dataclass(frozen=True, slots=True)
class Decided:
    """The verdicts of one case on one thing that counts, by column.

    Undecidable is what was never put, because sentences look alike to the model, differ in what it leaves
    unscored, are half known (`tseval.questions.unknown`), or are too long for it.
    """

    contrast: str  # what counts, for the tables: `grammatical > ungrammatical`
    better: NDArray[np.float64]  # in nats; not a number where nothing was compared, (verdicts,)
    worse: NDArray[np.float64]  # what `better` must exceed, (verdicts,)
    correct: NDArray[np.bool_] | None  # (verdicts,); None where nothing is right or wrong
    undecidable: NDArray[np.bool_]  # (verdicts,)
    items: NDArray[np.int64] | None = None  # place of each verdict's item; None: every item once, in order
    features: pa.Table | None = None  # of a verdict, beside those of its item, (verdicts, features)
    half_known: NDArray[np.bool_] | None = None  # (verdicts,); None where nothing is

    def among(self, asked: NDArray[np.bool_]) -> Decided:
        """Put verdicts, one for each item that was asked about, (items,), among the undecidable others."""
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
