"""Columns of tables, and their part in the digest of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import hashlib


def named_columns(table: pa.Table) -> list[tuple[str, pa.Array[Any]]]:
    """Return the columns of a table, each in one piece, with its name."""
    return [(name, table.column(name).combine_chunks()) for name in table.column_names]


def hash_column(digest: hashlib._Hash, column: pa.Array[Any]) -> None:
    """Add a column to a digest: the lengths of its texts and the texts, or its numbers, little-endian."""
    if pa.types.is_string(column.type):
        texts: list[Any] = column.to_pylist()
        lengths = np.array([len(text) for text in texts], dtype="<i4")
        digest.update(lengths.tobytes())
        digest.update("".join(texts).encode())
    else:
        if column.null_count:  # of a column without gaps the digest is what it was before there were any
            digest.update(np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes())
            column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        values = column.to_numpy(zero_copy_only=False)
        kind = {"b": "u1", "i": "<i8", "f": "<f8"}[values.dtype.kind]
        digest.update(values.astype(kind).tobytes())
