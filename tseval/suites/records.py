"""Read files of records, plain or gzip-compressed: JSON lines, tab-separated values, plain lines."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, cast

from tseval.errors import SuiteError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.checked import Json

    Record = dict[str, Json]


def bare_name(path: Path) -> str:
    """Name a file without `.gz`."""
    return path.name.removesuffix(".gz")


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Give every line of a text with its place, `file:line`; blank ones are passed over.

    Raises:
        SuiteError: The file cannot be read, or is not UTF-8.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", line.rstrip("\r")


def read_text(path: Path) -> str:
    """Give the whole text of a file.

    Raises:
        SuiteError: The file cannot be read, or is not UTF-8.
    """
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(f"{path}: cannot be read ({reason(error)})") from None
    except UnicodeDecodeError as error:
        raise SuiteError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def read_jsonl(path: Path) -> Iterator[tuple[str, Record]]:
    """Give every record of a file of JSON lines with its place.

    Raises:
        SuiteError: A line is no JSON object.
    """
    for place, line in read_lines(path):
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise SuiteError(f"{place}: no JSON ({error})") from None
        if not isinstance(record, dict):
            raise SuiteError(f"{place}: no JSON object, but {line[:40]}")
        yield place, cast("Record", record)


def read_tsv(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give every row of a table with a header, as texts, with its place. Quotes are ordinary characters.

    Raises:
        SuiteError: A row has another number of columns than the header; a column has no name of its own.
    """
    lines = read_lines(path)
    header: list[str] = []
    for place, line in lines:
        cells = line.split("\t")
        if not header:
            header = [cell.strip() for cell in cells]
            if "" in header or len(set(header)) < len(header):
                raise SuiteError(f"{place}: every column needs a name of its own, but the header is {header}")
            continue
        if len(cells) != len(header):
            raise SuiteError(f"{place}: {len(cells)} columns, but the header has {len(header)}")
        yield place, dict(zip(header, cells, strict=True))
