"""Items, contrasts, cases and suites: the values that cross from the grammars to the scorer and the tables.

Items are held by column (Arrow tables), because a suite has hundreds of thousands of them;
`Case.items()` gives them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.shown import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

Feature = str | int | float | bool

# The feature that says how many words at the end of an item's sentences the score `ending` compares.
ENDING = "ending"

# Columns of a verdict that are not features; no feature may take one of these names.
RESERVED_NAMES = frozenset(
    {"case", "item", "construction", "phenomenon", "dependency", "contrast"}
    | {"better_score", "worse_score", "correct", "tie", "undecidable"}
)


@dataclass(frozen=True, slots=True)
class Contrast:
    """An ordered pair of labels, the better one first."""

    better: str
    worse: str

    def __str__(self) -> str:
        return f"{self.better} > {self.worse}"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an item should fulfil: a formula over surprisals of regions (`tseval.questions.formula`)."""

    name: str
    formula: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Choices:
    """What a model must choose right inside the sentences of a case, after one prefix or many.

    At each choice a question is asked: are the right symbols more probable than the wrong ones? The best
    right one must beat the best wrong one; or, with `share`, the right ones must have more than that share
    of the probability of all that are compared.

    Attributes:
        name: What must win, for the tables: `matching > other closing brackets`.
        symbols: What is compared, single words; the stop symbol of the text may be one.
        questions: For each question, which symbols are right (1), which wrong (-1), and which are not
            compared (0), (questions, symbols) int8.
        item: The sentence's place in the case, ascending, (choices,) int64.
        position: Words before the choice, (choices,) int64.
        question: Which question is asked, (choices,) int64; never two different ones after equal prefixes.
        features: One column per feature of a choice, (choices, features).
        share: Least share of the probability that the right symbols must exceed, or None.
        whole: Whether a sentence is judged as one, by its weakest choice.
    """

    name: str
    symbols: tuple[str, ...]
    questions: NDArray[np.int8]
    item: NDArray[np.int64]
    position: NDArray[np.int64]
    question: NDArray[np.int64]
    features: pa.Table
    share: float | None = None
    whole: bool = False

    def __str__(self) -> str:
        return self.name


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
        contrasts: The ordered pairs of labels that count.
        index: Each item's position in the full expansion, (items,) int64.
        sentences: One string column per label, in label order, (items, labels).
        features: One column per feature, (items, features).
        predictions: What counts instead, where regions are compared.
        regions: For predictions, the number of words of each region: one list column per label, in label
            order, (items, labels).
        choices: What counts instead, where single symbols are predicted; such a case has one label.
    """

    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    contrasts: tuple[Contrast, ...]
    index: pa.Int64Array
    sentences: pa.Table
    features: pa.Table
    predictions: tuple[Prediction, ...] = ()
    regions: pa.Table | None = None
    choices: Choices | None = None

    def __repr__(self) -> str:
        return shown(self, self.name, counted(self.n_items, "item"), counted(self.n_verdicts, "verdict"))

    @property
    def labels(self) -> tuple[str, ...]:
        """Sentence labels, in order."""
        return tuple(self.sentences.column_names)

    def regions_of(self, label: str) -> list[list[int]]:
        """Give the number of words of each region of each sentence under a label."""
        assert self.regions is not None
        return [list(lengths or ()) for lengths in self.regions[label].to_pylist()]

    @property
    def n_items(self) -> int:
        """Number of items held."""
        return len(self.index)

    @property
    def n_verdicts(self) -> int:
        """Number of verdicts that a run will hold."""
        if self.choices is not None and not self.choices.whole:
            return len(self.choices.item)
        n_questions = len(self.contrasts) + len(self.predictions) + (self.choices is not None)
        return self.n_items * n_questions

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Features of the verdicts."""
        own = () if self.choices is None or self.choices.whole else self.choices.features.column_names
        return (*self.features.column_names, *own)

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


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, ordered collection of cases.

    Attributes:
        name: Short name, used in file names (`marvin_linzen`).
        title: As a reader would cite it.
        source: Reference of the published set, or None.
        terminator: Token appended to every sentence before scoring (`.`), or None.
        score: What the published method compares (`sentence`, `ending`); a run may choose another.
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
    score: str = "sentence"

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
