"""Entries of a data set, one a line, and the cases they make up."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tseval.errors import SuiteError
from tseval.formats import fits
from tseval.items import ENTRY, RESERVED_NAMES, Case, Feature, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tseval.questions import Question, Score


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
        beginnings: Label to how many words stand before what is asked about; none where sentences are whole.
    """

    place: str
    row: TableRow
    sentences: Mapping[str, str]
    features: Mapping[str, Feature | None]
    entries: Mapping[str, str] = field(default_factory=dict)
    beginnings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set, read.

    Attributes:
        name: Short name, used in file names.
        title: As a reader would cite it.
        source: Reference, or None.
        score: What the published method compares, as in `--score`.
        cases: Its items.
    """

    name: str
    title: str
    source: str | None
    score: Score
    cases: tuple[Case, ...]


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
            f"{entry.place}: {min(reserved)!r} is no name for a feature: tables use it.\n  Rename it."
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
