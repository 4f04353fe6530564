"""Entries of a data set, one a line, and the cases they make up; what is kept while a set is read."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tseval.errors import SuiteError, counted
from tseval.formats import fits
from tseval.items import ENTRY, RESERVED_NAMES, Case, Feature, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs
from tseval.suites.data.roles import ROW_NAMES, text_in, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tseval.questions import Question, Score
    from tseval.suites.data.roles import DataRecord


# The phenomenon of every data set of agreement.
AGREEMENT = "Subject-verb agreement"
TableRow = tuple[str, str, str, str | None]


@dataclass(frozen=True, slots=True)
class DataItem:
    """One minimal set of a data set.

    Attributes:
        place: `file:line`, for messages.
        row: Case, construction, phenomenon and dependency.
        sentences: Label to sentence, the better ones first.
        features: Feature name to value; None for no text.
        entries: Lexical factor to what the item shares with others there; the same factors in a whole case.
        regions: Label to the regions of its sentence, each with its number of words; none where sentences are
            compared whole.
    """

    place: str
    row: TableRow
    sentences: Mapping[str, str]
    features: Mapping[str, Feature | None]
    entries: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set, read.

    Attributes:
        name: Short name, used in file names.
        title: As a reader would cite it.
        source: Reference, or None.
        score: What the published method compares, as in `--score`.
        cases: Its items.
        files: Name of each file to what was read of it, or why nothing was.
        notes: What a reader of the numbers should know of how it was read.
    """

    name: str
    title: str
    source: str | None
    score: Score
    cases: tuple[Case, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Reading:
    """What is read of files of one kind.

    Attributes:
        files: Each with what it is called in the set.
        name: Of the set.
        method: What to compare, where the set was published with several methods.
        how: What the user says of its tables (`tseval.suites.data.roles`).
        items: Path of a file to how many items came of it.
        notes: What a reader of the numbers should know.
        compared: Name of the region that is compared, where the user says it.
    """

    files: Mapping[Path, str]
    name: str
    method: str | None = None
    how: Mapping[str, str] = field(default_factory=dict)
    items: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    compared: str | None = None

    def build(
        self, entries: Iterable[DataItem], ask: Callable[[Sequence[DataItem]], Question] | None = None
    ) -> tuple[Case, ...]:
        """Gather entries into cases, counted file by file; without a question, sentences are compared."""
        found = list(entries)
        self.items.update(entry.place.rpartition(":")[0] for entry in found)
        return build_cases(found, ask or _all_pairs)


# A judgement before a sentence, as linguists write it.
_JUDGED = re.compile(r"\s*(\*|\?{1,2}\*?|#|%)\s*(?=\S)")


def are_marked(good: Iterable[str], bad: Sequence[str], places: Sequence[str], reading: Reading) -> bool:
    """Tell whether sentences begin with marks of judgement, to be taken off: every ungrammatical one has one.

    Args:
        good: The grammatical ones.
        bad: The ungrammatical ones.
        places: Of these, for messages.
        reading: What is told of it.

    Raises:
        SuiteError: Some ungrammatical sentences have a star, no grammatical one has, and some have no mark.
    """
    marked = [bool(_JUDGED.match(text)) for text in bad]
    if marked and all(marked):
        reading.notes.append(
            f"marks of judgement were taken off {counted(len(marked), 'ungrammatical sentence')}"
        )
        return True
    stars = [place for place, text in zip(places, bad, strict=True) if text.lstrip().startswith("*")]
    if stars and not any(text.lstrip().startswith("*") for text in good):
        bare = places[marked.index(False)]
        raise SuiteError(
            f"{stars[0]}: the ungrammatical sentence begins with *, but that of {bare} has no mark.\n"
            "  Put one before every ungrammatical sentence: then they are read as marks. Or take them out."
        )
    return False


def without_mark(text: str) -> str:
    """Take the mark of judgement off a sentence, if it has one.

    >>> without_mark("* the author laugh ."), without_mark("??the author laugh ."), without_mark("the author")
    ('the author laugh .', 'the author laugh .', 'the author')
    """
    return _JUDGED.sub("", text, count=1) if _JUDGED.match(text) else text


def _all_pairs(entries: Sequence[DataItem]) -> Question:
    """Ask whether every sentence is more probable than those after it."""
    return Pairs(tuple(Contrast(*labels) for labels in combinations(entries[0].sentences, 2)))


def build_cases(
    entries: Iterable[DataItem], ask: Callable[[Sequence[DataItem]], Question] = _all_pairs
) -> tuple[Case, ...]:
    """Gather entries into cases, in order of first appearance.

    Args:
        entries: Of all cases.
        ask: Gives what is asked about the entries of one case.
    """
    groups: dict[str, list[DataItem]] = {}
    for entry in entries:
        groups.setdefault(entry.row[0], []).append(entry)
    return tuple(_case(group, ask) for group in groups.values())


def first_places(texts: Iterable[str]) -> list[str]:
    """Give each text the number of the place where it stands first, from 1, so that equal ones share it."""
    places: dict[str, str] = {}
    return [places.setdefault(text, str(place)) for place, text in enumerate(texts, 1)]


def _case(entries: Sequence[DataItem], ask: Callable[[Sequence[DataItem]], Question]) -> Case:
    first = entries[0]
    for entry in entries:
        _refuse_unlike(entry, first)
    name, construction, phenomenon, dependency = first.row
    labels = tuple(first.sentences)
    sentences = {label: [_clean(entry, label) for entry in entries] for label in labels}
    features = {feature: _column(feature, entries) for feature in first.features}
    return Case(
        name=name,
        construction=construction,
        phenomenon=phenomenon,
        dependency=dependency,
        question=ask(entries),
        index=pa.array(range(len(entries)), pa.int64()),
        sentences=pa.table({label: pa.array(texts, pa.string()) for label, texts in sentences.items()}),
        features=pa.table(features),
        entries=pa.table(
            {factor: as_entries([e.entries[factor] for e in entries]) for factor in first.entries}
        ),
    )


def features_of(place: str, record: DataRecord, columns: Mapping[str, str]) -> dict[str, Feature | None]:
    """Give the features of a record.

    Args:
        place: `file:line`, for messages.
        record: It.
        columns: Feature to column.
    """
    features: dict[str, Feature | None] = {}
    for feature, name in columns.items():
        value = record[name]
        if not isinstance(value, str | int | float | None):
            raise SuiteError(
                f"{place}: {name} is {value!r}.\n"
                "  A feature is a text, a number, true or false; leave others out."
            )
        features[feature] = value  # some sets say null
    return features


def table_row(record: DataRecord, stem: str, columns: Mapping[str, str]) -> TableRow:
    """Say where a record stands in the table; what is not said is taken from the next wider name.

    Args:
        record: It.
        stem: Of its file.
        columns: Each of `ROW_NAMES` that there is to its column.
    """
    case, construction, phenomenon, dependency = (
        text_in(value_of(record, columns.get(name))) or None for name in ROW_NAMES
    )
    case = case or stem
    return case, construction or case, phenomenon or stem, dependency


def split_rows(rows: Sequence[TableRow], named: Sequence[bool]) -> list[TableRow]:
    """Cut a case of several phenomena, and no constructions, into one for each.

    Args:
        rows: Of the records of a file.
        named: Whether each record names its phenomenon.
    """
    phenomena: dict[str, set[str]] = {}
    for row, own in zip(rows, named, strict=True):
        if own:
            phenomena.setdefault(row[0], set()).add(row[2])
    return [
        (f"{row[0]}_{row[2]}", *row[1:]) if len(phenomena.get(row[0], ())) > 1 and row[0] == row[1] else row
        for row in rows
    ]


def _refuse_unlike(entry: DataItem, first: DataItem) -> None:
    """Hold all entries of a case to the names of its first one."""
    for what, mine, theirs in (
        ("row of the table", entry.row, first.row),
        ("labels", list(entry.sentences), list(first.sentences)),
        ("features", list(entry.features), list(first.features)),
    ):
        if mine != theirs:
            raise SuiteError(
                f"{entry.place}: {what} {mine!r}, but {theirs!r} in {first.place}.\n"
                f"  All items of the case {first.row[0]!r} need the same."
            )
    if reserved := [name for name in entry.features if name in RESERVED_NAMES or name.endswith(ENTRY)]:
        raise SuiteError(
            f"{entry.place}: {min(reserved)!r} is no name for a feature: tables use it.\n"
            f"  Rename it, or leave it out: --columns ignore={min(reserved)}."
        )


def _clean(entry: DataItem, label: str) -> str:
    """Give a sentence with single spaces between its words."""
    words = entry.sentences[label].split()
    if not words:
        raise SuiteError(f"{entry.place}: the {label} sentence has no words")
    return " ".join(words)


def _column(feature: str, entries: Sequence[DataItem]) -> pa.Array[Any]:
    """Type a feature: all its values are texts, whole numbers, numbers or truth values."""
    values = _filled(feature, entries)
    kinds = {type(value) for value in values}
    for entry, value in zip(entries, values, strict=True) if int in kinds else ():
        if isinstance(value, int) and not fits(value):
            raise SuiteError(
                f"{entry.place}: {feature} is {value}, but a whole number has at most 64 bits.\n"
                "  Put it in quotes: then it is a text."
            )
    if kinds == {int, float}:
        return pa.array(map(float, values), pa.float64())
    if len(kinds) > 1:
        other = next(entry for entry in entries if type(entry.features[feature]) is not type(values[0]))
        raise SuiteError(
            f"{other.place}: {feature} is {other.features[feature]!r}, but {values[0]!r} in "
            f"{entries[0].place}.\n  Give a feature values of one type."
        )
    return pa.array(
        values, {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}[kinds.pop()]
    )


def _filled(feature: str, entries: Sequence[DataItem]) -> list[Feature]:
    """Give the values of a feature; no text is the empty one, as in a table."""
    values = [entry.features[feature] for entry in entries]
    texts = all(value is None or isinstance(value, str) for value in values)
    for entry, value in zip(entries, values, strict=True) if not texts else ():
        if value is None:
            raise SuiteError(
                f"{entry.place}: {feature} is None.\n"
                "  Give a feature of numbers, true or false a value in every item of the case."
            )
    return ["" if value is None else value for value in values]
