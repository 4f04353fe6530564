"""Items, cases and suites, the digest of a suite, and which items share words (clusters).

Items are stored as columns (Arrow tables), because a suite has hundreds of thousands of them.
`Case.items()` yields them one by one.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, as_html, counted, one_line, suggest
from tseval.files import limits
from tseval.questions import hash_column, named_columns
from tseval.writing import BOUNDARY, IN_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tseval.questions import Contrast, Question, Score
    from tseval.writing import Writing


Feature = str | int | float | bool

# Features of a question about the first words of a sentence: their number, and the last of them.
POSITION, WORD = "position", "word"
# Features of a rated sentence: the mean of its ratings, its standard error, and the number of ratings.
RATING, RATING_SE, N_RATINGS = "rating", "rating_se", "n"
# Suffix of the column of a lexical factor among the verdicts: `verb.entry`.
ENTRY = ".entry"
ENTRIES = pa.dictionary(pa.int32(), pa.string())
# The lexical factor of sentences that are scored in a context: the number of the context.
CONTEXT = "context"
# Columns of a verdict that are not features; no feature may take one of these names.
RESERVED_NAMES = frozenset(
    {"case", "item", "construction", "phenomenon", "dependency", "contrast"}
    | {"better_score", "worse_score", "correct", "tie", "undecidable"}
)
# A column that verdicts have only if a model knows one form of some pair (`tseval.questions.unknown`).
HALF_KNOWN = "half_known"
NOT_FEATURES = RESERVED_NAMES | {HALF_KNOWN}


@dataclass(frozen=True, slots=True)
class Item:
    """A minimal set: sentences that differ only as much as their labels require.

    Attributes:
        case: Name of the case the item belongs to.
        index: Position in the full expansion of the case, from 0; the same under `--limit` and `--sample`.
        sentences: Label to sentence, in the order of the labels.
        features: Feature name to value.
    """

    case: str
    index: int
    sentences: Mapping[str, str]
    features: Mapping[str, Feature]

    def __repr__(self) -> str:
        return one_line(self, f"{self.case}[{self.index}]", *self.sentences.values())

    def _repr_html_(self) -> str:
        rows = [*self.sentences.items(), *self.features.items()]
        return as_html(f"{self.case}[{self.index}]", ["", ""], rows)


@dataclass(frozen=True, slots=True)
class Case:
    """All items of one grammar or one data-set file.

    Cases with the same dependency, phenomenon and construction share a row of the table
    (`animate` and `inanimate` variants, for example), pooled by item.

    Attributes:
        name: Case id: the file name without its ending.
        construction: For example `Across an object RC`.
        phenomenon: For example `Subject-verb agreement`.
        dependency: `short`, `long`, another heading above the rows of a data set, or None.
        question: The question about every item.
        index: Each item's position in the full expansion, (items,) int64.
        sentences: One string column per label, in label order, (items, labels).
        features: One column per feature, (items, features).
        entries: One column per lexical factor, that is, a place of the sentence whose word varies. The value
            is the lexicon entry of the item there, in any form, or null. Items that share an entry are
            not independent. (items, factors), dictionary-encoded (`as_entries`).
    """

    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    question: Question
    index: pa.Int64Array
    sentences: pa.Table
    features: pa.Table
    entries: pa.Table = field(default_factory=lambda: pa.table({}))

    def __repr__(self) -> str:
        return one_line(self, self.name, counted(self.n_items, "item"), counted(self.n_verdicts, "verdict"))

    def _repr_html_(self) -> str:
        rows = [tuple(item.sentences[label] for label in self.labels) for item in islice(self.items(), 5)]
        return as_html(repr(self), self.labels, rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """Sentence labels, in order."""
        return tuple(self.sentences.column_names)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.index)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The ordered pairs of labels that are compared; empty for other kinds of questions."""
        return self.question.contrasts()

    @property
    def n_verdicts(self) -> int:
        """Number of verdicts of a run on this case."""
        return self.question.n_verdicts(self.n_items)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names by which verdicts can be grouped: features, then the columns of the lexical factors."""
        features = (column.name for column in (*self.features.schema, *self.question.feature_types()))
        return (*features, *(f"{name}{ENTRY}" for name in self.entries.column_names))

    def take(self, rows: Sequence[int]) -> Case:
        """Return the same case with only the items at the given positions."""
        if len(rows) == self.n_items:
            return self
        index = pa.array(rows, pa.int64())
        return replace(
            self,
            question=self.question.take(index),
            index=self.index.take(index),
            sentences=self.sentences.take(index),
            features=take_rows(self.features, index),
            entries=take_rows(self.entries, index),
        )

    def written(self, rules: Writing, terminator: str | None = None) -> Case:
        """Return the same case in natural text, as a model reads it, with the terminator."""
        end = "" if terminator is None else f" {terminator}"
        texts = {label: self.sentences[label].to_pylist() for label in self.labels}
        columns = {
            label: [rules.write(f"{text}{end}")[0] for text in column] for label, column in texts.items()
        }
        table = pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})
        return replace(self, sentences=table)

    def ended(self, terminator: str | None) -> Case:
        """Return the same case with the terminator at the end of every sentence."""
        if terminator is None:
            return self
        texts: list[Any] = [self.sentences[label] for label in self.labels]
        columns: list[Any] = [pc.binary_join_element_wise(column, terminator, " ") for column in texts]
        return replace(self, sentences=pa.table(columns, names=list(self.labels)))

    def as_text(self) -> Case:
        """Return the same case for people and other programs: without unwritten word boundaries."""
        columns: dict[str, Any] = {label: self.sentences[label] for label in self.labels}
        marked = [label for label in columns if pc.any(pc.match_substring(columns[label], BOUNDARY)).as_py()]
        if not marked:
            return self
        columns |= {label: pc.replace_substring(columns[label], BOUNDARY, "") for label in marked}
        return replace(self, sentences=pa.table(columns))

    def items(self) -> Iterator[Item]:
        """Yield the items one by one, in order."""
        for batch in range(0, self.n_items, 4096):
            indices = self.index[batch : batch + 4096].to_pylist()
            sentences = self.sentences.slice(batch, 4096).to_pylist()
            # A table without columns does not know its number of rows, so it cannot be sliced.
            has_features = self.features.num_columns > 0
            features = self.features.slice(batch, 4096).to_pylist() if has_features else [{}] * len(indices)
            for index, texts, values in zip(indices, sentences, features, strict=True):
                assert index is not None
                yield Item(self.name, index, texts, values)


def take_rows(table: pa.Table, rows: pa.Int64Array) -> pa.Table:
    """Take rows of a table; a table without columns has no row count and is returned as it is."""
    return table.take(rows) if table.num_columns else table


def as_entries(levels: Sequence[str | None]) -> pa.Array[Any]:
    """Make the column of a lexical factor from the entry of each item; an empty name becomes null."""
    return pa.array([level or None for level in levels], pa.string()).dictionary_encode()


def choose_rows(
    n_items: int, limit: int | None = None, sample: int | None = None, seed: int = 0
) -> Sequence[int]:
    """Choose items by position, in ascending order.

    First, a sample is drawn uniformly without replacement (all items, if there are fewer). Of these, the
    first `limit` are kept. The same seed gives the same items on every machine.
    """
    rows: Sequence[int] = range(n_items)
    if sample is not None and sample < n_items:
        # `random`, not numpy: Python promises that its stream stays the same. Not cryptography.
        rows = sorted(random.Random(seed).sample(rows, sample))  # noqa: S311 - of items, not of secrets
    return rows if limit is None else rows[:limit]


def first_too_long(sentences: pa.StringArray | pa.ChunkedArray[Any]) -> int:
    """Return the position of the first sentence over the length limit (slow to score), or -1."""
    beyond = pc.greater(pc.utf8_length(sentences), pa.scalar(limits().sentence_chars))
    return int(pc.index(beyond, pa.scalar(True)).as_py())


def refuse_unknown_cases(suite: str, known: Collection[str], cases: Sequence[str]) -> None:
    """Refuse names of cases that a suite does not have, and suggest the nearest name."""
    for name in cases:
        if name not in known:
            raise SuiteError(
                f"the suite {suite!r} has no case with the name {name!r}.\n  {suggest(name, known, 'Cases')}"
            )


@dataclass(frozen=True, slots=True)
class SuiteContexts:
    """Context texts before the sentences of a suite, such as 400 words of grammatical sentences.

    Attributes:
        source: Where the texts come from, in the user's words, such as `same` or `marvin_linzen#grammatical`.
        words: Length of each text in words, the same for all.
        seed: Random seed for the choice of the texts.
        each: Number of contexts that each item is scored in.
        texts: The sentences of each text, in order.
        writing: Rules for writing their tokens as natural text; None if they stay as they are.
        tokenise: Whether the words of a data set or a text file were split into Penn Treebank tokens.
        is_text: Whether the texts come from a text file, rather than from a suite.
    """

    source: str
    words: int
    seed: int
    each: int
    texts: tuple[tuple[str, ...], ...]
    writing: Writing | None = None
    tokenise: bool = False
    is_text: bool = False

    def __repr__(self) -> str:
        return one_line(self, self.source, counted(self.words, "word"), counted(len(self.texts), "text"))

    @property
    def digest(self) -> str:
        """SHA-256 of the texts."""
        return hashlib.sha256(json.dumps(self.texts).encode()).hexdigest()

    def describe(self) -> dict[str, str | int]:
        """Return the part of a run's protocol about contexts; equal parts mean equal contexts."""
        return {
            "context": self.source,
            "context_words": self.words,
            "context_seed": self.seed,
            "contexts": self.each,
            "context_digest": self.digest[:16],
        }


