"""Write tables of examples and pairs: Parquet, or tab-separated text, compressed or not."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import SuiteError
from tseval.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def check_new_file(output: Path, endings: Sequence[str], file_kind: str, resume: bool = False) -> None:
    """Refuse an output file that has a wrong ending, has no folder, or exists already."""
    if not output.name.endswith(tuple(endings)):
        raise SuiteError(
            f"{output}: the name of a {file_kind} must end in {' or '.join(endings)}.\n  Change the name "
            "after -o."
        )
    if not output.absolute().parent.is_dir():
        raise SuiteError(
            f"{output.parent}: this folder does not exist.\n  Make the folder: mkdir -p {output.parent}"
        )
    if output.exists() and not resume:
        raise SuiteError(
            f"{output}: this file exists already.\n  Name another file after -o, or remove {output}."
        )


def write_as_named(table: pa.Table, path: Path, as_text: Callable[[pa.Table], bytes]) -> None:
    """Write a table in the format of its ending: Parquet, or text, which `.gz` compresses."""
    if path.name.endswith(".parquet"):
        write_whole(path, lambda file: pq.write_table(table, file))
    elif path.name.endswith(".gz"):
        # No time stamp, so that the same rows give the same bytes.
        write_whole(path, gzip.compress(as_text(table), mtime=0))
    else:
        write_whole(path, as_text(table))
