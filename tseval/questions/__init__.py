"""What a case asks of a model, and how numbers answer it: one type for each form that a question has.

    Question                   what every form can do
    ├── Pairs                  is one sentence more probable than another?
    ├── Regions                do formulas over the surprisals of regions hold?
    ├── Choices                which symbols are more probable, after one prefix or many?
    └── Ratings                how far do scores go with human judgements?

A new form is one more module, and nobody else asks a question what it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tseval.questions.pairs import Asked, Asks
    from tseval.questions.scored import ScoredSentences

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


# sentence  the log-probability of a sentence, the sum over its words
# critical  that of the first word at which two sentences differ
# ending    the sum over the last words, as many as the item's feature `ending` says
# regions   what the predictions of a case say of the surprisals of regions
# choices   the probabilities of single symbols after prefixes
# mean      the sum over the words divided by their number
Score = Literal["sentence", "critical", "ending", "regions", "choices", "mean"]
SCORES: tuple[Score, ...] = get_args(Score)

# Scores that need the log-probabilities of single words.
COMPARES_WORDS: frozenset[Score] = frozenset({"critical", "ending", "regions"})


@dataclass(frozen=True, slots=True)
class Contrast:
    """An ordered pair of labels, the better one first."""

    better: str
    worse: str

    def __str__(self) -> str:
        return f"{self.better} > {self.worse}"


def named_columns(table: pa.Table) -> list[tuple[str, pa.Array[Any]]]:
    """Return the columns of a table, each in one piece, with its name."""
    return [(name, table.column(name).combine_chunks()) for name in table.column_names]


def hash_column(digest: hashlib._Hash, column: pa.Array[Any]) -> None:
    """Add a column to a digest: the lengths of its texts and the texts, or its numbers, little-endian."""
    if pa.types.is_string(column.type):
        texts: list[Any] = column.to_pylist()
        lengths = np.array([len(text) for text in texts], dtype="<i4")
        digest.update(lengths.tobytes())
        digest.update("".join(texts).encode())
    else:
        if column.null_count:  # of a column without gaps the digest is what it was before there were any
            digest.update(np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes())
            column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        values = column.to_numpy(zero_copy_only=False)
        kind = {"b": "u1", "i": "<i8", "f": "<f8"}[values.dtype.kind]
        digest.update(values.astype(kind).tobytes())
