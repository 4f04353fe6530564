"""Read the sentences in the rows of a table, with their regions, before they become items."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, quoted_text
from tseval.formats import whole_number
from tseval.suites.data.alternatives import SEVERAL_WORDS
from tseval.suites.data.candidates import filled, fills
from tseval.suites.data.designs import as_name, read_template, template_of
from tseval.suites.data.entries import features_of, table_row, without_mark
from tseval.suites.data.joining import BY_SCRIPT, join_of, join_parts
from tseval.suites.data.readings import follows, refuse_between, refuse_names
from tseval.suites.data.records import read_records
from tseval.suites.data.roles import SUFFIX, fillers, item_and_condition, running_text, text_in, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Feature
    from tseval.suites.data.entries import TableRow
    from tseval.suites.data.roles import DataRecord, Header

    Pieces = tuple[tuple[str, str], ...]  # names and texts of regions


ALTERNATING = {"alternating": (False, True), "alternating-good-first": (True, False)}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that will be part of an item."""

    place: str  # `file:row`
    row: TableRow
    pieces: Pieces  # its regions, in order
    item: str  # the item of the sentence
    condition: str  # may be empty
    label: str  # grammaticality as the table writes it; may be empty
    features: Mapping[str, Feature | None]  # features of its row
    join: str = "auto"  # how its regions are joined (`joining.py`)

    @property
    def text(self) -> str:
        """The whole sentence."""
        return join_parts([text for _, text in self.pieces], self.join)

    @property
    def judged(self) -> str:
        """The text that may begin with a mark of judgement: the sentence, or the continuation of a prefix."""
        return self.pieces[-1][1] if self.pieces[0][0] == "prefix" else self.text

    def unmarked(self) -> Sentence:
        """Return the sentence without its mark of judgement."""
        index = len(self.pieces) - 1 if self.pieces[0][0] == "prefix" else 0
        name, text = self.pieces[index]
        return replace(
            self, pieces=(*self.pieces[:index], (name, without_mark(text)), *self.pieces[index + 1 :])
        )


def layout_of(columns: Header) -> str | None:
    """Return the layout that the user states or the roles of the columns imply, or None."""
    if "layout" in columns.options:
        return "alternating" if columns.options["layout"] in ALTERNATING else "regions"
    if "fill" not in columns.options and (columns.of("candidates") or fills(columns)):
        return "candidates"
    if _is_words(columns):
        return "words"
    if columns.of("sentence") or columns.of("target"):
        return "sentences"
    return "regions" if template_of(columns) else None


def _is_words(columns: Header) -> bool:
    """Check whether a row holds one word of a sentence, not a sentence with one of its words."""
    if columns.of("word") is None or not (columns.of("item") or columns.of("number")):
        return False
    several = " " in text_in(columns.first.get(columns.of("sentence") or ""))
    return not several or columns.of("order") is not None or columns.of("region") is not None


def sentences_in(file: Path, stem: str, columns: Header, apart: bool = False) -> list[Sentence]:
    """Return the sentences of a file, each with its regions, before they become items.

    If each row is a word and `apart` is set, each word is a region, named after its place.
    """
    layout = layout_of(columns)
    if layout is None or layout == "candidates":
        raise columns.unknown()
    records = read_records(
        file, columns.names if layout == "regions" else columns.of_items(), columns.options
    )
    if layout == "words":
        return list(_of_words(records, columns, stem, apart))
    if layout == "regions":
        return list(_of_template(records, columns, stem))
    return list(_of_rows(records, columns, stem))


