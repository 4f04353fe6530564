"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

PARTIAL = ".partial"
CONTEXTS = b"contexts"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader finds the old one or the new one, even after a power cut.

    Raises:
        OSError: Nothing was written; a partial file is removed.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make renames in a directory last."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def to_parquet(table: pa.Table) -> bytes:
    """Give the bytes of a parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def from_parquet(content: bytes) -> pa.Table:
    """Read the bytes of a parquet file."""
    return pq.read_table(pa.BufferReader(content))


def with_contexts(scored: pa.Table, n_contexts: int) -> pa.Table:
    """Note on scored sentences how many contexts were computed for them; parquet keeps the note."""
    return scored.replace_schema_metadata({CONTEXTS: str(n_contexts)})


def contexts_of(scored: pa.Table) -> int:
    """Read how many contexts were computed for scored sentences; 0 where it was not noted."""
    noted = (scored.schema.metadata or {}).get(CONTEXTS, b"")
    return int(noted) if noted.isdigit() else 0


def digest(content: bytes) -> str:
    """SHA-256 of a file's bytes, in hex."""
    return sha256(content).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all.

    Raises:
        RunError: The file cannot be written.
    """
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}.") from None
