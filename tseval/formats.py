"""Readers of JSON, YAML and JSON lines, which check the content against dataclasses."""

from __future__ import annotations

import codecs
import json
import re
import sys
import zlib
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tseval.errors import SuiteError, reason
from tseval.files import beyond, limits, open_limited, read_bytes

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from yaml import Node

    from tseval.files import Limits

    Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
    Record = dict[str, Json]
    Row = tuple[str, list[str]]
else:
    Json = object  # msgspec cannot check data against a recursive type


T = TypeVar("T")


class ContentError(Exception):
    """A file with wrong content; the message reads like `models[0].name: is missing`."""

    def __init__(self, what: str, where: str | None = None):  # None if the file as a whole is unreadable
        super().__init__(what if where is None else f"{where}: {what}")
        self.what, self.where = what, where


def read_json(file: Path) -> Json:
    """Read a JSON file.

    Raises:
        OSError, LimitError: The file cannot be read, or is too large.
        ContentError: The file is not JSON.
    """
    try:
        return parse_json(read_bytes(file, "document_bytes").decode())
    except (ValueError, RecursionError) as error:
        raise ContentError(f"not a JSON file ({error})") from None


def parse_json(text: str) -> Json:
    """Parse JSON, and refuse duplicate keys, because programs differ in which of the two values they use."""
    try:
        return json.loads(text, object_pairs_hook=_each_once)  # type: ignore[no-any-return]
    except (json.JSONDecodeError, _TwiceError):
        raise
    except ValueError:  # Python refuses longer numbers, because converting them is slow
        most = sys.get_int_max_str_digits()
        raise ValueError(f"a whole number has more than {most:,} digits") from None


class _TwiceError(ValueError):
    """A name that appears twice in one object."""


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"the key {duplicate[:60]!r} appears twice in one object")
    return mapping


MOST_DIGITS = 100


def read_yaml(file: Path) -> Json:
    """Read a YAML file as plain data, without constructs that mislead people.

    Aliases are refused, because a few of them can expand to billions of values. Merged mappings are refused,
    and so are duplicate keys: people see the first of two, and programs use the last.

    Raises:
        OSError, LimitError: The file cannot be read, or is too large.
        ContentError: The file is not YAML, or has one of these.
    """
    import yaml  # noqa: PLC0415 - most commands read none

    try:
        root = _root_of(read_bytes(file, "grammar_bytes").decode())
        return None if root is None else yaml.SafeLoader("").construct_document(root)
    except (yaml.YAMLError, RecursionError, *_OF_VALUES) as error:
        raise ContentError(f"not a YAML file ({' '.join(str(error).split())})") from None


@lru_cache(maxsize=512)  # entries of a leaderboard are read several times in one command
def _root_of(text: str) -> Node | None:
    """Parse a document, and refuse aliases, merged mappings and duplicate keys."""
    import yaml  # noqa: PLC0415 - most commands read none

    if "*" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
        raise ContentError("YAML aliases (*name) are not allowed: write the values instead of the alias")
    root = yaml.SafeLoader(text).get_single_node()
    if root is not None:
        _refuse_ambiguous(root)
    return root


def _refuse_ambiguous(root: Node) -> None:
    """Refuse duplicate keys, merged mappings, and numbers too long to print."""
    from yaml import MappingNode, ScalarNode, SequenceNode  # noqa: PLC0415 - most commands read none

    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, SequenceNode):
            pending += node.value
        elif isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:int":
            if len(node.value) > MOST_DIGITS:  # Python cannot print such a number
                line = f"line {node.start_mark.line + 1}"
                raise ContentError(f"a whole number has more than {MOST_DIGITS} digits ({line})")
        elif isinstance(node, MappingNode):
            keys = set()
            for key, value in node.value:
                line = f"line {key.start_mark.line + 1}"
                if key.tag == "tag:yaml.org,2002:merge":
                    raise ContentError(
                        f"YAML merge keys (<<) are not allowed: write the keys and values themselves ({line})"
                    )
                if isinstance(key, ScalarNode):
                    if (key.tag, key.value) in keys:
                        raise ContentError(f"the key {key.value[:60]!r} appears twice ({line}): keep one")
                    keys.add((key.tag, key.value))
                pending += [key, value]


# Errors that PyYAML lets through if a value does not fit its tag, as in `!!timestamp x` and `!!bool x`.
_OF_VALUES = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError)


def checked(content: object, kind: type[T]) -> T:
    """Convert plain data into a dataclass, or another type; unknown fields are ignored.

    Raises:
        ContentError: A field is missing or has the wrong type; the message names it.
    """
    try:
        return msgspec.convert(content, kind)
    except UnicodeEncodeError:
        raise ContentError(
            "a key contains half of a Unicode character (a lone surrogate)", "the file"
        ) from None
    except msgspec.ValidationError as error:
        message = str(error)
    try:
        explanation = _explained(deepcopy(content), kind, message)
    except RecursionError:
        explanation = ContentError("its lists and mappings are nested too deeply", "the file")
    raise explanation


