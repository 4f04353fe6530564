"""Read tables with a header, plain or gzip-compressed: tab-separated values, and csv."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.limits import limits
from tseval.suites.records import bare_name, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Row = tuple[str, list[str]]

TABLE_ENDINGS = (".tsv", ".csv")
DELIMITERS = {",": "','", ";": "';'", "\t": "a tab"}
_QUOTE = '"'


def is_table(path: Path) -> bool:
    """Whether a file is a table, as its name says."""
    return bare_name(path).endswith(TABLE_ENDINGS)


def open_table(path: Path) -> tuple[str, list[str], Iterator[Row]]:
    """Open a table.

    In `.csv`, columns are separated by commas, semicolons or tabs, whichever its header has, and cells may
    stand in quotes. In `.tsv` quotes are characters like others, but for cells as pandas writes them: in
    quotes, and each quote inside written twice.

    Returns:
        The place of the header, the names of the columns, and the rows: each with its place, `file:line`,
        and its cells. A first column without a name, which is pandas' index, is left out. An empty file has
        no columns.

    Raises:
        SuiteError: A column has no name of its own; later, a row has another number of columns, or a quote
            is not closed.
    """
    rows = _csv_rows(path) if bare_name(path).endswith(".csv") else _pandas_rows(path)
    return _opened(path, rows)


def read_table(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give every row of a table, as texts, with its place.

    Raises:
        SuiteError: As `open_table`.
    """
    _, names, rows = open_table(path)
    for place, cells in rows:
        yield place, dict(zip(names, cells, strict=True))


def read_tsv(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give every row of a table with a header, as texts, with its place. Quotes are ordinary characters.

    Raises:
        SuiteError: A row has another number of columns than the header; a column has no name of its own.
    """
    _, names, rows = _opened(path, _tsv_rows(path))
    for place, cells in rows:
        yield place, dict(zip(names, cells, strict=True))


def _opened(path: Path, rows: Iterator[Row]) -> tuple[str, list[str], Iterator[Row]]:
    place, header = next(rows, (f"{path}:1", []))
    names = [name.strip() for name in header]
    index = 1 if len(names) > 1 and not names[0] else 0
    if "" in names[index:] or len(set(names)) < len(names):
        raise SuiteError(f"{place}: every column needs a name of its own, but the header is {names}")
    return place, names[index:], _of_length(rows, header, index)


def _of_length(rows: Iterator[Row], header: list[str], index: int) -> Iterator[Row]:
    """Hold rows to the length of the header, and leave out the index."""
    for place, cells in rows:
        if len(cells) != len(header):
            said = f"{place}: {len(cells)} columns, but the header has {len(header)}"
            raise SuiteError(f"{said}{_otherwise(cells, len(header))}")
        yield place, cells[index:]


def _otherwise(cells: list[str], n_columns: int) -> str:
    """Say, where a row is a single cell, what seems to separate its columns in place of what should."""
    for mark, name in DELIMITERS.items():
        if len(cells) == 1 and cells[0].count(mark) >= n_columns - 1 > 0:
            return f".\n  They seem to be separated by {name} here, but not in the header."
    return ""


def _tsv_rows(path: Path) -> Iterator[Row]:
    for number, line in numbered_lines(path):
        if line.strip():
            yield f"{path}:{number}", line.split("\t")


def _pandas_rows(path: Path) -> Iterator[Row]:
    for place, cells in _tsv_rows(path):
        yield place, [_unquoted(cell) if cell[:1] == _QUOTE else cell for cell in cells]


def _unquoted(cell: str) -> str:
    """Take off the quotes of a cell as pandas writes them: nobody else would write each quote inside twice.

    >>> _unquoted('"so-called ""authors"" laugh"'), _unquoted('"yes"'), _unquoted('"')
    ('so-called "authors" laugh', '"yes"', '"')
    """
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == _QUOTE and _QUOTE in inner:
        single = inner.replace('""', "")
        if _QUOTE not in single:
            return inner.replace('""', _QUOTE)
    return cell


def _csv_rows(path: Path) -> Iterator[Row]:
    lines = (f"{line}\n" for _, line in numbered_lines(path))
    first, skipped = "", 0
    for first in lines:
        if first.strip():
            break
        skipped += 1
    csv.field_size_limit(limits().line_chars)
    if "\r" in first.strip():
        raise SuiteError(
            f"{path}:{skipped + 1}: lines end in a carriage return alone, as on old Macintoshes.\n"
            "  Save the file again with line ends of Unix or Windows."
        )
    reader = csv.reader(_again(first, lines), delimiter=_delimiter(path, first, skipped + 1), strict=True)
    begun = skipped
    while True:
        place = f"{path}:{begun + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if "new-line character" in str(error):
                raise SuiteError(
                    f"{place}: a carriage return stands inside a cell.\n"
                    "  Take it out, or put the cell in quotes."
                ) from None
            raise SuiteError(
                f"{place}: a quote is opened here and not closed, or stands inside a cell in quotes.\n"
                '  In a cell in quotes, write each quote twice: "so-called ""authors"" laugh".'
            ) from None
        if cells is None:
            return
        begun = skipped + reader.line_num
        if any(cell.strip() for cell in cells):
            yield place, cells


def _again(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _delimiter(path: Path, header: str, number: int) -> str:
    """Find what separates the columns: what makes most of the header."""
    n_columns = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in DELIMITERS}
    most = max(n_columns.values())
    found = [mark for mark, count in n_columns.items() if count == most]
    if most > 1 and len(found) > 1:
        marks = " and by ".join(DELIMITERS[mark] for mark in found)
        raise SuiteError(f"{path}:{number}: the header is separated by {marks}.\n  Use one of them alone.")
    return found[0]