def _of_rows(records: Iterable[tuple[str, DataRecord]], columns: Header, stem: str) -> Iterator[Sentence]:
    """Yield the sentence of every row; if a column gives its critical word, split it into regions."""
    before = "+".join(filter(None, (columns.of("context"), columns.of("prefix")))) or None
    sentence = columns.of("sentence") or columns.of("target")
    if target := follows(columns):
        before, sentence = sentence, target
    critical = columns.of("critical")
    refuse_names(columns, columns.of("context"))
    fill = (
        fillers(columns.options["fill"], columns.place, columns.names) if "fill" in columns.options else None
    )
    join = join_of(columns.options)
    refuse_between(columns, before, sentence)
    make = _maker(columns, stem, sentence, before, critical, fill and fill[0])
    for place, record in records:
        text = running_text(record, sentence or "", join)
        if fill is not None:
            text = filled(place, text, record, *fill)
        if not text:
            raise SuiteError(
                f"{place}: the cell in the column {sentence!r} has no sentence.\n"
                "  Write the sentence in this cell, or remove the row."
            )
        pieces: Pieces = (("", text),)
        if before is not None:
            if SEVERAL_WORDS.search(text):
                raise SuiteError(
                    f"{place}: the column {sentence!r} has several words with | between them, "
                    f"but may have only one: {quoted_text(text, 60)}.\n  Write one word."
                )
            pieces = (("prefix", running_text(record, before)), ("continuation", text))
        elif critical is not None:
            pieces = _cut(place, text, text_in(record.get(critical)), critical)
            yield replace(make(place, record, pieces), join="space")  # restores the original text
            continue
        yield make(place, record, pieces)


def _roles_of(columns: Header) -> tuple[str | None, str | None, str | None]:
    return columns.of("item"), columns.of("condition"), columns.of("label")


def _maker(columns: Header, stem: str, *used: str | None) -> Callable[..., Sentence]:
    """Return a function that makes a sentence of a record and its pieces; `used` columns are not features."""
    roles, rows, join = _roles_of(columns), columns.rows(spelt=True), join_of(columns.options)
    condition = columns.given.get("condition", "")
    suffixed = condition.removesuffix(SUFFIX) if condition.endswith(SUFFIX) else None
    features = columns.features(filter(None, [*used, *roles]), spelt=True)

    def make(place: str, record: DataRecord, pieces: Pieces, differ: Collection[str] = ()) -> Sentence:
        item, condition, label = (text_in(value_of(record, name)) for name in roles)
        if suffixed is not None:
            item, condition = item_and_condition(place, text_in(record.get(suffixed)))
        if roles[0] is not None and not item:
            raise SuiteError(
                f"{place}: the cell in the column {roles[0]!r} names no item.\n"
                "  Write the item in this cell, or remove the row."
            )
        feature_columns = {feature: name for feature, name in features.items() if name not in differ}
        feature_values = features_of(place, record, feature_columns)
        row = table_row(record, stem, rows)
        return Sentence(place, row, pieces, item, condition, label, feature_values, join)

    return make


def _cut(place: str, text: str, critical: str, column: str) -> Pieces:
    """Split a sentence around its critical words, which are given as text or as a number from 1."""
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    words = text.split()
    if critical.isdecimal():
        start, length = int(critical) - _counts_from(column), 1
    else:
        critical_words = critical.split()
        starts = [
            index
            for index in range(len(words))
            if words[index : index + len(critical_words)] == critical_words
        ]
        if critical_words and len(starts) > 1:
            raise SuiteError(
                f"{place}: {column} is {quoted_text(critical, 40)}, which stands {len(starts)} times in "
                f"{quoted_text(text, 60)}.\n  Write the number of the word, from 1."
            )
        start, length = (starts[0], len(critical_words)) if critical_words and starts else (-1, 1)
    if not 0 <= start < len(words):
        raise SuiteError(
            f"{place}: the column {column!r} has {quoted_text(critical, 40)}, which is no word of the "
            f"sentence {quoted_text(text, 60)}.\n"
            f"  Write the word or its number (the first is 1), or add --columns ignore={column}."
        )
    begin, end = spans[start][0], spans[start + length - 1][1]
    # Joining restores ordinary spaces. Other spaces stay at the end or start of a piece.
    parts = ("before", text[:begin]), ("critical", text[begin:end]), ("after", text[end:])
    return tuple((name, part.strip(" ")) for name, part in parts)


