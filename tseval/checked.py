"""Reading files that people may edit: what a JSON or YAML file must hold, and which field of it is wrong."""

from __future__ import annotations

import json
import re
import sys
from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tseval.files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from yaml import Node

    Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
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
