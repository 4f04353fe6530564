"""The items of a data set as read from files, and the cases that they form."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from tseval.errors import SuiteError, counted
from tseval.formats import fits
from tseval.items import ENTRY, NOT_FEATURES, Case, Feature, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs
from tseval.questions.regions import Regions
from tseval.suites.data.roles import ROW_NAMES, text_in, value_of
from tseval.writing import single_spaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.questions import Question, Score
    from tseval.questions.regions import Prediction
    from tseval.suites.data.roles import DataRecord


# The phenomenon of all agreement data sets.
AGREEMENT = "Subject-verb agreement"
TableRow = tuple[str, str, str, str | None]


@dataclass(frozen=True, slots=True)
class DataItem:
    """One minimal set of a data set."""

    place: str  # `file:line`, for messages
    row: TableRow  # case, construction, phenomenon and dependency
    sentences: Mapping[str, str]  # by label, the better ones first
    features: Mapping[str, Feature | None]  # None if the value is missing
    # Lexical factor to the entry that the item shares with others; all items of a case have the same factors.
    entries: Mapping[str, str] = field(default_factory=dict)
    # Label to the regions of its sentence with their word counts; empty if whole sentences are compared.
    regions: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set that has been read."""

    name: str  # short, used in file names
    title: str  # the name for a citation
    source: str | None  # its reference
    score: Score  # the default score: the published method
    cases: tuple[Case, ...]
    files: Mapping[str, str] = field(default_factory=dict)  # name to what was read, or why nothing was read
    notes: tuple[str, ...] = ()  # notes for the user on how the set was read


@dataclass(slots=True)
class TableReading:
    """The input, options and results of reading files of one kind."""

    files: Mapping[Path, str]  # path to the file's name in the set
    name: str  # name of the set
    method: str | None = None  # the method to use, if the set was published with several
    options: Mapping[str, str] = field(default_factory=dict)  # the user's `--columns` (`roles.py`)
    items: Counter[str] = field(default_factory=Counter)  # path of a file to its number of items
    notes: list[str] = field(default_factory=list)  # notes for the user
    compared: str | None = None  # name of the compared region, if the user states it
    predictions: tuple[Prediction, ...] = ()  # for continuations; empty for good > bad
    unused: dict[str, list[str]] = field(default_factory=dict)  # path of a file to columns without a role

    def build(
        self, entries: Iterable[DataItem], ask: Callable[[Sequence[DataItem]], Question] | None = None
    ) -> tuple[Case, ...]:
        """Group entries into cases, in order of first appearance, and count the items of each file.

        Without `ask`, every sentence of an entry is compared with those after it.
        """
        groups: dict[str, list[DataItem]] = {}
        for entry in self._with_features(entries):
            self.items[entry.place.rpartition(":")[0]] += 1
            groups.setdefault(entry.row[0], []).append(entry)
        ask_group = ask or (
            lambda entries_of_case: Pairs(
                tuple(Contrast(*labels) for labels in combinations(entries_of_case[0].sentences, 2))
            )
        )
        return tuple(_case(group, ask_group) for group in groups.values())

    def _with_features(self, entries: Iterable[DataItem]) -> Iterator[DataItem]:
        """Leave out columns with values that cannot be features, such as times and lists, and add a note."""
        all_entries = list(entries)
        values: list[tuple[str, Any]] = [
            feature for entry in all_entries for feature in entry.features.items()
        ]
        unfit = {name: value for name, value in values if isinstance(value, Unfit)}
        if unfit:
            descriptions = ", ".join(f"{name} ({value.kind})" for name, value in unfit.items())
            self.notes.append(f"columns left out, which are neither text nor numbers: {descriptions}")
        for entry in all_entries:
            features = {name: value for name, value in entry.features.items() if name not in unfit}
            yield replace(entry, features=features) if len(features) < len(entry.features) else entry


@dataclass(frozen=True, slots=True)
class Unfit:
    """A value of a table that cannot be a feature."""

    kind: str  # name of its Python type


# A linguist's mark of judgement before a sentence.
_JUDGED = re.compile(r"\s*(\*|\?{1,2}\*?|#|%)\s*(?=\S)")


def are_marked(good: Iterable[str], bad: Sequence[str], places: Sequence[str], reading: TableReading) -> bool:
    """Return whether every ungrammatical sentence begins with a mark of judgement, which must be removed.

    `places` are the places of the ungrammatical sentences. If some of them have a star, others have no mark,
    and no grammatical sentence has a star, the marks are an error.
    """
    marked = [bool(_JUDGED.match(text)) for text in bad]
    if marked and all(marked):
        reading.notes.append(
            f"tseval removed marks of judgement from {counted(len(marked), 'ungrammatical sentence')}"
        )
        return True
    stars = [place for place, text in zip(places, bad, strict=True) if text.lstrip().startswith("*")]
    if stars and not any(text.lstrip().startswith("*") for text in good):
        other_place = places[marked.index(False)]
        raise SuiteError(
            f"{stars[0]}: this ungrammatical sentence begins with the mark *, but the one at {other_place} "
            "does not.\n"
            "  Put * before every ungrammatical sentence, or delete all these marks."
        )
    return False


def without_mark(text: str) -> str:
    """Return a sentence without its mark of judgement, if it has one.

    >>> without_mark("* the author laugh ."), without_mark("??the author laugh ."), without_mark("the author")
    ('the author laugh .', 'the author laugh .', 'the author')
    """
    return _JUDGED.sub("", text, count=1) if _JUDGED.match(text) else text


