"""Parquet files, read in one place: what they hold is compared with what they should."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tseval.checked import ContentError
from tseval.errors import first_line, shortened
from tseval.files import refuse_irregular
from tseval.limits import limits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

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
    known: Collection[str] | None = None,
) -> pa.Table:
    """Read a table and hold it to its columns.

    Args:
        source: A file, or its bytes.
        types: What columns must hold, by their names; whole numbers may stand for numbers.
        needed: Columns that must be there; None for all of `types`.
        others: Whether columns of other names are read; they hold text, numbers or truth values.
        known: The names that columns may have; None for any.

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
                _check_names(names, types if needed is None else needed, known)
                chosen = None if others else [name for name in names if name in types]
                wanted = file.schema_arrow
                texts = [field.name for field in wanted if _is_text(field.type)]
            # Texts that repeat stand in the file once. They are read so, and unfolded if that is not much.
            content.seek(0)
            with pq.ParquetFile(content, read_dictionary=texts) as file:
                # Arrow's threads are hardly faster, and abort a process that quits while they start.
                table = file.read(chosen, use_threads=False)
            table.validate(full=True)
            table = _unfolded(table, wanted)
        except (*_ERRORS, OSError) as error:
            raise ContentError(f"not a Parquet file ({shortened(first_line(error), 150)})") from None
    columns = [_held(table, name, types.get(name)) for name in table.column_names]
    # What pandas notes there could give columns other names when they become a data frame.
    noted = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"pandas"}
    return pa.Table.from_arrays(columns, table.column_names, metadata=noted or None)


def _check_size(file: pq.ParquetFile, size: int) -> None:
    facts = file.metadata
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    # A row may hold a list: the numbers in it count.
    values = sum(group.column(i).num_values for group in groups for i in range(facts.num_columns))
    cells = max(facts.num_rows * max(1, facts.num_columns), values)
    if facts.num_rows < 0 or cells > max(MANY_CELLS, CELLS_PER_BYTE * size):
        raise ContentError(f"claims {cells:,} cells in {size:,} bytes")
    # A page is unpacked as a whole, and a dictionary of texts is one.
    unpacked = sum(
        group.column(i).total_uncompressed_size for group in groups for i in range(facts.num_columns)
    )
    if unpacked > limits().file_bytes:
        raise ContentError(f"has {unpacked:,} bytes unpacked, more than {limits().file_bytes:,}")


def _unfolded(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Write texts out that were read as dictionaries, within the limit on what is read of a file.

    Raises:
        ContentError: They are too long in all.
    """
    most = limits().file_bytes
    for place, field in enumerate(table.schema):
        if not isinstance(field.type, pa.DictionaryType) or not _is_text(field.type.value_type):
            continue
        for chunk in table[field.name].chunks:
            folded = cast("pa.DictionaryArray[Any, Any]", chunk)
            lengths = pc.binary_length(cast("pa.StringArray", folded.dictionary))
            most -= int(pc.sum(lengths.take(folded.indices), min_count=0).as_py() or 0)
        if most < 0:
            raise ContentError(f"its texts have more than {limits().file_bytes:,} bytes, written out")
        if field.type != wanted.field(field.name).type:
            table = table.set_column(place, field.name, table[field.name].cast(wanted.field(field.name).type))
    return table


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _check_names(names: list[str], needed: Iterable[str], known: Collection[str] | None) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ContentError(f"has two columns {shortened(twice[0], 60)!r}")
    if missing := [name for name in needed if name not in names]:
        raise ContentError(f"has no column {missing[0]!r}")
    if known is not None and not set(names) <= set(known):
        raise ContentError(f"it has the columns {shortened(', '.join(names), 200)}")


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
        "text": (_is_text,),
        "whole": (pa.types.is_integer,),
        "number": (pa.types.is_floating,),
        "truth": (pa.types.is_boolean,),
        "null": (pa.types.is_null,),
    }
    return next((name for name, known in tests.items() if any(test(kind) for test in known)), str(kind))
