"""Items, cases and suites: the values that cross from the grammars to the scorer and the tables.

Items are held by column (Arrow tables), because a suite has hundreds of thousands of them;
`Case.items()` gives them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.errors import SuiteError, suggest
from tseval.shown import counted, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tseval.questions.contrast import Contrast
    from tseval.questions.question import Question
    from tseval.questions.scores import Score

Feature = str | int | float | bool

# Features of a question about the beginning of a sentence: how many words it has, and the last of them.
POSITION, WORD = "position", "word"
# Columns of a verdict that are not features; no feature may take one of these names.
RESERVED_NAMES = frozenset(
    {"case", "item", "construction", "phenomenon", "dependency", "contrast"}
    | {"better_score", "worse_score", "correct", "tie", "undecidable"}
)


@dataclass(frozen=True, slots=True)
class Item:
    """A minimal set: sentences that differ as little as their labels demand.

    Attributes:
        case: Name of the case the item belongs to.
        index: Position in the case's full expansion, from 0; the same under `--limit` and `--sample`.
        sentences: Label to sentence, in the order of the labels.
        features: Feature name to value.
    """

    case: str
    index: int
    sentences: Mapping[str, str]
    features: Mapping[str, Feature]

    def __repr__(self) -> str:
        return shown(self, f"{self.case}[{self.index}]", *self.sentences.values())


@dataclass(frozen=True, slots=True)
class Case:
    """All items of one grammar or one data-set file.

    Cases with the same dependency, phenomenon and construction share a row of the table
    (`animate` and `inanimate` variants, for example), pooled by item.

    Attributes:
        name: Case id, the file's stem.
        construction: For example `Across an object RC`.
        phenomenon: For example `Subject-verb agreement`.
        dependency: `short`, `long`, another heading that the rows of a data set stand under, or None.
        question: What is asked about every item.
        index: Each item's position in the full expansion, (items,) int64.
        sentences: One string column per label, in label order, (items, labels).
        features: One column per feature, (items, features).
    """

    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    question: Question
    index: pa.Int64Array
    sentences: pa.Table
    features: pa.Table

    def __repr__(self) -> str:
        return shown(self, self.name, counted(self.n_items, "item"), counted(self.n_verdicts, "verdict"))

    @property
    def labels(self) -> tuple[str, ...]:
        """Sentence labels, in order."""
        return tuple(self.sentences.column_names)

    @property
    def n_items(self) -> int:
        """Number of items held."""
        return len(self.index)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The ordered pairs of labels that count; none where something else is asked."""
        return self.question.contrasts()

    @property
    def n_verdicts(self) -> int:
        """Number of verdicts that a run will hold."""
        return self.question.n_verdicts(self.n_items)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Features of the verdicts."""
        return tuple(field.name for field in (*self.features.schema, *self.question.feature_types()))

    def take(self, rows: Sequence[int]) -> Case:
        """Give the same case with some of its items, by their places."""
        if len(rows) == self.n_items:
            return self
        index = pa.array(rows, pa.int64())
        return replace(
            self,
            question=self.question.take(index),
            index=self.index.take(index),
            sentences=self.sentences.take(index),
            # A table without columns cannot be indexed: it does not know its rows.
            features=self.features.take(index) if self.features.num_columns else self.features,
        )

    def items(self) -> Iterator[Item]:
        """Give the items one by one, in order."""
        for batch in range(0, self.n_items, 4096):
            indices = self.index[batch : batch + 4096].to_pylist()
            sentences = self.sentences.slice(batch, 4096).to_pylist()
            # A table without columns cannot be sliced: it does not know its rows.
            named = self.features.num_columns > 0
            features = self.features.slice(batch, 4096).to_pylist() if named else [{}] * len(indices)
            for index, texts, values in zip(indices, sentences, features, strict=True):
                assert index is not None
                yield Item(self.name, index, texts, values)


def refuse_unknown_cases(suite: str, known: Collection[str], cases: Sequence[str]) -> None:
    """Refuse to choose cases that a suite does not have.

    Raises:
        SuiteError: Names the case, and the nearest one there is.
    """
    for name in cases:
        if name not in known:
            raise SuiteError(f"suite {suite!r} has no case {name!r}.\n  {suggest(name, known, 'Cases')}")


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, ordered collection of cases.

    Attributes:
        name: Short name, used in file names (`marvin_linzen`).
        title: As a reader would cite it.
        source: Reference of the published set, or None.
        terminator: Token appended to every sentence before scoring (`.`), or None.
        score: What the published method compares sentences by; a run may choose another.
        digest: SHA-256 over everything that can change a score or a table row: labels, contrasts,
            row names, terminator, sentences and features, in order.
        complete: False under `--limit`, `--sample` or `--case`.
    """

    name: str
    title: str
    source: str | None
    terminator: str | None
    cases: tuple[Case, ...]
    digest: str
    complete: bool = True
    score: Score = "sentence"

    def __repr__(self) -> str:
        part = () if self.complete else ("a part",)
        return shown(self, self.name, counted(len(self.cases), "case"), counted(self.n_items, "item"), *part)

    @property
    def n_items(self) -> int:
        """Number of items over all cases."""
        return sum(case.n_items for case in self.cases)

    @property
    def n_contrasts(self) -> int:
        """Number of contrasts over all cases: the verdicts a run will hold."""
        return sum(case.n_verdicts for case in self.cases)
