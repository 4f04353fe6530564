"""Any set of pairs: JSON lines or tab-separated values with a good and a bad sentence and free features."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.suites.datasets.entries import DataItem
from tseval.suites.records import bare_name, fits, read_jsonl, read_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from tseval.checked import Json
    from tseval.suites.datasets.entries import TableRow
    from tseval.suites.items import Feature

    DataRecord = Mapping[str, Json] | Mapping[str, Feature]

# What the columns of the two sentences may be called; the verdicts call them good and bad all the same.
PAIR_NAMES = (("good", "bad"), ("sentence_good", "sentence_bad"), ("grammatical", "ungrammatical"))
ROW_NAMES = ("case", "construction", "phenomenon", "dependency")


def read_pairs(path: Path) -> Iterator[DataItem]:
    """Read a file of pairs.

    Columns `case`, `construction`, `phenomenon` and `dependency`, where there are any, say which row of the
    table a pair belongs to; the file's name stands in for them. All other columns are features.

    Raises:
        SuiteError: There are no such columns, or a value is of the wrong kind.
    """
    for place, record in read_records(path):
        yield _entry(place, record, stem_of(path))


def read_records(path: Path) -> Iterator[tuple[str, DataRecord]]:
    """Give every record of JSON lines, or row of a table with its columns typed, with its place.

    Raises:
        SuiteError: It is no such file.
    """
    if not bare_name(path).endswith(".tsv"):
        yield from read_jsonl(path)
        return
    rows = list(read_tsv(path))
    convert = {name: _converter([row[name] for _, row in rows]) for name in (rows[0][1] if rows else ())}
    for place, row in rows:
        yield place, {name: convert[name](text) for name, text in row.items()}


def stem_of(path: Path) -> str:
    """Name a file without its endings: it stands in for what its records do not say."""
    return bare_name(path).partition(".")[0]


def _entry(place: str, record: DataRecord, stem: str) -> DataItem:
    labels = next((pair for pair in PAIR_NAMES if set(pair) <= set(record)), None)
    if labels is None:
        raise SuiteError(
            f"{place}: no pair of sentences: there are {', '.join(map(repr, record))}.\n"
            "  Call the columns good and bad."
        )
    sentences = {label: record[name] for label, name in zip(("good", "bad"), labels, strict=True)}
    for label, text in sentences.items():
        if not isinstance(text, str):
            raise SuiteError(f"{place}: the {label} sentence is no text, but {text!r}")
    features = features_of(place, record, labels)
    return DataItem(place, row_of(record, stem), sentences, features)  # type: ignore[arg-type] # checked above


def features_of(place: str, record: DataRecord, others: Collection[str]) -> dict[str, Feature]:
    """Give the columns of a record that are neither others nor the names of its row.

    Raises:
        SuiteError: One of them is no feature.
    """
    features: dict[str, Feature] = {}
    for name, value in record.items():
        if name in others or name in ROW_NAMES:
            continue
        if not isinstance(value, str | int | float):
            raise SuiteError(
                f"{place}: {name} is {value!r}.\n"
                "  A feature is a text, a number, true or false; leave others out."
            )
        features[name] = value
    return features


def row_of(record: DataRecord, stem: str) -> TableRow:
    """Say where a pair stands in the table; what is not said is taken from the next wider name."""
    case = str(record.get("case") or stem)
    dependency = record.get("dependency")
    return (
        case,
        str(record.get("construction") or case),
        str(record.get("phenomenon") or stem),
        str(dependency) if dependency else None,
    )


def _converter(texts: list[str]) -> Callable[[str], Feature]:
    """Choose the narrowest type that holds a whole column: truth values, whole numbers, numbers, texts."""
    truth = {"true": True, "false": False}
    if all(text.lower() in truth for text in texts):
        return lambda text: truth[text.lower()]
    for kind in (int, float):
        try:
            for text in texts:
                # `1_000` and `infinity` are numbers to Python alone.
                if not text.strip().lstrip("+-").replace(".", "", 1).isdecimal():
                    raise ValueError
                value = kind(text)
                if not (isfinite(value) if isinstance(value, float) else fits(value)):
                    raise ValueError
        except ValueError:
            continue
        return kind
    return str
