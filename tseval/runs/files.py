"""The files of a run: their formats and their digests."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTEXTS = b"contexts"


def to_parquet(table: pa.Table) -> bytes:
    """Give the bytes of a parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def from_parquet(content: bytes) -> pa.Table:
    """Read the bytes of a parquet file.

    Raises:
        pa.ArrowException: The bytes are something else; for broken metadata, OSError.
    """
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


def read_intact(path: Path, files: Mapping[str, str], name: str) -> bytes:
    """Read one file of a complete run and hold it to the digest in the manifest.

    Raises:
        RunError: The file is missing, damaged or edited.
    """
    try:
        content = (path / name).read_bytes()
    except OSError as error:
        raise RunError(f"{path / name}: {error.strerror}.\n  The run is damaged: score it again.") from None
    if digest(content) != files.get(name):
        raise RunError(
            f"{path / name} is not the file the manifest describes: it was damaged or edited.\n"
            "  Score the run again, into a new directory."
        )
    return content
