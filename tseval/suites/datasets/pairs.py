"""Any set of pairs: JSON lines or tables with a good and a bad sentence and free features."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import fits, is_table, open_table, read_jsonl
from tseval.suites.datasets.columns import PAIR_LABELS, ROW_NAMES, Roles, find_roles
from tseval.suites.datasets.entries import DataItem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Feature
    from tseval.suites.datasets.entries import TableRow

    DataRecord = Mapping[str, Json] | Mapping[str, Feature]


def read_pairs(path: Path, stem: str, columns: Mapping[str, str]) -> Iterator[DataItem]:
    """Read a file of pairs.

    Columns `case`, `construction`, `phenomenon` and `dependency`, where there are any, say which row of the
    table a pair belongs to; the file's name stands in for them. A case of several phenomena, and no
    constructions, is cut into one for each. All other columns are features.

    Args:
        path: The file.
        stem: What it is called among the files of its set.
        columns: Role to column, as the user says (`columns.ROLES`); names that are known need not be given.

    Raises:
        SuiteError: There are no such columns, or a value is of the wrong kind.
    """
    read = _of_table if is_table(path) else _of_lines
    records = list(read(path, columns))
    rows = [table_row(record, stem, roles.rows) for _, record, roles in records]
    phenomena: dict[str, set[str]] = {}
    for (_, record, roles), (case, *_) in zip(records, rows, strict=True):
        named = _text(record, roles.rows, "phenomenon")
        phenomena.setdefault(case, set()).update([named] if named else [])
    for (place, record, roles), row in zip(records, rows, strict=True):
        split = len(phenomena[row[0]]) > 1 and row[0] == row[1]
        yield _entry(place, record, roles, (f"{row[0]}_{row[2]}", *row[1:]) if split else row)


def _of_lines(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, DataRecord, Roles]]:
    """Read JSON lines; each may have other names than the one before, as far as its case allows it."""
    found: dict[tuple[str, ...], Roles] = {}
    for place, record in read_jsonl(path):
        names = tuple(record)
        if names not in found:
            found[names] = find_roles(names, columns, place)
        yield place, record, found[names]


def _of_table(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, DataRecord, Roles]]:
    """Read a table, whose sentences and names of rows stay texts."""
    where, names, rows = open_table(path)
    roles = find_roles(names, columns, where)
    for place, record in _typed(names, rows, {*roles.sentences, *roles.rows.values()}):
        yield place, record, roles


def read_records(path: Path, texts: Collection[str] = ()) -> Iterator[tuple[str, DataRecord]]:
    """Give every record of JSON lines, or row of a table with its columns typed, with its place.

    Args:
        path: The file.
        texts: Columns of a table whose cells stay texts.

    Raises:
        SuiteError: It is no such file.
    """
    if not is_table(path):
        yield from read_jsonl(path)
        return
    _, names, rows = open_table(path)
    yield from _typed(names, rows, texts)


def _typed(
    names: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], texts: Collection[str]
) -> Iterator[tuple[str, DataRecord]]:
    """Give rows as records; columns become numbers or truth values if all their cells are."""
    # Most columns hold few different cells: equal ones are kept once.
    kept: dict[str, str] = {}
    places, cells = [], []
    for place, row in rows:
        places.append(place)
        cells.append([kept.setdefault(cell, cell) for cell in row])
    values: list[Sequence[Feature]] = [
        column if name in texts else as_typed(column)
        for name, column in zip(names, zip(*cells, strict=True), strict=False)  # there may be no row
    ]
    for place, row_values in zip(places, zip(*values, strict=True), strict=True):
        yield place, dict(zip(names, row_values, strict=True))


def _entry(place: str, record: DataRecord, roles: Roles, row: TableRow) -> DataItem:
    sentences = {label: record[name] for label, name in zip(PAIR_LABELS, roles.sentences, strict=True)}
    for label, text in sentences.items():
        if not isinstance(text, str):
            raise SuiteError(f"{place}: the {label} sentence is no text, but {text!r}")
    features = features_of(place, record, roles.features)
    return DataItem(place, row, sentences, features)  # type: ignore[arg-type] # checked above


def features_of(place: str, record: DataRecord, columns: Mapping[str, str]) -> dict[str, Feature]:
    """Give the features of a record.

    Args:
        place: `file:line`, for messages.
        record: It.
        columns: Feature to column.

    Raises:
        SuiteError: One of them is no feature.
    """
    features: dict[str, Feature] = {}
    for feature, name in columns.items():
        value = record[name]
        if not isinstance(value, str | int | float | None):
            raise SuiteError(
                f"{place}: {name} is {value!r}.\n"
                "  A feature is a text, a number, true or false; leave others out."
            )
        features[feature] = value  # type: ignore[assignment] # some sets say null
    return features


def table_row(record: DataRecord, stem: str, columns: Mapping[str, str]) -> TableRow:
    """Say where a record stands in the table; what is not said is taken from the next wider name.

    Args:
        record: It.
        stem: Of its file.
        columns: Each of `ROW_NAMES` that there is to its column.
    """
    case, construction, phenomenon, dependency = (_text(record, columns, name) for name in ROW_NAMES)
    case = case or stem
    return case, construction or case, phenomenon or stem, dependency


def _text(record: DataRecord, columns: Mapping[str, str], name: str) -> str | None:
    """Give one of the names of the row that a record stands in, or None where there is none."""
    value = record[columns[name]] if name in columns else None
    return None if value is None else str(value).strip() or None


def as_typed(texts: Sequence[str]) -> Sequence[Feature]:
    """Give a column the narrowest type that holds it: truth values, whole numbers, numbers, texts."""
    truth = {"true": True, "false": False}
    if all(text.lower() in truth for text in texts):
        return [truth[text.lower()] for text in texts]
    for kind in (int, float):
        try:
            return [_number(kind, text) for text in texts]
        except ValueError:
            continue
    return texts


def _number(kind: Callable[[str], int | float], text: str) -> int | float:
    # `1_000` and `infinity` are numbers to Python alone.
    if not text.strip().lstrip("+-").replace(".", "", 1).isdecimal():
        raise ValueError(text)
    value = kind(text)
    if not (isfinite(value) if isinstance(value, float) else fits(value)):
        raise ValueError(text)
    return value
