"""Write tables of examples and of pairs: Parquet, or text with tabs between cells, compressed or not."""

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
    """Refuse to write a file where one cannot be written, or must not."""
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
    """Write a table as its ending says: parquet, or else as a text, which `.gz` compresses."""
    if path.name.endswith(".parquet"):
        write_whole(path, lambda file: pq.write_table(table, file))
    elif path.name.endswith(".gz"):
        # Without a time stamp: the same rows give the same bytes.
        write_whole(path, gzip.compress(as_text(table), mtime=0))
    else:
        write_whole(path, as_text(table))
