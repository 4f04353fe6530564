"""Columns of tables of scored sentences, without chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa


def whole_column(table: pa.Table, name: str) -> pa.StringArray:
    """Return a column of text as one array."""
    column = table[name]  # `combine_chunks` copies even a single chunk
    return cast("pa.StringArray", column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def flat_column(table: pa.Table, name: str) -> pa.FloatArray:
    """Return the numbers of a column of lists, concatenated."""
    lists = cast("pa.ListArray[pa.FloatScalar]", table[name].combine_chunks())
    return cast("pa.FloatArray", lists.flatten())
