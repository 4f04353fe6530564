"""Parquet files, read in one place: what they hold is compared with what they should."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.checked import ContentError
from tseval.errors import first_line, shortened
from tseval.files import refuse_irregular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Repetitions take next to nothing on disk: what is larger than the first must fill the second.
MANY_CELLS = 10**7
CELLS_PER_BYTE = 100
_ERRORS = (pa.ArrowException, ValueError, LookupError, TypeError, OverflowError)


def read_parquet(
    source: Path | bytes,
    types: Mapping[str, pa.DataType],
    *,
    needed: Iterable[str] | None = None,
    others: bool = True,
) -> pa.Table:
    """Read a table and hold it to its columns.

    Args:
        source: A file, or its bytes.
        types: What columns must hold, by their names; whole numbers may stand for numbers.
        needed: Columns that must be there; None for all of `types`.
        others: Whether columns of other names are read; they hold text, numbers or truth values.

    Raises:
        OSError: The file cannot be opened, or is none of a regular file.
        ContentError: It is no Parquet file, claims more than it can hold, or lacks a column or its type.
    """
    if isinstance(source, Path):
        refuse_irregular(source)
    opened = pa.OSFile(str(source), "rb") if isinstance(source, Path) else pa.BufferReader(source)
    with opened as content:
        try:
            with pq.ParquetFile(content) as file:
                _check_size(file, content.size())
                names = file.schema_arrow.names
                _check_names(names, types if needed is None else needed)
                chosen = None if others else [name for name in names if name in types]
                # Arrow's threads are hardly faster, and abort a process that quits while they start.
                table = file.read(chosen, use_threads=False)
            table.validate(full=True)
        except (*_ERRORS, OSError) as error:
            raise ContentError(f"not a Parquet file ({shortened(first_line(error), 150)})") from None
    columns = [_held(table, name, types.get(name)) for name in table.column_names]
    return pa.Table.from_arrays(columns, table.column_names, metadata=table.schema.metadata)


def _check_size(file: pq.ParquetFile, size: int) -> None:
    cells = file.metadata.num_rows * max(1, file.metadata.num_columns)
    if not 0 <= cells <= max(MANY_CELLS, CELLS_PER_BYTE * size):
        raise ContentError(f"claims {cells:,} cells in {size:,} bytes")


def _check_names(names: list[str], needed: Iterable[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ContentError(f"has two columns {shortened(twice[0], 60)!r}")
    if missing := [name for name in needed if name not in names]:
        raise ContentError(f"has no column {missing[0]!r}")


def _held(table: pa.Table, name: str, wanted: pa.DataType | None) -> pa.ChunkedArray:  # type: ignore[type-arg]
    column = table[name]
    if column.type == wanted or (wanted is None and _is_plain(column.type)):
        return column
    said = shortened(str(column.type).replace("\n", " "), 60)
    what = f"column {shortened(name, 60)!r} holds {said}"
    if wanted is None:
        raise ContentError(f"{what}, which is neither text nor a number")
    try:
        if _kind(column.type) in (_kind(wanted), "null", "whole" if _kind(wanted) == "number" else ""):
            return column.cast(wanted)
    except _ERRORS:
        pass
    raise ContentError(f"{what}, not {wanted}")


def _is_plain(kind: pa.DataType) -> bool:
    return _kind(kind) in ("text", "whole", "number", "truth", "null")


def _kind(kind: pa.DataType) -> str:
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    tests = {
        "text": (pa.types.is_string, pa.types.is_large_string),
        "whole": (pa.types.is_integer,),
        "number": (pa.types.is_floating,),
        "truth": (pa.types.is_boolean,),
        "null": (pa.types.is_null,),
    }
    return next((name for name, known in tests.items() if any(test(kind) for test in known)), str(kind))
