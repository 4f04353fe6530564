"""Write the items of a suite: tab-separated text, JSON lines or Parquet."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tseval.items import Case


def write_items(
    blocks: Iterable[Case], format_: str, out: IO[bytes], labels: Sequence[str] | None = None
) -> None:
    """Write items block by block; a large case may have several blocks.

    `tsv` holds the case, then the sentences in label order; for formal languages also the features. `jsonl`
    holds one object per item, `parquet` a column for every label and feature. If `labels` of all cases are
    given, `tsv` has a header and a column for each label, which is empty if a case lacks it.
    """
    as_text = (case.as_text() for case in blocks)
    if format_ == "tsv":
        _write_tsv(as_text, out, labels)
    else:
        {"jsonl": _write_jsonl, "parquet": _write_parquet}[format_](as_text, out)


def _write_tsv(blocks: Iterable[Case], out: IO[bytes], labels: Sequence[str] | None) -> None:
    for place, case in enumerate(blocks):
        needs_features = case.question.asks() is not None  # strings of a formal language need their features
        if labels is not None and place == 0:
            names = ["case", *labels, *(case.features.column_names if needs_features else ())]
            out.write("\t".join(names).encode() + b"\n")
        columns: list[Any] = [
            case.sentences.column(label).combine_chunks()
            if label in case.labels
            else pa.repeat("", case.n_items)
            for label in labels or case.labels
        ]
        if needs_features:
            for name in case.features.column_names:
                values: Any = case.features[name].combine_chunks().cast(pa.string())
                columns.append(pc.binary_join_element_wise(name, values, "="))
        columns[-1] = pc.binary_join_element_wise(columns[-1], "", "\n")
        lines = pc.binary_join_element_wise(case.name, *columns, "\t")
        # The rows of a text column are adjacent in memory, in the format of the file.
        _, offsets, texts = lines.buffers()
        if texts is not None:
            out.write(memoryview(texts)[: np.frombuffer(offsets, dtype=np.int32)[case.n_items]])


def _write_jsonl(blocks: Iterable[Case], out: IO[bytes]) -> None:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for case in blocks:
        row = {name: getattr(case, name) for name in ("construction", "phenomenon", "dependency")}
        for item in case.items():
            content = {"sentences": item.sentences, "features": item.features}
            out.write(encode({"case": item.case, "item": item.index, **content, **row}).encode() + b"\n")


def _write_parquet(blocks: Iterable[Case], out: IO[bytes]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import, and rarely wanted

    tables = []
    for case in blocks:
        columns: dict[str, Any] = {"case": pa.repeat(case.name, case.n_items), "item": case.index}
        for name in ("construction", "phenomenon", "dependency"):
            columns[name] = pa.array([getattr(case, name)] * case.n_items, type=pa.string())
        for table in (case.sentences, case.features):
            columns |= {name: table.column(name) for name in table.column_names}
        tables.append(pa.table(columns))
    # Cases have different features, so the columns are known only after all cases.
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), out)
