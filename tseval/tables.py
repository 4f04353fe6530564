"""Readers of Parquet, CSV and TSV tables from others, which check the columns."""

from __future__ import annotations

import csv
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tseval.errors import SuiteError, first_line, shortened
from tseval.files import beyond, how_to_raise, limits, refuse_irregular
from tseval.formats import UTF_8, ContentError, bare_name, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    Row = tuple[str, list[str]]


# Repeated values take almost no space on disk. A table of more than MANY_CELLS needs CELLS_PER_BYTE or fewer.
MANY_CELLS = 10**7
CELLS_PER_BYTE = 100
_ERRORS = (pa.ArrowException, ValueError, LookupError, TypeError, OverflowError)


def read_parquet(
    source: Path | bytes,
    types: Mapping[str, pa.DataType],
    *,
    needed: Iterable[str] | None = None,
    others: bool = True,
    known: Collection[str] | None = None,
    any_type: bool = False,
) -> pa.Table:
    """Read a Parquet table and check its columns.

    Args:
        source: A file, or its bytes.
        types: Column name to its type; integers are accepted for floats.
        needed: Required columns; None for all of `types`.
        others: Whether other columns are read; they may hold text, numbers or truth values.
        known: The allowed column names; None for any.
        any_type: Whether other columns may hold values of any type.

    Raises:
        OSError: The file cannot be opened, or is not a regular file.
        ContentError: It is no Parquet file, claims an impossible size, or a column is missing or has another
            type.
    """
    if isinstance(source, Path):
        refuse_irregular(source)
    source_file = pa.OSFile(str(source), "rb") if isinstance(source, Path) else pa.BufferReader(source)
    with source_file as content:
        try:
            with pq.ParquetFile(content) as file:
                _check_size(file, content.size())
                names = file.schema_arrow.names
                _check_names(names, types if needed is None else needed, known)
                columns_read = None if others else [name for name in names if name in types]
                schema = file.schema_arrow
                texts = [field.name for field in schema if _is_text(field.type)]
            # Repeated texts are stored once in the file. Read them as dictionaries, and expand them if that
            # is small.
            content.seek(0)
            with pq.ParquetFile(content, read_dictionary=texts) as file:
                # Arrow's threads are hardly faster, and abort a process that exits while they start.
                table = file.read(columns_read, use_threads=False)
            table.validate(full=True)
            table = _unfolded(table, schema)
        except (*_ERRORS, OSError) as error:
            raise ContentError(f"not a Parquet file ({shortened(first_line(error), 150)})") from None
    columns = [_held(table, name, types.get(name), any_type) for name in table.column_names]
    # The metadata of pandas could rename columns when the table becomes a data frame.
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"pandas"}
    return pa.Table.from_arrays(columns, table.column_names, metadata=metadata or None)


def _check_size(file: pq.ParquetFile, size: int) -> None:
    facts = file.metadata
    if facts.num_columns > (most := limits().columns):
        raise ContentError(
            f"the table has {facts.num_columns:,} columns, but at most {most:,} are allowed. "
            f"{how_to_raise('columns')}"
        )
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    # A row may hold a list, so its values count.
    values = sum(group.column(i).num_values for group in groups for i in range(facts.num_columns))
    cells = max(facts.num_rows * max(1, facts.num_columns), values)
    if facts.num_rows < 0 or cells > max(MANY_CELLS, CELLS_PER_BYTE * size):
        raise ContentError(
            f"the header of the table claims {cells:,} cells, which cannot be in {size:,} bytes"
        )
    # A page, such as a dictionary of texts, is unpacked as a whole.
    unpacked = sum(
        group.column(i).total_uncompressed_size for group in groups for i in range(facts.num_columns)
    )
    if unpacked > limits().file_bytes:
        raise ContentError(
            f"the table has {unpacked:,} bytes when unpacked, but at most {limits().file_bytes:,} are allowed"
        )


