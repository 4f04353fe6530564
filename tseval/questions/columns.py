"""Columns of tables, and their contribution to the digest of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import hashlib


def named_columns(table: pa.Table) -> list[tuple[str, pa.Array[Any]]]:
    """Return the columns of a table, each in one piece, with its name."""
    return [(name, table.column(name).combine_chunks()) for name in table.column_names]


def hash_column(digest: hashlib._Hash, column: pa.Array[Any]) -> None:
    """Add a column to a digest: text lengths and texts, or numbers in little-endian order."""
    if pa.types.is_string(column.type):
        # All texts at once: text by text took most of the time to load a suite.
        digest.update(pc.utf8_length(cast("pa.StringArray", column)).to_numpy().astype("<i4").tobytes())
        digest.update(_joined(column))
    else:
        if column.null_count:  # digests of columns without nulls must not change
            digest.update(np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes())
            column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        values = column.to_numpy(zero_copy_only=False)
        kind = {"b": "u1", "i": "<i8", "f": "<f8"}[values.dtype.kind]
        digest.update(values.astype(kind).tobytes())


def _joined(texts: pa.Array[Any]) -> bytes | memoryview:
    """Return all texts of a column, one after the other, as UTF-8."""
    _, offsets, content = texts.buffers()
    if offsets is None or content is None:
        return b""
    bounds = np.frombuffer(memoryview(offsets), "<i4")[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(content)[int(bounds[0]) : int(bounds[-1])]
