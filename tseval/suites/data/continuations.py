"""Continuations of prefixes, and two targets after two contexts: log P(continuation | prefix) is compared.

A pair has two continuations of one prefix, or one continuation of two (COMPS, Misra et al. 2023, EACL). Where
two contexts and two targets are given (EWoK, Ivanova et al. 2024), each target should be more probable after
its own context than after the other one:

    target 1:  log P(T1 | C1) > log P(T1 | C2)
    target 2:  log P(T2 | C2) > log P(T2 | C1)

EWoK's accuracy is the mean of the two rows. Departure: a tie is wrong, and there half right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.errors import SuiteError
from tseval.formats import stem_of
from tseval.questions.regions import Prediction, Regions
from tseval.suites.data.entries import DataItem, build_cases
from tseval.suites.data.pairs import ROW_NAMES, features_of, read_records, table_row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case
    from tseval.questions import Question
    from tseval.suites.data.pairs import DataRecord


# How the columns are called: the prefix of each continuation, then the continuation, the better one first.
PREFIXED = (
    (("prefix", "good"), ("prefix", "bad")),
    (("prefix_acceptable", "property_phrase"), ("prefix_unacceptable", "property_phrase")),
)
CONTEXT_COLUMNS = ("Context1", "Context2", "Target1", "Target2")
# Cells that stay texts where a table holds them.
TEXTS = {*CONTEXT_COLUMNS, *ROW_NAMES, *(name for form in PREFIXED for one in form for name in one)}
CONTEXT_FEATURES = ("ConceptA", "ConceptB", "ContextType", "ContextDiff", "TargetDiff")
CONTEXT_PREDICTIONS = (
    Prediction("target 1", "(2;%context 1, target 1%) < (2;%context 2, target 1%)"),
    Prediction("target 2", "(2;%context 2, target 2%) < (2;%context 1, target 2%)"),
)
PREFERS_GOOD = (Prediction("good > bad", "(2;%good%) < (2;%bad%)"),)


def form_of(columns: Collection[str]) -> str | None:
    """Say which reader takes records with these columns: `continuations`, `contexts`, or neither."""
    if set(CONTEXT_COLUMNS) <= set(columns):
        return "contexts"
    return "continuations" if _columns(columns) else None


def read_continuations(paths: Sequence[Path]) -> tuple[Case, ...]:
    """Read pairs of continuations; other columns as `tseval.suites.data.pairs` has them.

    Raises:
        SuiteError: A record lacks a column, or a value is of the wrong kind.
    """
    return build_cases(_pairs(paths), ask_continuations(PREFERS_GOOD))


def read_contexts(paths: Sequence[Path]) -> tuple[Case, ...]:
    """Read contexts and targets under EWoK's names; each `Domain` is a row of the table, or each file.

    Raises:
        SuiteError: A record lacks a column, or a value is of the wrong kind.
    """
    return build_cases(_crossed(paths), ask_continuations(CONTEXT_PREDICTIONS))


def ask_continuations(predictions: tuple[Prediction, ...]) -> Callable[[Sequence[DataItem]], Question]:
    """Give what asks entries for their continuations, each region 2 behind its beginning, region 1."""

    def ask(entries: Sequence[DataItem]) -> Question:
        lengths = {
            label: [
                (entry.beginnings[label], len(entry.sentences[label].split()) - entry.beginnings[label])
                for entry in entries
            ]
            for label in entries[0].sentences
        }
        kind = pa.list_(pa.int64())
        return Regions(predictions, pa.table({label: pa.array(own, kind) for label, own in lengths.items()}))

    return ask


def join_texts(place: str, prefix: str, continuation: str) -> tuple[str, int]:
    """Write a prefix and its continuation as one text, with the number of words of the prefix.

    Raises:
        SuiteError: The continuation has no words.
    """
    if not continuation.split():
        raise SuiteError(f"{place}: there is a continuation without words")
    return f"{prefix} {continuation}", len(prefix.split())


def text_of(place: str, record: DataRecord, column: str) -> str:
    """Take a text from a record.

    Raises:
        SuiteError: There is no such column, or it holds no text.
    """
    if column not in record:
        raise SuiteError(f"{place}: there is no {column!r}, but {', '.join(map(repr, record))}")
    text = record[column]
    if not isinstance(text, str):
        raise SuiteError(f"{place}: {column} is no text, but {text!r}")
    return text


def _columns(columns: Collection[str]) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """Find what the prefix and the continuation of each label are called."""
    return next((pair for pair in PREFIXED if {name for one in pair for name in one} <= set(columns)), None)


def _pairs(paths: Sequence[Path]) -> Iterator[DataItem]:
    for path in paths:
        for place, record in read_records(path, TEXTS):
            pair = _columns(record)
            if pair is None:
                found = ", ".join(map(repr, record))
                raise SuiteError(
                    f"{place}: no prefix with two continuations: there are {found}.\n"
                    "  Call the columns prefix, good and bad."
                )
            parts = {
                label: (text_of(place, record, before), text_of(place, record, after))
                for label, (before, after) in zip(("good", "bad"), pair, strict=True)
            }
            apart = {name for one in pair for name in one} | {*ROW_NAMES}
            features = features_of(place, record, {name: name for name in record if name not in apart})
            row = table_row(record, stem_of(path), {name: name for name in ROW_NAMES if name in record})
            yield _entry(DataItem(place, row, {}, features), parts)


def _crossed(paths: Sequence[Path]) -> Iterator[DataItem]:
    # An item is asked about twice, and BabyLM's files hold each a second time, its halves exchanged.
    numbers: dict[frozenset[str], str] = {}
    for path in paths:
        for place, record in read_records(path, TEXTS):
            context, target = (
                [text_of(place, record, f"{what}{n}") for n in (1, 2)] for what in ("Context", "Target")
            )
            parts = {
                f"context {c}, target {t}": (context[c - 1], target[t - 1]) for t in (1, 2) for c in (1, 2)
            }
            name = str(record.get("Domain") or stem_of(path))
            features = {n: text_of(place, record, n) for n in CONTEXT_FEATURES if record.get(n) is not None}
            number = numbers.setdefault(frozenset((*context, *target)), str(len(numbers) + 1))
            row = (name, name, "Contexts and targets", None)
            yield _entry(DataItem(place, row, {}, features, {"item": number}), parts)


def _entry(item: DataItem, parts: Mapping[str, tuple[str, str]]) -> DataItem:
    """Fill in the sentences of an entry from their prefixes and continuations."""
    joined = {label: join_texts(item.place, *part) for label, part in parts.items()}
    sentences = {label: text for label, (text, _) in joined.items()}
    return replace(item, sentences=sentences, beginnings={label: n for label, (_, n) in joined.items()})
