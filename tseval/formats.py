"""Read tables with a header, plain or gzip-compressed: tab-separated values, and csv."""

from __future__ import annotations

import codecs
import csv
import json
import re
import sys
import zlib
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tseval.errors import SuiteError, first_line, reason, shortened
from tseval.files import beyond, limits, open_limited, read_bytes, refuse_irregular

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from yaml import Node

    from tseval.files import Limits

    Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
    Record = dict[str, Json]
    Row = tuple[str, list[str]]
else:
    Json = object  # nothing can be held to a type that holds itself; what JSON gives is nothing else


T = TypeVar("T")


class ContentError(Exception):
    """A file that does not hold what it should; says it as `models[0].name: is missing`.

    Args:
        what: What is wrong.
        where: Path of the field; None where the file is not read at all.
    """

    def __init__(self, what: str, where: str | None = None):
        super().__init__(what if where is None else f"{where}: {what}")
        self.what, self.where = what, where


def read_json(file: Path) -> Json:
    """Read a JSON file.

    Raises:
        OSError: It cannot be read.
        LimitError: It is too large.
        ContentError: It is no JSON.
    """
    try:
        return parse_json(read_bytes(file, "document_bytes").decode())
    except (ValueError, RecursionError) as error:
        raise ContentError(f"not a JSON file ({error})") from None


