"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import RunError
from tseval.files import write_whole
from tseval.scoring.engine import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def part_bytes(part: Part) -> bytes:
    """Give the bytes of a saved part; the number of its contexts stands in the metadata of the file."""
    return to_parquet(part.table.replace_schema_metadata({CONTEXTS: str(part.n_contexts)}))


def read_part(content: bytes) -> Part:
    """Read a saved part.

    Raises:
        pa.ArrowException: The bytes are something else; for broken metadata, OSError.
    """
    table = from_parquet(content)
    noted = (table.schema.metadata or {}).get(CONTEXTS, b"")
    return Part(table.replace_schema_metadata(None), int(noted) if noted.isdigit() else 0)


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


def encode_text(text: str) -> bytes:
    """Give the bytes of a text; what is no text (halves of surrogate pairs) becomes a question mark."""
    return text.encode(errors="replace")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all; links are followed, devices and pipes written into.

    Raises:
        RunError: The file cannot be written.
    """
    try:
        if _is_stream(path):
            path.write_bytes(encode_text(text))
        else:
            write_whole(Path(os.path.realpath(path)), encode_text(text))
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}.") from None


def _is_stream(path: Path) -> bool:
    """Tell whether a path is to be written into, not replaced: a pipe, a device, /dev/stdout."""
    system = Path(os.path.abspath(path)).parts[1:2] in {("dev",), ("proc",)}
    return system or (path.exists() and not path.is_file())