def _counts_from(column: str) -> int:
    """Return the number of the first word in a column of critical words: 1, or 0 if its name says so."""
    return 0 if "0idx" in column.lower() else 1


def numbered_note(columns: Header, sentences: Sequence[Sentence]) -> str | None:
    """Return a note on the word that a number means, because numbers may start at 0 or 1; else None."""
    column = columns.of("critical")
    word = next(
        (text for sentence in sentences[:1] for name, text in sentence.pieces if name == "critical"), None
    )
    if column is None or word is None or not text_in(columns.first.get(column)).isdecimal():
        return None
    return f"{column} counts words from {_counts_from(column)}: in the first row it means {word!r}"


def _of_words(
    records: Iterable[tuple[str, DataRecord]], columns: Header, stem: str, apart: bool = False
) -> Iterator[Sentence]:
    """Yield sentences, each from the rows of its words; neighbouring words of one region are joined."""
    word, region, order, number = (columns.of(role) for role in ("word", "region", "order", "number"))
    roles, rows = _roles_of(columns), columns.rows(spelt=True)
    keys = [number] if roles[0] is None else [*roles]
    make = _maker(columns, stem, word, region, order, number)
    sentences: dict[tuple[str, ...], list[tuple[str, DataRecord]]] = {}
    for place, record in records:
        key = (*(text_in(value_of(record, name)) for name in keys), *table_row(record, stem, rows)[:3])
        sentences.setdefault(key, []).append((place, record))
    running: dict[str, int] = {}
    join = join_of(columns.options) if "join" in columns.options else BY_SCRIPT
    for words in sentences.values():
        if order is not None:
            words.sort(key=lambda pair: whole_number(pair[0], order, text_in(pair[1].get(order))))
        pieces: list[tuple[str, str]] = []
        for at, record in words:
            name = at if apart else text_in(value_of(record, region))
            if pieces and pieces[-1][0] == name:
                both = [pieces[-1][1], text_in(value_of(record, word))]
                pieces[-1] = (name, join_parts(both, join))
            else:
                pieces.append((name, text_in(value_of(record, word))))
        differing = {name for name in columns.names if len({str(row.get(name)) for _, row in words}) > 1}
        sentence = replace(make(*words[0], tuple(pieces), differing), join=join)
        if roles[0] is None:  # the nth sentence of each condition belongs to item n
            levels = f"{sentence.condition} {sentence.label}"
            running[levels] = running.get(levels, 0) + 1
            sentence = replace(sentence, item=str(running[levels]))
        yield sentence


def _of_template(records: Iterable[tuple[str, DataRecord]], columns: Header, stem: str) -> Iterator[Sentence]:
    """Yield the sentences of every row: one for each combination of alternatives, which is its condition."""
    slots = list(read_template(columns))
    parts = [name for _, alternatives, _ in slots for name, is_column in alternatives if is_column]
    if row_columns := [name for name in parts if columns.is_about_rows(name)]:
        raise SuiteError(
            f"{columns.place}: --layout uses the column {row_columns[0]!r} as a part of the sentence. "
            "But tseval reads a column of this name as the item, condition or case of a row.\n"
            f"  Take {row_columns[0]!r} out of --layout. If the column has words of the sentence, rename it."
        )
    used = {name for _, alternatives, _ in slots for name, is_column in alternatives if is_column}
    make = _maker(columns, stem, *used)
    for number, (place, record) in enumerate(records, 1):
        for choice in product(*(alternatives for _, alternatives, _ in slots)):
            pieces = tuple(
                (name, text_in(record.get(column)) if is_column else column)
                for (name, _, _), (column, is_column) in zip(slots, choice, strict=True)
            )
            sentence = make(place, record, pieces)
            slot_choices = zip(slots, choice, strict=True)
            choices = [as_name(column) for (_, many, _), (column, _) in slot_choices if len(many) > 1]
            condition = "_".join(filter(None, [sentence.condition, *choices]))
            yield replace(sentence, item=sentence.item or str(number), condition=condition)
