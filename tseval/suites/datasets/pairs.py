"""Any set of pairs: JSON lines or tab-separated values with a good and a bad sentence and free features."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.suites.datasets.entries import DataItem
from tseval.suites.records import bare_name, fits, read_jsonl, read_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.checked import Json
    from tseval.suites.datasets.entries import TableRow
    from tseval.suites.items import Feature

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
    stem = bare_name(path).partition(".")[0]
    if bare_name(path).endswith(".tsv"):
        rows = list(read_tsv(path))
        for (place, _), row in zip(rows, as_typed([row for _, row in rows]), strict=True):
            yield _entry(place, row, stem)
    else:
        for place, record in read_jsonl(path):
            yield _entry(place, record, stem)


def _entry(place: str, record: dict[str, Json] | dict[str, Feature], stem: str) -> DataItem:
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
    features = {name: value for name, value in record.items() if name not in {*labels, *ROW_NAMES}}
    for name, value in features.items():
        if not isinstance(value, str | int | float):
            raise SuiteError(
                f"{place}: {name} is {value!r}.\n"
                "  A feature is a text, a number, true or false; leave others out."
            )
    return DataItem(place, table_row(record, stem), sentences, features)  # type: ignore[arg-type] # checked above


def table_row(record: Mapping[str, object], stem: str) -> TableRow:
    """Say where an item stands in the table; what is not said is taken from the next wider name."""
    case = str(record.get("case") or stem)
    dependency = record.get("dependency")
    return (
        case,
        str(record.get("construction") or case),
        str(record.get("phenomenon") or stem),
        str(dependency) if dependency else None,
    )


def as_typed(rows: Sequence[Mapping[str, str]]) -> list[dict[str, Feature]]:
    """Give the cells of a table the narrowest type that holds their whole column."""
    convert = {name: _converter([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    return [{name: convert[name](text) for name, text in row.items()} for row in rows]


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
