"""Read and write `board.yaml`, the definition of a board, and load its suite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import yaml

from tseval.errors import BoardError, reason
from tseval.formats import ContentError, Json, checked, read_yaml
from tseval.questions import Score  # noqa: TC001 - definitions are read into it
from tseval.report.published import MOST_DECIMALS, Human, RowKey, TableRow, check_decimals, check_printed_rows
from tseval.runs.board_suite import DEFINITION, copied_suite, suite_of_board, suite_spec
from tseval.suites import load_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.items import Suite


T = TypeVar("T")
BOARD_FILES_FORMAT = 1
LONGEST_TEXT = 4_000  # characters of a text that people write
LONGEST_PROSE = 20_000  # characters of the description of the whole board


@dataclass(frozen=True, slots=True)
class ListedRow(TableRow):
    """A row of a board of published accuracies, and its number of items in the paper."""

    n_items: int


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a leaderboard.

    Attributes:
        suite: Name of a bundled or fetched suite, or its path relative to the board's folder.
        columns: Roles of the columns in the suite's tables, as in `--columns`: `{good: sen, ...}`.
        protocol: Settings that the protocol of every entry must have: `{words: corrected}`. Empty: any.
        rules: Promises of the submitters, one sentence each. They are shown, not checked.
        order: Names of entries, in the order of the columns. Other entries follow, sorted by name.
        seeds: The names of each architecture's entries. The table shows their mean and standard deviation.
        beside: Name of a board that comes with tseval. The page also shows its table.
        rows: The rows of a board of published accuracies, in order. Empty for a board with evidence.
        training_data: Descriptions of the short names that entries use for their training data.
        seeds_tried: The least number of seeds that the authors of an entry must train.
        evidence: Address of evidence that is not in the board, with `{sha256}`.
        authors, address: The board's authors and web address, for its citation.
        renews, renewed_by: Path of the board for the previous or the next version of the suite.
    """

    format: int
    title: str
    suite: str
    digest: str
    score: Score
    text: str = ""
    source: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    protocol: Mapping[str, Json] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    seeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    beside: str | None = None
    decimals: int = 3
    notes: tuple[str, ...] = ()
    rows: tuple[ListedRow, ...] = ()
    human: Human | None = None
    training_data: Mapping[str, str] = field(default_factory=dict)
    seeds_tried: int | None = None
    evidence: str | None = None
    authors: tuple[str, ...] = ()
    address: str | None = None
    renews: str | None = None
    renewed_by: str | None = None

    @property
    def published(self) -> bool:
        """Whether the entries are accuracies from papers, without evidence."""
        return bool(self.rows)


def read_definition(board: Path) -> Definition:
    """Read the definition of a board."""
    file = board / DEFINITION
    try:
        definition = check_written(read_written(file), Definition)
        _check(definition)
    except FileNotFoundError:
        fix = f"Create one: tseval board new {quote(str(board))} --suite SUITE"
        if board.exists():  # where none can be made
            paths = ", ".join(str(file.parent) for file in sorted(board.glob(f"*/{DEFINITION}")))
            fix = f"Name one of {paths}." if paths else "Name the folder of a leaderboard."
        raise BoardError(
            f"{board} is not a leaderboard, because the file {DEFINITION} is missing in it.\n  {fix}"
        ) from None
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return definition


def _check(definition: Definition) -> None:
    check_decimals(definition.decimals)
    check_web_address(definition.address, "address")
    check_path_of_board(definition.renews, "renews")
    check_path_of_board(definition.renewed_by, "renewed_by")
    rows: set[RowKey] = set()
    for i, row in enumerate(definition.rows):
        if row.key in rows:
            raise ContentError("this row has the same case and contrast as an earlier row", f"rows[{i}]")
        if row.n_items < 1:
            raise ContentError(
                f"should be a number of items, 1 or more, but is {row.n_items}", f"rows[{i}].n_items"
            )
        rows.add(row.key)
    if definition.human is not None:
        if not rows:
            raise ContentError(
                "this key is allowed only in a leaderboard of published accuracies, which has the key `rows`",
                "human",
            )
        check_printed_rows(definition.human.rows, rows, MOST_DECIMALS, "human.rows")
    seeds = [name for names in definition.seeds.values() for name in names]
    for key, names in (("order", definition.order), ("seeds", seeds)):
        if len(set(names)) < len(names):
            raise ContentError("this list has the name of an entry twice", key)