# Form of msgspec's messages: "Expected `str | null`, got `int` - at `$.rows[0].accuracy[...]`", and for the
# keys of a mapping "at `key` in `$.rows`". Brackets hold a number, or three dots for some key.
_SAID = re.compile(r"(.*?)(?: - at (`key` in )?`\$(.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN_VALUE = "Invalid enum value "
_EXPECTED = re.compile(r"Expected `(.*?)`.*")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]")
_KINDS = {
    "str": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}


def _explained(content: object, kind: type[T], said: str) -> ContentError:
    """Translate a message of msgspec, and add the wrong value, which msgspec does not show."""
    description, key, path = _SAID.fullmatch(said).groups(default="")  # type: ignore[union-attr]
    location, value = "", content
    for step in _STEP.finditer(path):
        name, number = step.groups()
        if number:
            location, value = f"{location}[{number}]", value[int(number)]  # type: ignore[index]
        else:
            name = name or _wrong_entry(content, kind, said, value)  # type: ignore[arg-type]
            location, value = f"{location}.{name}", value[name]  # type: ignore[index]
    location = location.removeprefix(".")
    if missing := _MISSING.fullmatch(description):
        return ContentError("is missing", f"{location}.{missing[1]}".removeprefix("."))
    if key:
        return ContentError("one of its keys is not text: write keys in quotes", location or "the file")
    if description.startswith(_UNKNOWN_VALUE):
        return ContentError(
            f"{json.dumps(value, default=str)[:60]} is not one of the values that this key can have",
            location or "the file",
        )
    expected = _EXPECTED.fullmatch(description)
    assert expected is not None, said
    kinds = [_KINDS[type_name] for type_name in expected[1].split(" | ") if type_name != "null"]
    # An entry of a list, or the whole file, may be long.
    shows_value = location and not location.endswith("]")
    value_text = f", not {json.dumps(value, default=str)[:60]}" if shows_value else ""
    return ContentError(f"should be {' or '.join(kinds)}{value_text}", location or "the file")


def _wrong_entry(content: object, kind: type[T], said: str, mapping: dict[str, object]) -> str:
    """Find the first wrong entry of a mapping: the one that alone causes the same error message."""
    entries = dict(mapping)
    for name, value in entries.items():
        mapping.clear()
        mapping[name] = value
        try:
            msgspec.convert(content, kind)
        except msgspec.ValidationError as error:
            if str(error) == said:
                return name
    raise AssertionError(said)


UTF_8 = "utf-8"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 20
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def bare_name(path: Path) -> str:
    """Return the name of a file without `.gz`."""
    return path.name.removesuffix(".gz")


def stem_of(path: Path) -> str:
    """Return the name of a file without its endings; it is used if its records have no name."""
    return bare_name(path).partition(".")[0]


def read_lines(path: Path, encoding: str = UTF_8) -> Iterator[tuple[str, str]]:
    """Yield every line of a text with its place, `file:line`, without blank lines."""
    for number, line in numbered_lines(path, encoding=encoding):
        if line.strip():
            yield f"{path}:{number}", line


def numbered_lines(
    path: Path, limit: str = "file_bytes", rows: bool = True, encoding: str = UTF_8
) -> Iterator[tuple[int, str]]:
    """Yield every line of a text with its number, from 1, and without its line end, reading block by block.

    A file that begins with a byte order mark of UTF-16 is read as UTF-16 for every `encoding`. `limit`
    names the limit on bytes; with `rows`, the number of lines is limited too.
    """
    bounds, number = limits(), 0
    for block in _blocks(path, limit, bounds, encoding):
        for line in block:
            number += 1
            if rows and number > bounds.rows:
                raise beyond("rows", path, "the file has too many lines")
            yield number, line.rstrip("\r")


def _blocks(path: Path, limit: str, within: Limits, encoding: str) -> Iterator[list[str]]:
    """Yield the lines of a text in blocks, because decoding each line by itself is slower."""
    number, start = 0, 0
    with _reading(path), open_limited(path, limit) as file:
        read = _in_utf8(path, file, encoding)
        rest = read().removeprefix(codecs.BOM_UTF8)
        while rest:
            block = read()
            end = rest.rfind(b"\n") + 1 if block else len(rest)
            complete, rest = rest[:end], rest[end:] + block
            try:
                lines = complete.decode().split("\n")
            except UnicodeDecodeError as error:
                offset, line = start + error.start, number + complete.count(b"\n", 0, error.start) + 1
                raise SuiteError(
                    f"{path}: line {line} is not UTF-8 text ({error.reason} at byte {offset} of the file).\n"
                    "  Save the file as UTF-8. If the file is a table, you can name its encoding instead: "
                    "--columns encoding=latin-1."
                ) from None
            # A character has at most four bytes.
            if max(map(len, lines)) > within.line_chars or len(rest) - len(block) > 4 * within.line_chars:
                raise beyond("line_chars", f"{path}, after line {number}", "a line has too many characters")
            if lines[-1] == "":
                lines.pop()  # the empty text after the last line end
            number, start = number + len(lines), start + len(complete)
            yield lines


