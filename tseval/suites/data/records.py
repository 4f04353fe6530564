"""Read records with their places from every format: tables, JSON lines and arrays, Parquet, Excel."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, first_line, quoted_text, suggest
from tseval.files import beyond, limits
from tseval.formats import (
    UTF_8,
    ContentError,
    bare_name,
    fits,
    known_encoding,
    parse_data,
    read_jsonl,
    read_lines,
    read_text,
)
from tseval.suites.data.roles import chosen_rows, columns_given, find_columns, text_in
from tseval.suites.data.sheets import Opened, open_sheet
from tseval.tables import is_table, open_table, read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Feature
    from tseval.suites.data.roles import DataRecord, Header
    from tseval.tables import Row


def read_records(
    path: Path, texts: Collection[str] = (), options: Mapping[str, str] | None = None
) -> Iterator[tuple[str, DataRecord]]:
    """Yield every record of a file with its place, `file:row`; the columns of a table are typed.

    Columns in `texts` stay texts. `options` are the user's settings (`tseval.suites.data.roles`).
    """
    options = options or {}
    column, values = chosen_rows(options)
    if _is_of_texts(path):
        _, names, rows = _open(path, options)
        if column is not None and column in names:
            at = list(names).index(column)
            rows = (row for row in rows if row[1][at].strip() in values)
        yield from _typed(names, rows, texts)
        return
    for place, record in _READERS[bare_name(path).rpartition(".")[2]](path, encoding_of(options)):
        if column is None or text_in(record.get(column)) in values:
            yield place, record


def columns_of(path: Path, options: Mapping[str, str]) -> tuple[str, Sequence[str], DataRecord]:
    """Return the place of the header, the names of the columns, and the first record (empty if none).

    In JSON the names are the keys of the first record.
    """
    if _is_of_texts(path):
        place, names, rows = _open(path, options)
        of_texts = (dict(zip(names, row, strict=True)) for _, row in rows)
        return place, names, _first_chosen(place, names, of_texts, options)
    all_records = read_records(path, (), {name: value for name, value in options.items() if name != "where"})
    place, record = next(all_records, (f"{path}:1", {}))
    records = chain([record] if record else [], (later for _, later in all_records))
    return place, list(record), _first_chosen(place, list(record), records, options)


def _first_chosen(
    place: str, names: Sequence[str], records: Iterable[DataRecord], options: Mapping[str, str]
) -> DataRecord:
    """Return the first record that `where` selects; an empty record if the file is empty."""
    column, values = chosen_rows(options)
    if column is None or column not in names:  # `find_columns` reports a missing column later
        return next(iter(records), {})
    other_values: dict[str, None] = {}
    for record in records:
        value = text_in(record.get(column)).strip()
        if value in values:
            return record
        other_values[value] = None
    if other_values:
        raise SuiteError(
            f"{place}: no row has {' or '.join(map(repr, sorted(values)))} in {column!r} "
            f"(--columns where={options['where']}).\n  {suggest(min(values), other_values, 'Values')}"
        )
    return {}


def header_of(path: Path, options: Mapping[str, str]) -> Header:
    """Return the columns of a file with their roles (`find_columns`).

    If a file has only lines, the user's roles are for the other files of the folder.
    """
    place, names, first = columns_of(path, options)
    return replace(
        find_columns(place, names, {} if _is_lines(path, options) else options, first), options=options
    )


def _is_lines(path: Path, options: Mapping[str, str]) -> bool:
    """Check whether a file is plain lines, on which good and bad sentences alternate."""
    return bare_name(path).endswith(".txt") and options.get("layout", "").startswith("alternating")


def json_kind(path: Path) -> str | None:
    """Return the kind of a `.json` file: records (`table`), lists (`arrays`), `syntaxgym`, or None."""
    if (records := _listed(path, UTF_8)) is not None:
        return "arrays" if isinstance(records[0], list) else "table"
    content = parse_data(read_text(path), str(path))
    return "syntaxgym" if isinstance(content, dict) and {"items", "predictions"} & content.keys() else None


def encoding_of(options: Mapping[str, str]) -> str:
    """Return the encoding that the user states, or UTF-8."""
    return known_encoding(options["encoding"]) if "encoding" in options else UTF_8


def _is_of_texts(path: Path) -> bool:
    """Check whether a file format has only texts as cells."""
    return is_table(path) or bare_name(path).endswith((".txt", ".tab", ".xlsx"))


def _open(path: Path, options: Mapping[str, str]) -> Opened:
    """Open a table. If the user gives columns by numbers that are not names, the table has no header."""
    if _is_lines(path, options):
        lines = read_lines(path, encoding_of(options))
        return f"{path}:1", ["sentence"], ((place, [line]) for place, line in lines)
    opened = open_sheet if bare_name(path).endswith(".xlsx") else open_table
    encoding = options.get("sheet", "") if opened is open_sheet else encoding_of(options)
    numbers = columns_given(options)
    if numbers and all(name.isdecimal() for name in numbers):
        try:
            if numbers <= {*opened(path, encoding)[1]}:
                return opened(path, encoding)
        except SuiteError:
            pass  # the first row is not a header
        return opened(path, encoding, False)
    return opened(path, encoding)


def _typed(
    names: Sequence[str], rows: Iterable[Row], texts: Collection[str]
) -> Iterator[tuple[str, DataRecord]]:
    """Yield rows as records; columns become numbers or truth values if all their cells are."""
    # Most columns have few distinct cells. While there are few, equal cells are stored once.
    distinct_cells: dict[str, str] = {}
    places: list[str] = []
    columns: list[list[str]] = [[] for _ in names]
    for place, row in rows:
        places.append(place)
        for column, cell in zip(columns, row, strict=True):
            column.append(
                distinct_cells.setdefault(cell, cell)
                if len(distinct_cells) < MANY_TEXTS
                else distinct_cells.get(cell, cell)
            )
    distinct_cells.clear()
    values: list[Sequence[Feature]] = [
        column if name in texts else as_typed(column) for name, column in zip(names, columns, strict=True)
    ]
    for place, *cells in zip(places, *values, strict=True):
        yield place, dict(zip(names, cells, strict=True))


MANY_TEXTS = 100_000  # distinct cells of a table; with more, repetition is rare


def as_typed(texts: Sequence[str]) -> Sequence[Feature]:
    """Convert a column to the narrowest type: truth values, whole numbers, numbers, or texts."""
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
    # Only Python reads `1_000` and `infinity` as numbers.
    if not text.strip().lstrip("+-").replace(".", "", 1).isdecimal():
        raise ValueError(text)
    value = kind(text)
    if not (isfinite(value) if isinstance(value, float) else fits(value)):
        raise ValueError(text)
    return value


def _json_records(path: Path, encoding: str) -> Iterator[tuple[str, DataRecord]]:
    records = _listed(path, encoding)
    if records is None:
        raise SuiteError(
            f"{path}: the file is not a list of JSON objects.\n"
            "  Write [{...}, {...}], or write one JSON object on each line."
        )
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise SuiteError(
                f"{path}:{number}: element {number} of the list is not a JSON object, but "
                f"{quoted_text(str(record), 40)}.\n"
                '  Write each element as {"good": "SENTENCE", "bad": "SENTENCE"}.'
            )
        if len(record) > limits().columns:
            raise beyond("columns", f"{path}:{number}", "the JSON object has too many keys")
        yield f"{path}:{number}", record


def _listed(path: Path, encoding: str) -> list[Json] | None:
    """Return the records of a `.json` file: a list, the only list of an object, or JSON lines; else None."""
    text = read_text(path, encoding).strip()
    first, _, rest = text.partition("\n")
    if first.startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{"):
        return [record for _, record in read_jsonl(path, encoding)]
    content = parse_data(text, str(path))
    if isinstance(content, dict) and not {"items", "predictions", "meta"} & content.keys():
        lists = [value for value in content.values() if isinstance(value, list) and value]
        content = lists[0] if len(lists) == 1 else None
    return content if isinstance(content, list) and content else None


def _parquet_records(path: Path, _: str) -> Iterator[tuple[str, DataRecord]]:
    try:
        table = read_parquet(path, {}, any_type=True)
    except (OSError, ContentError) as error:
        problem = first_line(error)
        raise SuiteError(
            f"{path}: tseval cannot read this Parquet file: {problem}.\n"
            "  Save the file again as Parquet, or save it as .tsv or .csv."
        ) from None
    records = (record for batch in table.to_batches() for record in batch.to_pylist())
    for number, record in enumerate(records, 1):
        yield f"{path}:{number}", record


_READERS: dict[str, Callable[[Path, str], Iterator[tuple[str, DataRecord]]]] = {
    "jsonl": read_jsonl,
    "json": _json_records,
    "parquet": _parquet_records,
}
