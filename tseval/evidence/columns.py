"""Columns of tables of scored sentences, in one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa


def whole_column(table: pa.Table, name: str) -> pa.StringArray:
    """Return a column of text in one piece."""
    column = table[name]  # to combine a single chunk copies it
    return cast("pa.StringArray", column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def flat_column(table: pa.Table, name: str) -> pa.FloatArray:
    """Return the numbers of a column of lists end to end."""
    lists = cast("pa.ListArray[pa.FloatScalar]", table[name].combine_chunks())
    return cast("pa.FloatArray", lists.flatten())