def _unfolded(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Expand dictionary-encoded texts to plain columns, within the limit on bytes."""
    most = limits().file_bytes
    for place, field in enumerate(table.schema):
        if not isinstance(field.type, pa.DictionaryType) or not _is_text(field.type.value_type):
            continue
        for chunk in table[field.name].chunks:
            folded = cast("pa.DictionaryArray[Any, Any]", chunk)
            lengths = pc.binary_length(cast("pa.StringArray", folded.dictionary))
            most -= int(pc.sum(lengths.take(folded.indices), min_count=0).as_py() or 0)
        if most < 0:
            raise ContentError(
                f"the table has texts of more than {limits().file_bytes:,} bytes in all, which is not allowed"
            )
        if field.type != wanted.field(field.name).type:
            table = table.set_column(place, field.name, table[field.name].cast(wanted.field(field.name).type))
    return table


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _check_names(names: list[str], needed: Iterable[str], known: Collection[str] | None) -> None:
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise ContentError(f"has two columns {shortened(duplicates[0], 60)!r}")
    if missing := [name for name in needed if name not in names]:
        raise ContentError(f"has no column {missing[0]!r}")
    if known is not None and not set(names) <= set(known):
        raise ContentError(f"it has the columns {shortened(', '.join(names), 200)}")


def _held(table: pa.Table, name: str, wanted: pa.DataType | None, any_type: bool) -> pa.ChunkedArray[Any]:
    column = table[name]
    if pa.types.is_string_view(column.type):  # the type that polars writes
        column = column.cast(pa.string())
    if wanted is None and pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if wanted is None and any_type:
        return column
    if column.type == wanted or (wanted is None and _kind(column.type) in _KINDS):
        return column
    type_name = shortened(str(column.type).replace("\n", " "), 60)
    problem = f"the column {shortened(name, 60)!r} has values of the type {type_name}"
    if wanted is None:
        raise ContentError(f"{problem}, which is neither text nor a number")
    try:
        if _kind(column.type) in (_kind(wanted), "null", "whole" if _kind(wanted) == "number" else ""):
            return column.cast(wanted)
    except _ERRORS:
        pass
    raise ContentError(f"{problem}, but needs {wanted}")


_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "text": _is_text,
    "whole": pa.types.is_integer,
    "number": pa.types.is_floating,
    "truth": pa.types.is_boolean,
    "null": pa.types.is_null,
}


def _kind(kind: pa.DataType) -> str:
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    return next((name for name, is_one in _KINDS.items() if is_one(kind)), str(kind))


TABLE_ENDINGS = (".tsv", ".csv")
DELIMITERS = {",": "','", ";": "';'", "\t": "a tab"}
_QUOTE = '"'


def is_table(path: Path) -> bool:
    """Return whether a file name has the ending of a table."""
    return bare_name(path).endswith(TABLE_ENDINGS)


def open_table(
    path: Path, encoding: str = UTF_8, headed: bool = True
) -> tuple[str, list[str], Iterator[Row]]:
    """Open a table.

    In `.csv`, columns are separated by commas, semicolons or tabs, as in the header, and cells may be quoted.
    In `.tsv`, quotes are ordinary characters, except in cells as pandas writes them: quoted, with each quote
    inside doubled. Without a header, columns are named 1, 2 and so on.

    Returns:
        The place of the header, the column names, and the rows. Each row is its place, `file:line`, and its
        cells. A first column without a name (pandas' index) is left out. An empty file has no columns.
    """
    reader = _csv_rows if bare_name(path).endswith(".csv") else _pandas_rows
    return _opened(path, reader(path, encoding), headed)


def read_table(path: Path, quotes: bool | None = None) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every row of a table as texts, with its place.

    `quotes` says whether cells may be quoted as in `.csv`; by default, this depends on the file's ending.
    """
    rows = (_csv_rows if quotes else _tsv_rows)(path, UTF_8)
    _, names, cut = open_table(path) if quotes is None else _opened(path, rows)
    for place, cells in cut:
        yield place, dict(zip(names, cells, strict=True))


def _opened(path: Path, rows: Iterator[Row], headed: bool = True) -> tuple[str, list[str], Iterator[Row]]:
    place, header = next(rows, (f"{path}:1", []))
    if len(header) > limits().columns:
        raise beyond("columns", place, "the table has too many columns")
    if not headed:
        numbers = [str(number) for number in range(1, len(header) + 1)]
        return place, numbers, _of_length(chain([(place, header)], rows), header, 0)
    names = [name.strip() for name in header]
    index = 1 if len(names) > 1 and not names[0] else 0
    if "" in names[index:] or len(set(names)) < len(names):
        raise SuiteError(
            f"{place}: the header has an empty name, or the same name twice: {names}.\n"
            "  Give each column a name of its own. If the table has no header, number the columns: "
            "--columns good=1,bad=2."
        )
    return place, names[index:], _of_length(rows, header, index)


def _of_length(rows: Iterator[Row], header: list[str], index: int) -> Iterator[Row]:
    """Check that rows are as long as the header, and leave out the index column."""
    for place, cells in rows:
        if len(cells) != len(header):
            fix = _otherwise(cells, len(header))
            raise SuiteError(
                f"{place}: this row has {len(cells)} columns, but the header has {len(header)}.\n  {fix}"
            )
        yield place, cells[index:]


def _otherwise(cells: list[str], n_columns: int) -> str:
    """Say how to fix a row of the wrong length; a row with only one cell may use another separator."""
    for mark, name in DELIMITERS.items():
        if len(cells) == 1 and cells[0].count(mark) >= n_columns - 1 > 0:
            return f"Use one separator: this row seems to use {name}, but the header does not."
    return "Write one cell for each column of the header."


def _tsv_rows(path: Path, encoding: str) -> Iterator[Row]:
    for number, line in numbered_lines(path, encoding=encoding):
        if line.strip():
            yield f"{path}:{number}", line.split("\t")


def _pandas_rows(path: Path, encoding: str) -> Iterator[Row]:
    for place, cells in _tsv_rows(path, encoding):
        yield place, [_unquoted(cell) if cell[:1] == _QUOTE else cell for cell in cells]


def _unquoted(cell: str) -> str:
    """Unquote a cell that pandas wrote: only pandas doubles each quote inside.

    >>> _unquoted('"so-called ""authors"" laugh"'), _unquoted('"yes"'), _unquoted('"')
    ('so-called "authors" laugh', '"yes"', '"')
    """
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == _QUOTE and _QUOTE in inner:
        single = inner.replace('""', "")
        if _QUOTE not in single:
            return inner.replace('""', _QUOTE)
    return cell


def _csv_rows(path: Path, encoding: str) -> Iterator[Row]:
    lines = (f"{line}\n" for _, line in numbered_lines(path, encoding=encoding))
    first, skipped = "", 0
    for first in lines:
        if first.strip():
            break
        skipped += 1
    csv.field_size_limit(limits().line_chars)
    if "\r" in first.strip():
        raise SuiteError(
            f"{path}:{skipped + 1}: the lines end in a carriage return without a line feed, as on old "
            "Macintoshes.\n  Save the file again with the line ends of Unix or Windows."
        )
    reader = csv.reader(chain([first], lines), delimiter=_delimiter(path, first, skipped + 1), strict=True)
    n_lines = skipped
    while True:
        place = f"{path}:{n_lines + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if "new-line character" in str(error):
                raise SuiteError(
                    f"{place}: a cell without quotes has a carriage return (a line end) inside.\n"
                    "  Delete the carriage return, or put the cell in quotes."
                ) from None
            raise SuiteError(
                f"{place}: a cell begins with a quotation mark, but the mark that closes the cell is "
                "missing or not at its end.\n"
                '  Close the cell. Inside it, write each quotation mark twice: "so-called ""authors"" laugh".'
            ) from None
        if cells is None:
            return
        n_lines = skipped + reader.line_num
        if any(cell.strip() for cell in cells):
            yield place, cells


def _delimiter(path: Path, header: str, number: int) -> str:
    """Find the separator: the mark that splits the header into most columns."""
    n_columns = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in DELIMITERS}
    most = max(n_columns.values())
    candidates = [mark for mark, count in n_columns.items() if count == most]
    if most > 1 and len(candidates) > 1:
        marks = " and ".join(DELIMITERS[mark] for mark in candidates)
        raise SuiteError(
            f"{path}:{number}: tseval does not know which mark separates the columns of the header: "
            f"{marks}.\n  Use only one of these marks in the header."
        )
    return candidates[0]
