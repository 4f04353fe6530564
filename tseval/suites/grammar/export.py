"""Writing items out: tab-separated text, JSON lines, Parquet."""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tseval.suites.items import Case

FORMATS = ("tsv", "jsonl", "parquet")


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


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when everything has been written.

    Links are followed. Pipes and devices are written to as they are, and so is whatever lies under
    /dev and /proc, where a name (/dev/stdout) may stand for a file that is open elsewhere.

    Raises:
        OSError: It cannot be written; names `path`.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        if _is_open_elsewhere(path) or (target.exists() and not target.is_file()):
            with path.open("wb") as out:
                yield out
        else:
            with temporary.open("wb") as out:
                yield out
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _is_open_elsewhere(path: Path) -> bool:
    """Tell whether a path, or a link that it leads through, lies under /dev or /proc."""
    for _ in range(40):  # as many links as Linux follows
        absolute = os.path.abspath(path)
        if absolute.startswith(("/dev/", "/proc/")):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


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
