"""Candidates: words that fill the mask of a sentence or continue a prefix; one of them is right."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, quoted_text
from tseval.suites.data.continuations import continued
from tseval.suites.data.entries import DataItem, TableReading, features_of, table_row
from tseval.suites.data.joining import join_of
from tseval.suites.data.records import read_records
from tseval.suites.data.roles import PAIR_LABELS, text_in, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.suites.data.roles import DataRecord, Header


MASK = re.compile(r"\[MASK\]|\[BLANK\]|<mask>|<blank>|\*\*\*mask\*\*\*|_{2,}", re.IGNORECASE)


def fills(columns: Header) -> bool:
    """Check whether a pair of columns holds words for the mask in a third column."""
    pair, frame = columns.pair(), frame_of(columns)
    return pair is not None and frame is not None and frame not in pair


def frame_of(columns: Header) -> str | None:
    """Return the column of sentences with a mask; None if there is none."""
    name = columns.of("sentence")
    return name if name and MASK.search(text_in(columns.first.get(name))) else None


def read_candidates(file: Path, stem: str, columns: Header, reading: TableReading) -> Iterator[DataItem]:
    """Make pairs from candidates: the right one should be more probable than each other candidate."""
    frame, pair = frame_of(columns), None if columns.of("candidates") else columns.pair()
    before = frame or columns.of("prefix") or columns.of("context") or columns.of("sentence")
    if before is None:
        raise SuiteError(
            f"{columns.place}: the table has a column of candidates, but no column of sentences to put "
            "them in.\n"
            "  Name the column: --columns sentence=NAME (with [MASK]), or --columns prefix=NAME."
        )
    text_columns = [*pair] if pair else [str(columns.of("candidates"))]
    # If there is no such column, the name is a list of candidates for all rows.
    constant = None if text_columns[0] in columns.names else text_columns[0]
    answer, item = None if pair else columns.of("answer"), columns.of("item")
    rows = columns.rows(spelt=True)
    used = {before, *text_columns, *filter(None, [answer, item])}
    features = columns.features(used, spelt=True)
    records = list(read_records(file, {*used, *rows.values()}, reading.options))
    if pair:
        options = [(place, [text_in(record.get(name)) for name in pair]) for place, record in records]
    else:
        options = [
            (place, _options(place, record.get(text_columns[0], constant))) for place, record in records
        ]
    answers = None if answer is None else [text_in(record.get(answer)) for _, record in records]
    right = _right(options, answers, answer)
    if answers is None and not pair:
        reading.notes.append("tseval takes the first candidate as the right one")
    all_parts = zip(records, options, right, strict=True)
    for number, ((place, record), (_, texts), good) in enumerate(all_parts, 1):
        feature_values = features_of(place, record, features)
        shared = text_in(value_of(record, item)) or str(number)
        entry = DataItem(place, table_row(record, stem, rows), {}, feature_values, {"item": shared})
        sentence = text_in(record.get(before))
        gaps = list(MASK.finditer(sentence))
        if frame and len(gaps) != 1:
            raise SuiteError(
                f"{place}: the sentence {quoted_text(sentence)} has {len(gaps)} masks, but must have one.\n"
                "  Write [MASK] once in the sentence, where the candidates belong."
            )
        for wrong in (text for index, text in enumerate(texts) if index != good):
            texts_by_label = dict(zip(PAIR_LABELS, (texts[good], wrong), strict=True))
            if frame:
                start, end = gaps[0].span()
                filled = {
                    label: sentence[:start] + text + sentence[end:] for label, text in texts_by_label.items()
                }
                yield replace(entry, sentences=filled)
            else:
                parts = {label: (sentence, text) for label, text in texts_by_label.items()}
                yield continued(entry, parts, join_of(reading.options))


def _options(place: str, given: Json) -> list[str]:
    """Read candidates: a JSON list, a list as Python prints it, or a cell split at | ; / or commas."""
    options: Json = given
    if isinstance(given, str):
        text = given.strip()
        if text.startswith("["):
            try:
                options = json.loads(text)
            except ValueError:  # ['laughs', 'laugh'], as Python prints it
                options = [single or double for single, double in re.findall(r"'([^']*)'|\"([^\"]*)\"", text)]
        else:
            mark = next((mark for mark in "|;/," if mark in text), "|")
            options = [*text.split(mark)]
    texts = [text_in(option) for option in options] if isinstance(options, list) else []
    if len(texts) < 2 or not all(texts) or len({*texts}) < len(texts):
        raise SuiteError(
            f"{place}: the candidates are {quoted_text(str(given), 60)}, but there must be at least two "
            "different ones.\n"
            "  Write the candidates with | between them, as in: laughs|laugh."
        )
    return texts


def _right(
    options: Sequence[tuple[str, list[str]]], answers: Sequence[str] | None, column: str | None
) -> list[int]:
    """Return the index of each record's right candidate: the first one, or the one that the answer names."""
    if answers is None:
        return [0] * len(options)
    both = [(answer, place, texts) for answer, (place, texts) in zip(answers, options, strict=True)]
    strange = [place for answer, place, texts in both if answer not in texts]
    if not strange:
        return [texts.index(answer) for answer, _, texts in both]
    for first_number in (0, 1):
        numbers = [int(answer) - first_number if answer.isdecimal() else -1 for answer in answers]
        are_in_range = all(
            0 <= number < len(texts) for number, (*_, texts) in zip(numbers, both, strict=True)
        )
        if are_in_range and (first_number or min(numbers) == 0):
            return numbers
    raise SuiteError(
        f"{strange[0]}: the answer in the column {column!r} is neither one of the candidates nor its "
        "number.\n"
        "  Write the right candidate, or its number. "
        f"If the first candidate is always right, add --columns ignore={column}."
    )


def filled(place: str, text: str, record: DataRecord, column: str, words: Mapping[str, str]) -> str:
    """Fill the mask of a sentence with the word for the value of a column."""
    value = text_in(record.get(column))
    if value not in words:
        raise SuiteError(
            f"{place}: the column {column!r} has the value {value!r}, but the setting fill= of --columns "
            f"has no word for this value.\n  Add a word to the setting: fill={column}:{value}>WORD."
        )
    if len(MASK.findall(text)) != 1:
        raise SuiteError(
            f"{place}: the sentence {quoted_text(text)} has {len(MASK.findall(text))} masks, but must have "
            "one.\n"
            "  Write [MASK] once in the sentence, where the word belongs."
        )
    return MASK.sub(lambda _: words[value], text)