def _in_utf8(path: Path, file: io.BufferedReader, encoding: str) -> Callable[[], bytes]:
    """Return a function that reads a text block by block as UTF-8, and returns b"" at the end."""
    if file.peek(2)[:2] in _MARKS:
        encoding = "utf-16"
    if encoding == UTF_8:
        return lambda: file.read(_BLOCK)
    decoder = codecs.getincrementaldecoder(encoding)()

    def read() -> bytes:
        text, block = "", b"?"
        while not text and block:  # a block may hold only half a character
            block = file.read(_BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise SuiteError(
                    f"{path}: the file is not text in the encoding {encoding} ({error.reason}).\n  Save the "
                    "file as UTF-8, or name its right encoding: --columns encoding=NAME."
                ) from None
        return text.encode(errors="surrogatepass")

    return read


def known_encoding(name: str) -> str:
    """Return the standard name of a text encoding; refuse unknown names."""
    try:
        if (codec := codecs.lookup(name)) and codec._is_text_encoding:
            return UTF_8 if codec.name == "utf-8" else codec.name
    except LookupError:
        pass
    raise SuiteError(
        f"--columns: {name!r} is not an encoding that Python knows.\n  Name the encoding of the file, for "
        "example latin-1, cp1252 or utf-16."
    )


def read_text(path: Path, encoding: str = UTF_8) -> str:
    """Return the whole text of a document."""
    try:
        with _reading(path):
            content = read_bytes(path, "document_bytes")
            marked = "utf-16" if content[:2] in _MARKS else encoding
            return content.decode("utf-8-sig" if marked == UTF_8 else marked)
    except UnicodeDecodeError as error:
        raise SuiteError(
            f"{path}: the file is not UTF-8 text ({error.reason} at byte {error.start}).\n  Save the file "
            "as UTF-8."
        ) from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(
            f"{path}: tseval cannot read this file ({reason(error)}).\n  Check the name of the file, and "
            "that you may read the file."
        ) from None


def read_jsonl(path: Path, encoding: str = UTF_8) -> Iterator[tuple[str, Record]]:
    """Yield every record of a JSON Lines file with its place."""
    most = limits().columns
    for place, line in read_lines(path, encoding):
        record = parse_data(line, place)
        if not isinstance(record, dict):
            raise SuiteError(
                f"{place}: this line is not a JSON object: {line[:40]}\n  Write one object, such as "
                f'{{"good": ...}}, on each line.'
            )
        if len(record) > most:
            raise beyond("columns", place, "the JSON object has too many keys")
        yield place, record


def parse_data(text: str, place: str) -> Json:
    """Parse one JSON record of data; refuse invalid or too deeply nested JSON and lone surrogates."""
    try:
        value = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{place}: no JSON ({error})") from None
    # Most records are flat. This count is faster than a look-up of the limit.
    nested = text.count("[") + text.count("{")
    if nested > 1 and nested > limits().depth and _is_deeper(value, limits().depth):
        raise beyond("depth", place, "too many lists and mappings are nested in one another")
    if _HALF_CHARACTER.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise SuiteError(
                f"{place}: {half} is half a character (a lone surrogate).\n  Correct the \\u escape in this "
                "line."
            ) from None
    return value


def _is_deeper(value: Json, most: int) -> bool:
    """Return whether lists and mappings are nested more than `most` levels deep."""
    level = [value]
    for _ in range(most + 1):
        lists = [inner for entry in level if isinstance(entry, list) for inner in entry]
        level = lists + [inner for entry in level if isinstance(entry, dict) for inner in entry.values()]
        if not level:
            return False
    return True


def is_count(text: str) -> bool:
    """Return whether a cell is a whole number from 0 on that fits 64 bits."""
    return text.isdecimal() and len(text) <= 18


def whole_number(place: str, name: str, text: str) -> int:
    """Read a cell that holds a whole number from 0 on."""
    if not is_count(text):
        raise SuiteError(
            f"{place}: the column {name!r} has {text!r}, but must have a whole number.\n  Write a whole "
            "number, such as 0 or 3."
        )
    return int(text)


def fits(number: int) -> bool:
    """Return whether a whole number fits a column (64 bits)."""
    return -(2**63) <= number < 2**63