def parse_json(text: str) -> Json:
    """Read JSON in which no object says one thing twice: each reader could believe another one.

    Raises:
        ValueError, RecursionError: It is none, says something twice, or cannot be kept.
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        raise
    except _TwiceError:
        raise
    except ValueError:  # Python reads no number that is longer, since it would take long
        most = sys.get_int_max_str_digits()
        raise ValueError(f"a whole number has more than {most:,} digits") from None


class _TwiceError(ValueError):
    """A name that stands twice in one object."""


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"the name {twice[:60]!r} stands twice in one object")
    return found


MOST_DIGITS = 100


def read_yaml(file: Path) -> Json:
    """Read a YAML file as plain data that stands where it is read.

    There are no aliases, a few of which can stand for billions of values, no merged mappings, and no key
    stands twice: of two, people see the first and programs the last.

    Raises:
        OSError: It cannot be read.
        LimitError: It is too large.
        ContentError: It is no YAML, or has one of these.
    """
    import yaml  # noqa: PLC0415 - most commands read none

    try:
        text = read_bytes(file, "grammar_bytes").decode()
        if "*" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise ContentError("aliases (*name) are refused: write the values out")
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        _refuse_ambiguous(root)
        return loader.construct_document(root)  # type: ignore[no-any-return]
    except (yaml.YAMLError, RecursionError, *_OF_VALUES) as error:
        raise ContentError(f"not a YAML file ({' '.join(str(error).split())})") from None


def _refuse_ambiguous(root: Node) -> None:
    """Look at every mapping of a YAML file; which keys are plain texts is all that can be told before.

    Raises:
        ContentError: A key stands twice, mappings are merged, or a number is too long to be shown.
    """
    from yaml import MappingNode, ScalarNode, SequenceNode  # noqa: PLC0415 - most commands read none

    left = [root]
    while left:
        node = left.pop()
        if isinstance(node, SequenceNode):
            left += node.value
        elif isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:int":
            if len(node.value) > MOST_DIGITS:  # Python prints no such number
                line = f"line {node.start_mark.line + 1}"
                raise ContentError(f"a whole number has more than {MOST_DIGITS} digits ({line})")
        elif isinstance(node, MappingNode):
            seen = set()
            for key, value in node.value:
                line = f"line {key.start_mark.line + 1}"
                if key.tag == "tag:yaml.org,2002:merge":
                    raise ContentError(f"merged mappings (<<) are refused: write the values out ({line})")
                if isinstance(key, ScalarNode):
                    if (key.tag, key.value) in seen:
                        raise ContentError(f"the key {key.value[:60]!r} stands twice ({line}): keep one")
                    seen.add((key.tag, key.value))
                left += [key, value]


# What the library lets pass where a value is not what its tag says, as in `!!timestamp x` and `!!bool x`.
_OF_VALUES = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError)


def checked(content: object, kind: type[T]) -> T:
    """Turn plain data into a dataclass, or another type; fields that it does not know are left out.

    Raises:
        ContentError: A field is missing or of another type; says which.
    """
    try:
        return msgspec.convert(content, kind)
    except UnicodeEncodeError:
        raise ContentError("has a name with half a character in it", "the file") from None
    except msgspec.ValidationError as error:
        said = str(error)
    try:
        explained = _explained(deepcopy(content), kind, said)
    except RecursionError:
        explained = ContentError("is nested too deeply", "the file")
    raise explained


# How the library puts it: "Expected `str | null`, got `int` - at `$.rows[0].accuracy[...]`", and of the keys
# of a mapping "at `key` in `$.rows`". In brackets stands a number, or three dots for some key.
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
    """Put what the library says into our words, with the value that it does not show."""
    what, key, path = _SAID.fullmatch(said).groups(default="")  # type: ignore[union-attr]
    where, value = "", content
    for step in _STEP.finditer(path):
        name, number = step.groups()
        if number:
            where, value = f"{where}[{number}]", value[int(number)]  # type: ignore[index]
        else:
            name = name or _wrong_entry(content, kind, said, value)  # type: ignore[arg-type]
            where, value = f"{where}.{name}", value[name]  # type: ignore[index]
    where = where.removeprefix(".")
    if missing := _MISSING.fullmatch(what):
        return ContentError("is missing", f"{where}.{missing[1]}".removeprefix("."))
    if key:
        return ContentError("should have names that are texts", where or "the file")
    if what.startswith(_UNKNOWN_VALUE):
        return ContentError(
            f"has the unknown value {json.dumps(value, default=str)[:60]}", where or "the file"
        )
    expected = _EXPECTED.fullmatch(what)
    assert expected is not None, said
    kinds = [_KINDS[one] for one in expected[1].split(" | ") if one != "null"]
    named = where and not where.endswith("]")  # an entry of a list, or all, may be long
    shown = f", not {json.dumps(value, default=str)[:60]}" if named else ""
    return ContentError(f"should be {' or '.join(kinds)}{shown}", where or "the file")


def _wrong_entry(content: object, kind: type[T], said: str, mapping: dict[str, object]) -> str:
    """Find the first entry of a mapping that is wrong: with all others left out, the same is said."""
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


# Repetitions take next to nothing on disk: what is larger than the first must fill the second.
MANY_CELLS = 10**7
CELLS_PER_BYTE = 100
_ERRORS = (pa.ArrowException, ValueError, LookupError, TypeError, OverflowError)


def read_parquet(
    source: Path | bytes,
    types: Mapping[str, pa.DataType],
    *,
    needed: Iterable[str] | None = None,
    others: bool = True,
    known: Collection[str] | None = None,
) -> pa.Table:
    """Read a table and hold it to its columns.

    Args:
        source: A file, or its bytes.
        types: What columns must hold, by their names; whole numbers may stand for numbers.
        needed: Columns that must be there; None for all of `types`.
        others: Whether columns of other names are read; they hold text, numbers or truth values.
        known: The names that columns may have; None for any.

    Raises:
        OSError: The file cannot be opened, or is none of a regular file.
        ContentError: It is no Parquet file, claims more than it can hold, or lacks a column or its type.
    """
    if isinstance(source, Path):
        refuse_irregular(source)
    opened = pa.OSFile(str(source), "rb") if isinstance(source, Path) else pa.BufferReader(source)
    with opened as content:
        try:
            with pq.ParquetFile(content) as file:
                _check_size(file, content.size())
                names = file.schema_arrow.names
                _check_names(names, types if needed is None else needed, known)
                chosen = None if others else [name for name in names if name in types]
                wanted = file.schema_arrow
                texts = [field.name for field in wanted if _is_text(field.type)]
            # Texts that repeat stand in the file once. They are read so, and unfolded if that is not much.
            content.seek(0)
            with pq.ParquetFile(content, read_dictionary=texts) as file:
                # Arrow's threads are hardly faster, and abort a process that quits while they start.
                table = file.read(chosen, use_threads=False)
            table.validate(full=True)
            table = _unfolded(table, wanted)
        except (*_ERRORS, OSError) as error:
            raise ContentError(f"not a Parquet file ({shortened(first_line(error), 150)})") from None
    columns = [_held(table, name, types.get(name)) for name in table.column_names]
    # What pandas notes there could give columns other names when they become a data frame.
    noted = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"pandas"}
    return pa.Table.from_arrays(columns, table.column_names, metadata=noted or None)


def _check_size(file: pq.ParquetFile, size: int) -> None:
    facts = file.metadata
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    # A row may hold a list: the numbers in it count.
    values = sum(group.column(i).num_values for group in groups for i in range(facts.num_columns))
    cells = max(facts.num_rows * max(1, facts.num_columns), values)
    if facts.num_rows < 0 or cells > max(MANY_CELLS, CELLS_PER_BYTE * size):
        raise ContentError(f"claims {cells:,} cells in {size:,} bytes")
    # A page is unpacked as a whole, and a dictionary of texts is one.
    unpacked = sum(
        group.column(i).total_uncompressed_size for group in groups for i in range(facts.num_columns)
    )
    if unpacked > limits().file_bytes:
        raise ContentError(f"has {unpacked:,} bytes unpacked, more than {limits().file_bytes:,}")


def _unfolded(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Write texts out that were read as dictionaries, within the limit on what is read of a file.

    Raises:
        ContentError: They are too long in all.
    """
    most = limits().file_bytes
    for place, field in enumerate(table.schema):
        if not isinstance(field.type, pa.DictionaryType) or not _is_text(field.type.value_type):
            continue
        for chunk in table[field.name].chunks:
            folded = cast("pa.DictionaryArray[Any, Any]", chunk)
            lengths = pc.binary_length(cast("pa.StringArray", folded.dictionary))
            most -= int(pc.sum(lengths.take(folded.indices), min_count=0).as_py() or 0)
        if most < 0:
            raise ContentError(f"its texts have more than {limits().file_bytes:,} bytes, written out")
        if field.type != wanted.field(field.name).type:
            table = table.set_column(place, field.name, table[field.name].cast(wanted.field(field.name).type))
    return table


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _check_names(names: list[str], needed: Iterable[str], known: Collection[str] | None) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ContentError(f"has two columns {shortened(twice[0], 60)!r}")
    if missing := [name for name in needed if name not in names]:
        raise ContentError(f"has no column {missing[0]!r}")
    if known is not None and not set(names) <= set(known):
        raise ContentError(f"it has the columns {shortened(', '.join(names), 200)}")


