"""The files of a run: their formats and their digests."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import RunError
from tseval.files import read_bytes
from tseval.formats import read_parquet
from tseval.scoring.engine import Part

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTEXTS = b"contexts"
# All data files of a complete run.
RUN_FILES = ("sentences.parquet", "verdicts.parquet", "table.md", "table.csv")

# What tables hold; verdicts have a column for every feature besides.
SENTENCES: dict[str, pa.DataType] = {
    "sentence": pa.string(),
    "seen": pa.string(),
    "logprob": pa.float64(),
    "words": pa.list_(pa.float32()),
    "n_unknown": pa.int32(),
}
# Beside them stand, where something is asked inside sentences, what the right and the wrong symbols have;
# where words were corrected, the sums over their pieces, of which the sentence's is made; first tokens, where
# the model leaves them unscored; and where scores were normalised, what they were normalised by.
SOMETIMES: dict[str, pa.DataType] = {
    **dict.fromkeys(("right", "wrong"), pa.list_(pa.float64())),
    "pieces": pa.list_(pa.float32()),
    "unscored": pa.int64(),
    "n_tokens": pa.int32(),
    "unigram_logprob": pa.float64(),
}
VERDICTS: dict[str, pa.DataType] = {
    "case": pa.string(),
    "item": pa.int64(),
    **dict.fromkeys(("construction", "phenomenon", "dependency", "contrast"), pa.string()),
    **dict.fromkeys(("better_score", "worse_score"), pa.float64()),
    **dict.fromkeys(("correct", "tie", "undecidable"), pa.bool_()),
}


def to_parquet(table: pa.Table) -> bytes:
    """Give the bytes of a parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def read_sentences(content: bytes) -> pa.Table:
    """Read scored sentences.

    Raises:
        ContentError: The bytes are something else.
    """
    return read_parquet(content, SENTENCES | SOMETIMES, needed=SENTENCES)


def part_bytes(part: Part) -> bytes:
    """Give the bytes of a saved part; the number of its contexts stands in the metadata of the file."""
    return to_parquet(part.table.replace_schema_metadata({CONTEXTS: str(part.n_contexts)}))


def read_part(content: bytes) -> Part:
    """Read a saved part as it was scored, so that a resumed run writes the very bytes of an undisturbed one.

    Raises:
        ContentError: The bytes are something else.
    """
    table = read_sentences(content)
    noted = (table.schema.metadata or {}).get(CONTEXTS, b"")
    return Part(table.cast(_as_scored(table.schema)), int(noted) if noted.isdigit() else 0)


def _as_scored(schema: pa.Schema) -> pa.Schema:
    """Call the entries of lists `item` again: parquet calls them `element`, and the name would be written."""
    types = {one.name: one.type for one in schema}
    return pa.schema(
        (name, pa.list_(kind.value_type) if pa.types.is_list(kind) else kind) for name, kind in types.items()
    )


def digest(content: bytes) -> str:
    """SHA-256 of a file's bytes, in hex."""
    return sha256(content).hexdigest()


def read_intact(path: Path, files: Mapping[str, str], name: str) -> bytes:
    """Read one file of a complete run and hold it to the digest in the manifest.

    Raises:
        RunError: The file is missing, damaged or edited.
        LimitError: It is too large.
    """
    try:
        content = read_bytes(path / name)
    except OSError as error:
        raise RunError(f"{path / name}: {error.strerror}.\n  The run is damaged: score it again.") from None
    if digest(content) != files.get(name):
        raise RunError(
            f"{path / name} is not the file the manifest describes: it was damaged or edited.\n"
            "  Score the run again, into a new directory."
        )
    return content
