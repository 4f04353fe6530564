"""Writing items out: tab-separated text, JSON lines, Parquet."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tseval.items import Case


def write_items(blocks: Iterable[Case], format_: str, out: IO[bytes]) -> None:
    """Write items as they come.

    Args:
        blocks: The items; a large case may come in several blocks.
        format_: `tsv` (the case, then the sentences in label order, and the features of strings of formal
            languages; no header), `jsonl` (one object per
            item) or `parquet` (a column for every label and feature).
        out: Where to.
    """
    {"tsv": _write_tsv, "jsonl": _write_jsonl, "parquet": _write_parquet}[format_](blocks, out)


def _write_tsv(blocks: Iterable[Case], out: IO[bytes]) -> None:
    for case in blocks:
        columns: list[Any] = [case.sentences.column(label).combine_chunks() for label in case.labels]
        if case.question.asks() is not None:
            columns += _shown_features(case)
        columns[-1] = pc.binary_join_element_wise(columns[-1], "", "\n")
        lines = pc.binary_join_element_wise(case.name, *columns, "\t")
        # The rows of a text column lie one after the other in memory: that is the file.
        _, offsets, texts = lines.buffers()
        if texts is not None:
            out.write(memoryview(texts)[: np.frombuffer(offsets, dtype=np.int32)[case.n_items]])


def _shown_features(case: Case) -> Iterator[Any]:
    """Show the features of strings of a formal language, `depth=3`: these say little by themselves."""
    for name in case.features.column_names:
        values: Any = case.features[name].combine_chunks().cast(pa.string())
        yield pc.binary_join_element_wise(name, values, "=")


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