def _held(table: pa.Table, name: str, wanted: pa.DataType | None) -> pa.ChunkedArray:  # type: ignore[type-arg]
    column = table[name]
    if column.type == wanted or (wanted is None and _is_plain(column.type)):
        return column
    said = shortened(str(column.type).replace("\n", " "), 60)
    what = f"column {shortened(name, 60)!r} holds {said}"
    if wanted is None:
        raise ContentError(f"{what}, which is neither text nor a number")
    try:
        if _kind(column.type) in (_kind(wanted), "null", "whole" if _kind(wanted) == "number" else ""):
            return column.cast(wanted)
    except _ERRORS:
        pass
    raise ContentError(f"{what}, not {wanted}")


def _is_plain(kind: pa.DataType) -> bool:
    return _kind(kind) in ("text", "whole", "number", "truth", "null")


def _kind(kind: pa.DataType) -> str:
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    tests = {
        "text": (_is_text,),
        "whole": (pa.types.is_integer,),
        "number": (pa.types.is_floating,),
        "truth": (pa.types.is_boolean,),
        "null": (pa.types.is_null,),
    }
    return next((name for name, known in tests.items() if any(test(kind) for test in known)), str(kind))


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


TABLE_ENDINGS = (".tsv", ".csv")
DELIMITERS = {",": "','", ";": "';'", "\t": "a tab"}
_QUOTE = '"'


def is_table(path: Path) -> bool:
    """Whether a file is a table, as its name says."""
    return bare_name(path).endswith(TABLE_ENDINGS)


def open_table(path: Path) -> tuple[str, list[str], Iterator[Row]]:
    """Open a table.

    In `.csv`, columns are separated by commas, semicolons or tabs, whichever its header has, and cells may
    stand in quotes. In `.tsv` quotes are characters like others, but for cells as pandas writes them: in
    quotes, and each quote inside written twice.

    Returns:
        The place of the header, the names of the columns, and the rows: each with its place, `file:line`,
        and its cells. A first column without a name, which is pandas' index, is left out. An empty file has
        no columns.

    Raises:
        SuiteError: A column has no name of its own; later, a row has another number of columns, or a quote
            is not closed.
    """
    rows = _csv_rows(path) if bare_name(path).endswith(".csv") else _pandas_rows(path)
    return _opened(path, rows)


