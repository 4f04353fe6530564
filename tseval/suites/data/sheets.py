"""Read sheets of Excel files as rows of texts."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, first_line, suggest
from tseval.files import beyond, limits, refuse_irregular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tseval.tables import Row


Opened = tuple[str, "Sequence[str]", "Iterator[Row]"]


def open_sheet(path: Path, name: str, headed: bool = True) -> Opened:
    """Open a sheet of an Excel file: the named one, or the only sheet with content."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - an extra
    except ImportError:
        fix = 'Install it: pip install "tseval[xlsx]". Or save the sheet as .csv.'
        raise SuiteError(f"{path}: tseval needs the package openpyxl to read .xlsx files.\n  {fix}") from None
    try:
        refuse_irregular(path)
        with zipfile.ZipFile(path) as packed:
            if sum(member.file_size for member in packed.infolist()) > limits().sheet_bytes:
                raise beyond("sheet_bytes", path, "the unpacked sheets have too many bytes")
        book = load_workbook(path, read_only=True, data_only=True)
        sheets = {
            sheet.title: list(_rows_of(path, sheet.iter_rows(values_only=True)))
            for sheet in book.worksheets
            if not name or sheet.title == name
        }
    except (OSError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        raise SuiteError(
            f"{path}: tseval cannot read this .xlsx file: {first_line(error)}.\n"
            "  Save the sheet as .csv, and give that file to tseval."
        ) from None
    if name and name not in sheets:
        hint = suggest(name, [sheet.title for sheet in book.worksheets], "Sheets")
        raise SuiteError(f"{path}: the file has no sheet with the name {name!r}.\n  {hint}")
    held = {title: [row for row in rows if any(row[1])] for title, rows in sheets.items()}
    filled = [title for title, rows in held.items() if rows]
    if (n_sheets := len(filled)) > 1:
        raise SuiteError(
            f"{path}: {n_sheets} sheets of the file have content, but tseval reads one: "
            f"{', '.join(filled)}.\n"
            f"  Name the sheet to read, for example: --columns sheet={filled[0]}."
        )
    rows = held[filled[0]] if filled else []
    width = max((place for _, row in rows for place, cell in enumerate(row, 1) if cell), default=0)
    if not rows:
        return f"{path}:1", [], iter(())
    rows = [(number, (row + [""] * width)[:width]) for number, row in rows]
    header = rows[0][1] if headed else [str(number) for number in range(1, width + 1)]
    if headed and ("" in header or len({*header}) < len(header)):
        raise SuiteError(
            f"{path}:{rows[0][0]}: the header has an empty name, or the same name twice: {header}.\n"
            "  Give every column a name of its own."
        )
    cut = ((f"{path}:{number}", row) for number, row in rows[1 if headed else 0 :])
    return f"{path}:{rows[0][0]}", header, cut


MOST_CELLS = 10**7  # cells of a sheet, up to the last filled cell of each row
MOST_PLACES = 2 * 10**8  # cells including empty ones: a sheet may claim endless rows


def _rows_of(path: Path, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a sheet with their numbers, within the limits on tables."""
    bounds, cells, places = limits(), 0, 0
    for number, row in enumerate(rows, 1):
        width = next((place for place in range(len(row), 0, -1) if row[place - 1] is not None), 0)
        cells, places = cells + width, places + len(row)
        if number > bounds.rows:
            raise beyond("rows", path, "the sheet has too many rows")
        if width > bounds.columns:
            raise beyond("columns", f"{path}:{number}", "the row has too many columns")
        if cells > MOST_CELLS or places > MOST_PLACES:
            raise SuiteError(
                f"{path}: the sheet has too many cells (limit: {MOST_CELLS:,}).\n"
                "  Save the sheet as .csv, and give that file to tseval."
            )
        yield number, [_cell(value) for value in row[:width]]


def _cell(value: object) -> str:
    """Return a cell as text; some programs store whole numbers as decimal numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return "" if value is None else str(value).strip()