def number_contexts(sentences: pa.StringArray) -> tuple[NDArray[np.int64], pa.StringArray]:
    """Split sentences in contexts into the number of the context, (sentences,), and the sentence itself."""
    parts = pc.split_pattern(sentences, IN_CONTEXT, max_splits=1)
    numbers = pc.list_element(parts, 0).cast(pa.int64()).to_numpy()
    return numbers, cast("pa.StringArray", pc.list_element(parts, 1))


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, ordered collection of cases.

    Attributes:
        name: Short name, used in file names (`marvin_linzen`).
        title: Title for citations.
        source: Reference of the published set, or None.
        terminator: Token appended to every sentence before scoring (`.`), or None.
        score: The published method's score for comparing sentences; a run may choose another.
        digest: SHA-256 over everything that can change a score or a table row: labels, contrasts,
            row names, terminator, sentences and features, in order.
        complete: False under `--limit`, `--sample` or `--case`.
        clusters: Columns that the user named as clusters (`tseval.items`); empty if the suite's own
            clusters are used.
        inferred: The factor that was inferred because the data name no clusters (`critical`), or None.
        sample: How the items were sampled, such as `100 of each case, seed 0`, or None.
        seed: Random seed for the sentence of each item that a judgement shows; None if none is chosen.
        left_out: Names of cases to which the chosen task does not apply.
        writing: Rules for writing its tokens as natural text; None if its sentences are natural text already.
        columns: The user's description of its tables (`tseval.suites.data.roles`), or None.
        tokenise: Whether the words of its sentences were split into Penn Treebank tokens.
        exclude: The list of excluded items: `known-errors`, or the digest of another list; or None.
        excluded: The items on that list, by case and id.
        files: For data: file name to what was read from it, or why it was skipped.
        notes: Remarks about how files were read, which matter for the interpretation of the numbers.
        lexicon: If all verbs of a list are compared: each verb as `laughs laugh 732`, that is, singular form,
            plural form and frequency (0 if unknown). Otherwise None.
        context: Context texts before its sentences, or None. With contexts, each sentence begins with the
            number of its context and `IN_CONTEXT`. The digest is still that of the items alone.
    """

    name: str
    title: str
    source: str | None
    terminator: str | None
    cases: tuple[Case, ...]
    digest: str
    complete: bool = True
    score: Score = "sentence"
    clusters: tuple[str, ...] = ()
    inferred: str | None = None
    sample: str | None = None
    seed: int | None = None
    left_out: tuple[str, ...] = ()
    columns: Mapping[str, str] | None = None
    writing: Writing | None = None
    exclude: str | None = None
    excluded: tuple[tuple[str, str], ...] | None = None
    files: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    lexicon: tuple[str, ...] | None = None
    context: SuiteContexts | None = None
    tokenise: bool = False

    def __repr__(self) -> str:
        part = () if self.complete else ("a part",)
        return one_line(
            self, self.name, counted(len(self.cases), "case"), counted(self.n_items, "item"), *part
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                case.phenomenon,
                case.construction,
                case.name,
                f"{case.n_items:,}",
                case.sentences[case.labels[0]][0],
            )
            for case in self.cases
        ]
        return as_html(repr(self), ("phenomenon", "construction", "case", "items", "first sentence"), rows)

    @property
    def n_items(self) -> int:
        """Number of items over all cases."""
        return sum(case.n_items for case in self.cases)

    @property
    def has_accuracy(self) -> bool:
        """Whether its verdicts are right or wrong; verdicts on rated sentences are neither."""
        return all(case.question.right_or_wrong() for case in self.cases)

    @property
    def n_contrasts(self) -> int:
        """Number of verdicts of a run, over all cases."""
        return sum(case.n_verdicts for case in self.cases)


def suite_digest(terminator: str | None, cases: Sequence[Case]) -> str:
    """Hash everything that can change a score or a table row, in order.

    For each case, the hash covers a JSON line (row names, contrasts, column names and types), each column,
    and other data of the question. So the digest does not depend on how Arrow stores the columns.
    """
    digest = hashlib.sha256(json.dumps(["tseval suite 1", terminator]).encode())
    for case in cases:
        columns = [("item", case.index), *named_columns(case.sentences), *named_columns(case.features)]
        facts = [case.name, case.construction, case.phenomenon, case.dependency, case.n_items]
        kinds = [[name, str(column.type)] for name, column in columns]
        digest.update(json.dumps([facts, case.question.describe(), len(case.labels), kinds]).encode())
        for _, column in columns:
            hash_column(digest, column)
        case.question.hash_into(digest)
    return digest.hexdigest()


INDEPENDENT = "none"  # instead of columns: items share nothing


def cluster_by(suite: Suite, columns: Sequence[str]) -> Suite:
    """Set the columns that name clusters of dependent items, instead of the suite's own.

    The columns are features, or lexical factors of the suite. A case without a column is not clustered by it.
    `none` alone treats all items as independent. The digest does not change, because no score depends on
    this.
    """
    if not columns:
        return suite
    if tuple(columns) == (INDEPENDENT,):
        cases = tuple(replace(case, entries=_factors_of(case, ())) for case in suite.cases)
        return replace(suite, cases=cases, clusters=(INDEPENDENT,), inferred=None)
    if INDEPENDENT in columns:
        raise SuiteError(
            f"--cluster {INDEPENDENT} treats all items as independent, so no other --cluster can be "
            "added.\n"
            f"  Leave out the other --cluster options, or leave out --cluster {INDEPENDENT}."
        )
    columns_by_case = [[*case.features.column_names, *case.entries.column_names] for case in suite.cases]
    column_names = {name for names in columns_by_case for name in names}
    for name in columns:
        if name not in column_names:
            raise SuiteError(
                f"--cluster {name}: the items of the suite {suite.name!r} have no column with this name.\n"
                f"  {suggest(name, column_names, 'Columns')}"
            )
    clusters = dict.fromkeys(columns)
    cases = tuple(
        replace(case, entries=_factors_of(case, [name for name in clusters if name in names]))
        for case, names in zip(suite.cases, columns_by_case, strict=True)
    )
    for name in clusters if suite.complete else ():
        factors = [case.entries[name] for case in cases if name in case.entries.column_names]
        levels = {level for factor in factors for level in factor.unique().to_pylist()}
        if len(levels) == 1:
            raise SuiteError(
                f"--cluster {name}: all items have the same value in this column, {levels.pop()!r}, so "
                "there is only one cluster.\n"
                f"  Leave out --cluster {name}, or name another column."
            )
    return replace(suite, cases=cases, clusters=tuple(clusters), inferred=None)


def _factors_of(case: Case, names: Sequence[str]) -> pa.Table:
    """Return the chosen lexical factors of a case, and its contexts, which always count as random."""
    factors: dict[str, Any] = {name: _levels(case, name) for name in names}
    if CONTEXT in case.entries.column_names:
        factors[CONTEXT] = case.entries[CONTEXT]
    return pa.table(factors)


def _levels(case: Case, name: str) -> pa.Array[Any]:
    """Return the cluster of each item. If a factor and a feature have the same name, the factor is used."""
    if name in case.entries.column_names:
        return case.entries[name].combine_chunks()
    levels = as_entries(case.features[name].cast(pa.string()).to_pylist())
    if levels.null_count:
        item = case.index[pc.index(levels.is_null(), pa.scalar(True)).as_py()]
        raise SuiteError(
            f"case {case.name!r}, item {item}: the column {name!r} has no value, but --cluster needs one.\n"
            f"  Write a value into this column in every row, or leave out --cluster {name}."
        )
    return levels
