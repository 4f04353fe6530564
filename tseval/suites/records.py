"""Read files of records, plain or gzip-compressed: JSON lines and plain lines (tables: `tables.py`)."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tseval.checked import parse_json
from tseval.errors import SuiteError, reason
from tseval.files import open_limited, read_bytes
from tseval.limits import beyond, limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.checked import Json
    from tseval.limits import Limits

    Record = dict[str, Json]

_BLOCK = 1 << 20
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def bare_name(path: Path) -> str:
    """Name a file without `.gz`."""
    return path.name.removesuffix(".gz")


def stem_of(path: Path) -> str:
    """Name a file without its endings: it stands in for what its records do not say."""
    return bare_name(path).partition(".")[0]


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Give every line of a text with its place, `file:line`; blank ones are passed over.

    Raises:
        SuiteError: The file cannot be read, or is not UTF-8.
        LimitError: It is larger than what is read.
    """
    for number, line in numbered_lines(path):
        if line.strip():
            yield f"{path}:{number}", line


def numbered_lines(path: Path, limit: str = "file_bytes", rows: bool = True) -> Iterator[tuple[int, str]]:
    """Give every line of a text with its number, from 1, without its end; reads no more than it gives.

    Args:
        path: The file.
        limit: Name of the limit on its size.
        rows: Whether the number of lines is limited too.

    Raises:
        SuiteError: The file cannot be read, or is not UTF-8.
        LimitError: It is larger than what is read.
    """
    within, number = limits(), 0
    for block in _blocks(path, limit, within):
        for line in block:
            number += 1
            if rows and number > within.rows:
                raise beyond("rows", path, "has more lines than")
            yield number, line.rstrip("\r")


def _blocks(path: Path, limit: str, within: Limits) -> Iterator[list[str]]:
    """Give the lines of a text, many at once: to decode each by itself would take longer."""
    number, start = 0, 0
    with _reading(path), open_limited(path, limit) as file:
        rest = file.read(_BLOCK).removeprefix(codecs.BOM_UTF8)
        while rest:
            more = file.read(_BLOCK)
            end = rest.rfind(b"\n") + 1 if more else len(rest)
            whole, rest = rest[:end], rest[end:] + more
            try:
                lines = whole.decode().split("\n")
            except UnicodeDecodeError as error:
                where, line = start + error.start, number + whole.count(b"\n", 0, error.start) + 1
                raise SuiteError(
                    f"{path}: not UTF-8 text ({error.reason} at byte {where}), in line {line}.\n"
                    "  Save it as UTF-8."
                ) from None
            # No character has more than four bytes.
            if max(map(len, lines)) > within.line_chars or len(rest) - len(more) > 4 * within.line_chars:
                raise beyond("line_chars", f"{path}, behind line {number}", "a line has more characters than")
            if lines[-1] == "":
                lines.pop()  # what stands behind the end of the last line
            number, start = number + len(lines), start + len(whole)
            yield lines


def read_text(path: Path) -> str:
    """Give the whole text of a document.

    Raises:
        SuiteError: The file cannot be read, or is not UTF-8.
        LimitError: It is larger than what is read.
    """
    try:
        with _reading(path):
            return read_bytes(path, "document_bytes").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SuiteError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(f"{path}: cannot be read ({reason(error)})") from None


def read_jsonl(path: Path) -> Iterator[tuple[str, Record]]:
    """Give every record of a file of JSON lines with its place.

    Raises:
        SuiteError: A line is no JSON object.
    """
    for place, line in read_lines(path):
        record = parse_data(line, place)
        if not isinstance(record, dict):
            raise SuiteError(f"{place}: no JSON object, but {line[:40]}")
        yield place, record


def parse_data(text: str, place: str) -> Json:
    """Read JSON whose texts are sentences, names and features.

    Raises:
        SuiteError: It is none, or a text in it is no text.
        LimitError: It is nested too deeply.
    """
    try:
        value = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{place}: no JSON ({error})") from None
    # Most records are flat: to look for the limit takes longer than to see that.
    nested = text.count("[") + text.count("{")
    if nested > 1 and nested > limits().depth and _is_deeper(value, limits().depth):
        raise beyond("depth", place, "lists and mappings inside one another are more than")
    if _HALF_CHARACTER.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise SuiteError(f"{place}: {half} is half a character.\n  Correct the \\u escape.") from None
    return value


def _is_deeper(value: Json, most: int) -> bool:
    """Tell whether lists and mappings are nested more deeply than they should."""
    level = [value]
    for _ in range(most + 1):
        lists = [inner for one in level if isinstance(one, list) for inner in one]
        level = lists + [inner for one in level if isinstance(one, dict) for inner in one.values()]
        if not level:
            return False
    return True


def is_count(text: str) -> bool:
    """Whether a cell is a whole number from 0 on, of a size that can be kept."""
    return text.isdecimal() and len(text) <= 18


def fits(number: int) -> bool:
    """Whether a whole number can be kept in a column."""
    return -(2**63) <= number < 2**63