def first_places(texts: Iterable[str]) -> list[str]:
    """Assign each text the number of its first occurrence, from 1, so that equal texts share a number."""
    places: dict[str, str] = {}
    return [places.setdefault(text, str(number)) for number, text in enumerate(texts, 1)]


def _case(entries: Sequence[DataItem], ask: Callable[[Sequence[DataItem]], Question]) -> Case:
    first = entries[0]
    for entry in entries:
        _refuse_unlike(entry, first)
    name, construction, phenomenon, dependency = first.row
    labels = tuple(first.sentences)
    sentences = {
        label: pa.array([_clean(entry, label) for entry in entries], pa.string()) for label in labels
    }
    features = {feature: _column(feature, entries) for feature in first.features}
    return Case(
        name=name,
        construction=construction,
        phenomenon=phenomenon,
        dependency=dependency,
        question=ask(entries),
        index=pa.array(range(len(entries)), pa.int64()),
        sentences=pa.table(sentences),
        features=pa.table(features),
        entries=pa.table(
            {factor: as_entries([e.entries[factor] for e in entries]) for factor in first.entries}
        ),
    )


def features_of(place: str, record: DataRecord, columns: Mapping[str, str]) -> dict[str, Feature | None]:
    """Return the features of a record. `place` is for messages; `columns` maps features to columns."""
    features: dict[str, Feature | None] = {}
    for feature, name in columns.items():
        value: Any = record.get(name)
        if isinstance(value, float) and isnan(value):
            value = None
        # Some sets write null. Values that cannot be features are removed later (`TableReading.build`).
        fits_in = isinstance(value, str | int | float | None)
        features[feature] = value if fits_in else cast("Feature", Unfit(type(value).__name__))
    return features


def table_row(record: DataRecord, stem: str, columns: Mapping[str, str]) -> TableRow:
    """Return the row of a record in the results table.

    A missing case or phenomenon is the file's name; a missing construction is the case.
    """
    case, construction, phenomenon, dependency = (
        text_in(value_of(record, columns.get(name))) or None for name in ROW_NAMES
    )
    case = case or stem
    return case, construction or case, phenomenon or stem, dependency


def split_rows(rows: Sequence[TableRow], has_phenomenon: Sequence[bool]) -> list[TableRow]:
    """Split cases with several phenomena but no constructions into one case per phenomenon."""
    phenomena: dict[str, set[str]] = {}
    for row, is_named in zip(rows, has_phenomenon, strict=True):
        if is_named:
            phenomena.setdefault(row[0], set()).add(row[2])
    return [
        (f"{row[0]}_{row[2]}", *row[1:]) if len(phenomena.get(row[0], ())) > 1 and row[0] == row[1] else row
        for row in rows
    ]


def _refuse_unlike(entry: DataItem, first: DataItem) -> None:
    for kind, value, first_value in (
        ("case, construction, phenomenon and dependency", entry.row, first.row),
        ("labels", list(entry.sentences), list(first.sentences)),
        ("features", list(entry.features), list(first.features)),
    ):
        if value != first_value:
            raise SuiteError(
                f"{entry.place}: the {kind} of this item are {value!r}, but those of {first.place} are "
                f"{first_value!r}.\n"
                f"  Give all items of the case {first.row[0]!r} the same {kind}."
            )
    if reserved := [name for name in entry.features if name in NOT_FEATURES or name.endswith(ENTRY)]:
        raise SuiteError(
            f"{entry.place}: a feature cannot have the name {min(reserved)!r}, because "
            "tseval's own tables have a column of this name.\n"
            f"  Rename the column of your file, or leave it out: --columns ignore={min(reserved)}."
        )


def _clean(entry: DataItem, label: str) -> str:
    text = entry.sentences[label]
    if not text.strip():
        raise SuiteError(
            f"{entry.place}: the {label} sentence has no words.\n  Write the sentence, or remove the row."
        )
    clean = single_spaced(text)
    return text if clean == text else clean  # keep one copy of a million sentences, not two


def _column(feature: str, entries: Sequence[DataItem]) -> pa.Array[Any]:
    """Return a feature as a typed column: texts, whole numbers, numbers or truth values."""
    values = [entry.features[feature] for entry in entries]
    kinds = {type(value) for value in values}
    if kinds <= {str, type(None)}:  # a missing text becomes an empty text, as in a table
        return pa.array([value or "" for value in values], pa.string())
    present_values = [value for value in values if value is not None]  # a number may be missing
    kinds.discard(type(None))
    for entry, value in zip(entries, values, strict=True):
        if isinstance(value, int) and not fits(value):
            raise SuiteError(
                f"{entry.place}: the value of {feature!r} is {value}, but tseval stores whole numbers of "
                "at most 64 bits.\n  Put the number in quotes, so that tseval stores it as text."
            )
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if len(kinds) > 1:
        with_value = [entry for entry in entries if entry.features[feature] is not None]
        other = next(
            entry for entry in with_value if type(entry.features[feature]) is not type(present_values[0])
        )
        other_value, earlier = other.features[feature], present_values[0]
        raise SuiteError(
            f"{other.place}: the value of {feature!r} is {other_value!r} here, but "
            f"{earlier!r} at {with_value[0].place}: text and numbers are mixed.\n"
            f"  Write only text, or only numbers, in the column {feature!r}."
        )
    return pa.array(values, {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}[kinds.pop()])


def data_set(reading: TableReading, cases: tuple[Case, ...]) -> DataSet:
    """Return a set of cases. Its name is the name of its file, unless the user names it."""
    regions = any(isinstance(case.question, Regions) for case in cases)
    return DataSet(reading.name, reading.name, None, "regions" if regions else "sentence", cases)