def read_table(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give every row of a table, as texts, with its place.

    Raises:
        SuiteError: As `open_table`.
    """
    _, names, rows = open_table(path)
    for place, cells in rows:
        yield place, dict(zip(names, cells, strict=True))


def read_tsv(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give every row of a table with a header, as texts, with its place. Quotes are ordinary characters.

    Raises:
        SuiteError: A row has another number of columns than the header; a column has no name of its own.
    """
    _, names, rows = _opened(path, _tsv_rows(path))
    for place, cells in rows:
        yield place, dict(zip(names, cells, strict=True))


def _opened(path: Path, rows: Iterator[Row]) -> tuple[str, list[str], Iterator[Row]]:
    place, header = next(rows, (f"{path}:1", []))
    names = [name.strip() for name in header]
    index = 1 if len(names) > 1 and not names[0] else 0
    if "" in names[index:] or len(set(names)) < len(names):
        raise SuiteError(f"{place}: every column needs a name of its own, but the header is {names}")
    return place, names[index:], _of_length(rows, header, index)


def _of_length(rows: Iterator[Row], header: list[str], index: int) -> Iterator[Row]:
    """Hold rows to the length of the header, and leave out the index."""
    for place, cells in rows:
        if len(cells) != len(header):
            said = f"{place}: {len(cells)} columns, but the header has {len(header)}"
            raise SuiteError(f"{said}{_otherwise(cells, len(header))}")
        yield place, cells[index:]


def _otherwise(cells: list[str], n_columns: int) -> str:
    """Say, where a row is a single cell, what seems to separate its columns in place of what should."""
    for mark, name in DELIMITERS.items():
        if len(cells) == 1 and cells[0].count(mark) >= n_columns - 1 > 0:
            return f".\n  They seem to be separated by {name} here, but not in the header."
    return ""


def _tsv_rows(path: Path) -> Iterator[Row]:
    for number, line in numbered_lines(path):
        if line.strip():
            yield f"{path}:{number}", line.split("\t")


def _pandas_rows(path: Path) -> Iterator[Row]:
    for place, cells in _tsv_rows(path):
        yield place, [_unquoted(cell) if cell[:1] == _QUOTE else cell for cell in cells]


def _unquoted(cell: str) -> str:
    """Take off the quotes of a cell as pandas writes them: nobody else would write each quote inside twice.

    >>> _unquoted('"so-called ""authors"" laugh"'), _unquoted('"yes"'), _unquoted('"')
    ('so-called "authors" laugh', '"yes"', '"')
    """
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == _QUOTE and _QUOTE in inner:
        single = inner.replace('""', "")
        if _QUOTE not in single:
            return inner.replace('""', _QUOTE)
    return cell


def _csv_rows(path: Path) -> Iterator[Row]:
    lines = (f"{line}\n" for _, line in numbered_lines(path))
    first, skipped = "", 0
    for first in lines:
        if first.strip():
            break
        skipped += 1
    csv.field_size_limit(limits().line_chars)
    if "\r" in first.strip():
        raise SuiteError(
            f"{path}:{skipped + 1}: lines end in a carriage return alone, as on old Macintoshes.\n"
            "  Save the file again with line ends of Unix or Windows."
        )
    reader = csv.reader(_again(first, lines), delimiter=_delimiter(path, first, skipped + 1), strict=True)
    begun = skipped
    while True:
        place = f"{path}:{begun + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if "new-line character" in str(error):
                raise SuiteError(
                    f"{place}: a carriage return stands inside a cell.\n"
                    "  Take it out, or put the cell in quotes."
                ) from None
            raise SuiteError(
                f"{place}: a quote is opened here and not closed, or stands inside a cell in quotes.\n"
                '  In a cell in quotes, write each quote twice: "so-called ""authors"" laugh".'
            ) from None
        if cells is None:
            return
        begun = skipped + reader.line_num
        if any(cell.strip() for cell in cells):
            yield place, cells


def _again(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _delimiter(path: Path, header: str, number: int) -> str:
    """Find what separates the columns: what makes most of the header."""
    n_columns = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in DELIMITERS}
    most = max(n_columns.values())
    found = [mark for mark, count in n_columns.items() if count == most]
    if most > 1 and len(found) > 1:
        marks = " and by ".join(DELIMITERS[mark] for mark in found)
        raise SuiteError(f"{path}:{number}: the header is separated by {marks}.\n  Use one of them alone.")
    return found[0]
