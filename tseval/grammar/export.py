"""Writing items out: tab-separated text, JSON lines, Parquet."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tseval.items import Case

FORMATS = ("tsv", "jsonl", "parquet")


def write_items(blocks: Iterable[Case], format_: str, out: IO[bytes]) -> None:
    """Write items as they come.

    Args:
        blocks: The items; a large case may come in several blocks.
        format_: `tsv` (the case, then the sentences in label order; no header), `jsonl` (one object per
            item) or `parquet` (a column for every label and feature).
        out: Where to.
    """
    {"tsv": _write_tsv, "jsonl": _write_jsonl, "parquet": _write_parquet}[format_](blocks, out)


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when everything has been written.

    Raises:
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():
        # A pipe or /dev/stdout: to be written to, not to be replaced.
        with path.open("wb") as out:
            yield out
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as out:
            yield out
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def _write_tsv(blocks: Iterable[Case], out: IO[bytes]) -> None:
    for case in blocks:
        columns: list[Any] = [case.sentences.column(label).combine_chunks() for label in case.labels]
        columns[-1] = pc.binary_join_element_wise(columns[-1], "", "\n")
        lines = pc.binary_join_element_wise(case.name, *columns, "\t")
        # The rows of a text column lie one after the other in memory: that is the file.
        _, offsets, texts = lines.buffers()
        if texts is not None:
            out.write(memoryview(texts)[: np.frombuffer(offsets, dtype=np.int32)[case.n_items]])


def _write_jsonl(blocks: Iterable[Case], out: IO[bytes]) -> None:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for case in blocks:
        row = {
            "construction": case.construction,
            "phenomenon": case.phenomenon,
            "dependency": case.dependency,
        }
        for item in case.items():
            own = {"sentences": item.sentences, "features": item.features}
            out.write(encode({"case": item.case, "item": item.index, **own, **row}).encode() + b"\n")


def _write_parquet(blocks: Iterable[Case], out: IO[bytes]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import, and rarely wanted

    # Cases differ in their features, so the columns are known only when all have been seen.
    tables = [_as_table(case) for case in blocks]
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), out)


def _as_table(case: Case) -> pa.Table:
    columns: dict[str, Any] = {"case": pa.repeat(case.name, case.n_items), "item": case.index}
    for name in ("construction", "phenomenon", "dependency"):
        columns[name] = pa.array([getattr(case, name)] * case.n_items, type=pa.string())
    for table in (case.sentences, case.features):
        columns |= {name: table.column(name) for name in table.column_names}
    return pa.table(columns)