def check_web_address(text: str | None, where: str) -> None:
    """Refuse a link that is no web address: a browser would run a `javascript:` link."""
    if text is None:
        return
    is_sound = text.isascii() and not any(letter <= " " or letter in "<>\"'`\\" for letter in text)
    if not is_sound or not text.startswith(("https://", "http://")):
        raise ContentError(f"should be an address that begins with https://, but is {text!r:.80}", where)


def check_path_of_board(text: str | None, where: str) -> None:
    """Refuse an address of another board that is no relative path, because pages link to it."""
    if text is not None and not re.fullmatch(r"[\w./\\ -]+", text):
        raise ContentError(
            f"should be a path to another leaderboard, relative to this one, but is {text!r:.80}", where
        )


def read_written(file: Path) -> Mapping[str, Json]:
    """Read a YAML file of a board that people write or submit."""
    content = read_yaml(file)
    if not isinstance(content, dict):
        raise ContentError("should have lines of the form KEY: VALUE (a YAML mapping)", "the file")
    version = content.get("format")
    if isinstance(version, int) and version != BOARD_FILES_FORMAT:
        raise ContentError(
            f"the value is {version}, but this version of tseval reads only format {BOARD_FILES_FORMAT}",
            "format",
        )
    check_texts(content)
    return content


def check_written(content: Mapping[str, Json], kind: type[T]) -> T:
    """Convert the content of such a file into a dataclass."""
    parsed = checked(content, kind)
    refuse_strangers(content, parsed)
    return parsed


def refuse_strangers(content: object, parsed: object, where: str = "") -> None:
    """Refuse unknown fields: tseval would ignore them, but people who read the file would believe them."""
    if isinstance(content, dict) and is_dataclass(parsed):
        names = {part.name for part in fields(parsed)}
        for name, value in content.items():
            if name not in names:
                raise ContentError("this file cannot have a key with this name", f"{where}{name}")
            refuse_strangers(value, getattr(parsed, name), f"{where}{name}.")
    elif isinstance(content, list) and isinstance(parsed, list | tuple):
        for i, (value, entry) in enumerate(zip(content, parsed, strict=True)):
            refuse_strangers(value, entry, f"{where.removesuffix('.')}[{i}].")


def write_definition(definition: Definition) -> str:
    """Return the text of `board.yaml`: fields to fill in, and fields that differ from their default."""
    content, defaults = asdict(definition), asdict(Definition(0, "", "", "", "sentence"))
    return write_yaml(
        {name: value for name, value in content.items() if name in _SHOWN or value != defaults[name]}
    )


_SHOWN = ("format", "title", "suite", "digest", "score", "text", "source", "protocol", "rules")


def write_yaml(content: Mapping[str, object]) -> str:
    """Return content as YAML that people can edit."""
    return yaml.dump(_plain(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Write texts of several lines as blocks, and escape line breaks that YAML would change."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if set(text) & set("\r\x85\u2028\u2029") else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def suite_of(definition: Definition, board: Path) -> Suite:
    """Load the suite of a board (`tseval.runs.board_suite.suite_of_board`)."""
    settings = definition.suite, definition.digest, definition.columns, definition.protocol
    return suite_of_board(board, *settings)


def suite_here(definition: Definition, board: Path) -> Suite:
    """Load the current version of a board's suite."""
    return load_suite(suite_spec(definition.suite, board), columns=definition.columns or None)


def own_suite(definition: Definition, board: Path) -> Suite | None:
    """Load the copy of the suite in the board's folder, if there is one."""
    return copied_suite(board, definition.suite, definition.columns)


def check_texts(content: Json, where: str = "") -> None:
    """Refuse texts that are too long, and single surrogates, which no table can contain."""
    if isinstance(content, dict):
        for name, value in content.items():
            check_texts(name, where)
            check_texts(value, f"{where}.{name}".removeprefix("."))
    elif isinstance(content, list):
        for value in content:
            check_texts(value, where)
    elif isinstance(content, str):
        longest = LONGEST_PROSE if where == "text" else LONGEST_TEXT
        if len(content) > longest:
            raise ContentError(
                f"the text has {len(content):,} characters, but at most {longest:,} are allowed",
                where or "the file",
            )
        if any("\ud800" <= letter <= "\udfff" for letter in content):
            raise ContentError(
                "the text contains half of a Unicode character (a lone surrogate)", where or "the file"
            )
