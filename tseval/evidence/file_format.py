"""The file format of evidence.parquet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import EvidenceError
from tseval.evidence.record import AFTER_SENTENCES, Evidence, Unit
from tseval.formats import ContentError, checked, parse_json
from tseval.questions.answers import ANSWER, ANSWER_COLUMNS
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from pathlib import Path


EVIDENCE_FORMAT = 1
KEY = b"tseval.evidence"
_TYPES: dict[str, pa.DataType] = {
    "seen": pa.string(),
    "right": pa.float64(),
    "wrong": pa.float64(),
    "pieces": pa.float32(),
    "unscored": pa.int64(),
    **dict.fromkeys(AFTER_SENTENCES, pa.list_(pa.float32())),
    **ANSWER_COLUMNS,
}
_COLUMNS = {"logprob", *_TYPES}
# Optional columns in addition to `logprob` and `seen`, in this order.
_SOMETIMES: tuple[list[str], ...] = (
    [], ["right", "wrong"], ["pieces"], ["unscored"], ["pieces", "unscored"], [*AFTER_SENTENCES],
    ["pieces", *AFTER_SENTENCES], [*AFTER_SENTENCES, "unscored"], ["pieces", *AFTER_SENTENCES, "unscored"],
    [*ANSWER_COLUMNS],
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Head:
    """The metadata of the file."""

    format: int
    suite_digest: str
    unit: Unit
    apart: tuple[tuple[int, int], ...]
    too_long: tuple[int, ...] = ()


def evidence_bytes(evidence: Evidence) -> bytes:
    """Return the bytes of `evidence.parquet`."""
    head = {
        "format": EVIDENCE_FORMAT,
        "suite_digest": evidence.suite_digest,
        "unit": evidence.unit,
        "apart": list(evidence.apart.items()),
        **({"too_long": evidence.too_long} if evidence.too_long else {}),
    }
    table = evidence.table.replace_schema_metadata({KEY: json.dumps(head).encode()})
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=_levels(table.column_names),
        use_dictionary=["seen"],  # type: ignore[arg-type]
        column_encoding=dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
    )
    return sink.getvalue().to_pybytes()


def _levels(names: list[str]) -> dict[str, int]:
    """Return the compression level of each column; columns of `AFTER_SENTENCES` are hardly compressible."""
    return {f"{name}.list.element" if name in AFTER_SENTENCES else name: 1 if name in AFTER_SENTENCES else 19
            for name in names}  # fmt: skip


def read_evidence(source: Path | bytes) -> Evidence:
    """Read evidence from a file, or from its bytes.

    Raises:
        OSError: The file cannot be opened.
        EvidenceError: The file has other contents, or a newer tseval wrote it.
    """
    try:
        table = read_parquet(source, _TYPES, needed=["seen"], known=_COLUMNS)
        head = _head(table)
        number_type = pa.float64() if head.unit == "sentence" else pa.float32()
        _check_columns(table, number_type)
    except ContentError as error:
        raise EvidenceError(f"the file is not a file of evidence (per-token scores): {error}") from None
    table = table.replace_schema_metadata(None)
    return Evidence(head.suite_digest, head.unit, dict(head.apart), table, head.too_long)


def _head(table: pa.Table) -> _Head:
    try:
        content = parse_json((table.schema.metadata or {})[KEY].decode())
    except (KeyError, ValueError, RecursionError):
        raise ContentError("the metadata of the file do not name the suite") from None
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version > EVIDENCE_FORMAT:
        raise ContentError(
            f"the file has format {version}, but this version of tseval reads formats up to "
            f"{EVIDENCE_FORMAT}: update tseval"
        )
    return checked(content, _Head)


def _check_columns(table: pa.Table, wanted: pa.DataType) -> None:
    names = table.column_names
    required, optional = names[:2], names[2:]
    if required != ["logprob", "seen"] or optional not in _SOMETIMES:
        raise ContentError(
            f"the columns of the file are {', '.join(names)}, but the first two must be logprob and seen"
        )
    if table["logprob"].type != wanted or table["logprob"].null_count:
        raise ContentError(f"the column 'logprob' should have a number of type {wanted} in every row")
    if "pieces" in names and table["pieces"].null_count:
        raise ContentError("the column 'pieces' should have a number in every row")
    if ANSWER in names and table[ANSWER].null_count:
        raise ContentError(f"the column {ANSWER!r} should have a text in every row")
