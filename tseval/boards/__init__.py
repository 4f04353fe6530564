"""Leaderboards as folders: a definition, and entries with the evidence that their numbers follow from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, TypeVar

import yaml

from tseval.analysis import COUNTS, ROW, count
from tseval.errors import BoardError, EvidenceError, RunError, reason
from tseval.evidence import EvidenceAddress, Words, fetch_evidence, read_evidence, scored_again, split_words
from tseval.files import PARTIAL
from tseval.formats import ContentError, Json, checked, read_yaml
from tseval.questions import Score  # noqa: TC001 - likewise
from tseval.report.boards import (
    MOST_DECIMALS,
    Board,
    BoardModel,
    BoardRow,
    Human,
    PrintedRow,
    RowKey,
    TableRow,
    check_decimals,
    check_printed_rows,
)
from tseval.runs import Manifest, Run
from tseval.runs.directory import digest, read_intact
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import load_manifest
from tseval.suites import available_suites, load_suite
from tseval.verdicts import judge, sentences_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tseval.items import Suite


T = TypeVar("T")
DEFINITION = "board.yaml"
BOARD_FILES_FORMAT = 1
LONGEST_TEXT = 4_000  # characters of a text that people write
LONGEST_PROSE = 20_000  # and of the one that tells of the whole board


@dataclass(frozen=True, slots=True)
class ListedRow(TableRow):
    """A row of a board of published accuracies, and how many items a paper has behind it."""

    n_items: int


@dataclass(frozen=True, slots=True)
class Definition:
    """What a leaderboard is over.

    Attributes:
        suite: Name of a bundled or fetched suite, or its path, seen from the board's folder.
        columns: What the columns of the suite's tables are, as `--columns` says it: `{good: sen, ...}`.
        protocol: What the protocol of every entry must hold: `{words: corrected}`. Empty allows any.
        rules: What submitters promise, one sentence each; shown, not checked.
        order: Names of entries in the order of the columns; others follow by name.
        seeds: Name of an architecture to its entries, of which the table then shows the mean and the spread.
        beside: Name of a board that comes with tseval and is shown beside.
        rows: Of a board of published accuracies, its rows in order; empty where they follow from evidence.
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

    @property
    def published(self) -> bool:
        """Whether the entries are accuracies from papers, and nothing follows from evidence."""
        return bool(self.rows)


def read_definition(board: Path) -> Definition:
    """Read what a board is over."""
    file = board / DEFINITION
    try:
        definition = check_written(read_written(file), Definition)
        _check(definition)
    except FileNotFoundError:
        raise BoardError(
            f"{board} is no board: it has no {DEFINITION}.\n"
            f"  Make one: tseval board new {quote(str(board))} --suite SUITE"
        ) from None
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return definition


def _check(definition: Definition) -> None:
    check_decimals(definition.decimals)
    rows: set[RowKey] = set()
    for i, row in enumerate(definition.rows):
        if row.key in rows:
            raise ContentError("repeats an earlier row", f"rows[{i}]")
        if row.n_items < 1:
            raise ContentError(f"should be at least 1, not {row.n_items}", f"rows[{i}].n_items")
        rows.add(row.key)
    if definition.human is not None:
        if not rows:
            raise ContentError("needs the rows of a board of published accuracies", "human")
        check_printed_rows(definition.human.rows, rows, MOST_DECIMALS, "human.rows")
    seeds = [name for names in definition.seeds.values() for name in names]
    for where, names in (("order", definition.order), ("seeds", seeds)):
        if len(set(names)) < len(names):
            raise ContentError("names an entry twice", where)


def read_written(file: Path) -> Mapping[str, Json]:
    """Read a YAML file of a board that people write, or that is sent in."""
    content = read_yaml(file)
    if not isinstance(content, dict):
        raise ContentError("should be a mapping", "the file")
    version = content.get("format")
    if isinstance(version, int) and version != BOARD_FILES_FORMAT:
        raise ContentError(f"is {version}, but this tseval reads format {BOARD_FILES_FORMAT}", "format")
    check_texts(content)
    return content


def check_written(content: Mapping[str, Json], kind: type[T]) -> T:
    """Turn what such a file holds into a dataclass."""
    found = checked(content, kind)
    refuse_strangers(content, found)
    return found


def refuse_strangers(content: object, found: object, where: str = "") -> None:
    """Refuse fields that no reader knows: whoever looks into the file would believe them."""
    if isinstance(content, dict) and is_dataclass(found):
        known = {part.name for part in fields(found)}
        for name, value in content.items():
            if name not in known:
                raise ContentError("is no field of this file", f"{where}{name}")
            refuse_strangers(value, getattr(found, name), f"{where}{name}.")
    elif isinstance(content, list) and isinstance(found, list | tuple):
        for i, (value, entry) in enumerate(zip(content, found, strict=True)):
            refuse_strangers(value, entry, f"{where.removesuffix('.')}[{i}].")


def write_definition(definition: Definition) -> str:
    """Give the text of `board.yaml`: what whoever begins a board may fill in, and what is not as always."""
    content, usual = asdict(definition), asdict(Definition(0, "", "", "", "sentence"))
    return write_yaml(
        {name: value for name, value in content.items() if name in _SHOWN or value != usual[name]}
    )


_SHOWN = ("format", "title", "suite", "digest", "score", "text", "source", "protocol", "rules")


def write_yaml(content: Mapping[str, object]) -> str:
    """Give the text of a file that people may write too."""
    return yaml.dump(_plain(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are read, and escapes breaks that YAML would read as others."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if set(text) & set("\r\x85\u2028\u2029") else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def suite_of(definition: Definition, board: Path) -> Suite:
    """Load the suite of a board."""
    suite = load_suite(suite_spec(definition.suite, board), columns=definition.columns or None)
    if suite.digest != definition.digest:
        raise BoardError(
            f"{board / DEFINITION}: the suite {definition.suite} here has the digest {suite.digest[:8]}, "
            f"but the board is over {definition.digest[:8]}.\n"
            "  Take the version of the suite, or of tseval, that the board was made with."
        )
    return suite


def suite_spec(suite: str, board: Path) -> str | Path:
    """Find a suite that stands beside its board; any other is found by its name.

    The names of bundled suites come first: nothing that lies beside a board is taken for one of them.
    """
    if suite in available_suites():
        return suite
    beside = Path(os.path.normpath(board.absolute() / suite))
    return beside if beside.exists() else suite


def check_texts(content: Json, where: str = "") -> None:
    """Refuse texts that are too long, and half characters, which no table can hold."""
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
            raise ContentError(f"has {len(content):,} characters, more than {longest:,}", where or "the file")
        if any("\ud800" <= letter <= "\udfff" for letter in content):
            raise ContentError("has half a character", where or "the file")


ENTRY_FOLDERS = "entries"
ENTRY_FILE, EVIDENCE = "entry.yaml", "evidence.parquet"
_NAMED = re.compile(r"model:[^|]*@")
ENTRY_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,59}}(?<!{re.escape(PARTIAL)})")


@dataclass(frozen=True)
class SplitSuite:
    """The suite of a board with its sentences and their words, which all entries share and are found once."""

    suite: Suite

    @cached_property
    def sentences(self) -> pa.StringArray:
        """The distinct sentences, sorted (`tseval.verdicts.sentences_of`), (sentences,)."""
        return sentences_of(self.suite)

    @cached_property
    def words(self) -> Words:
        """Their words."""
        return split_words(self.sentences)


@dataclass(frozen=True, slots=True)
class EntryRow(TableRow):
    """What a model got right in one row of the table; counts, from which accuracies follow."""

    n_items: int
    n_correct: int
    n_tied: int
    n_undecidable: int


@dataclass(frozen=True, slots=True)
class About:
    """What a submitter says of a model; none of it follows from anything."""

    revision: str | None = None
    licence: str | None = None
    training_data: str | None = None
    contains_suite: Literal["yes", "no", "unknown"] = "unknown"
    contact: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """That somebody verified an entry: how far, who, and when (YYYY-MM-DD)."""

    level: Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
    by: str
    on: str


@dataclass(frozen=True, slots=True)
class Entry:
    """`entry.yaml`: what a model got right, row by row, and what is said of it and of who verified it.

    The fingerprint is the SHA-256 of weights and vocabulary; `evidence` says where that lies, unless it is
    here.
    """

    format: int
    name: str
    signature: str
    fingerprint: str
    about: About
    rows: tuple[EntryRow, ...]
    checks: tuple[Checked, ...] = ()
    evidence: EvidenceAddress | None = None

    @property
    def identity(self) -> str:
        """What was scored and how, whatever it is called: fingerprint, and signature without the name."""
        return f"{self.fingerprint} {_NAMED.sub('', self.signature)}"

    @property
    def files(self) -> set[str]:
        """The names of what its folder holds."""
        return {ENTRY_FILE, MANIFEST} | ({EVIDENCE} if self.evidence is None else set())


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """`entry.yaml` of a model of which nothing but accuracies is known, as a paper prints them.

    A row of the board without one is absent.
    """

    format: int
    name: str
    level: Literal["published"]
    rows: tuple[PrintedRow, ...]
    validation_perplexity: str | None = None
    parameters: str | None = None
    about: About = field(default_factory=About)


def read_entry(folder: Path) -> Entry:
    """Read the `entry.yaml` of an entry with evidence."""
    return _read(folder, Entry)


CHECKS = "checks.yaml"


@dataclass(frozen=True, slots=True)
class BoardChecks:
    """`checks.yaml`, the maintainer's file: which entries were verified, how far, by whom and when."""

    format: int
    checks: Mapping[str, tuple[Checked, ...]] = field(default_factory=dict)


def read_checks(board: Path) -> BoardChecks:
    """Read what the maintainer of a board verified; nothing where there is no such file."""
    file = board / CHECKS
    if not file.exists():
        return BoardChecks(BOARD_FILES_FORMAT)
    try:
        return check_written(read_written(file), BoardChecks)
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None


def checked_entry(folder: Path) -> Entry:
    """Read an entry with all that is known of who verified it, the maintainer's checks last."""
    entry = read_entry(folder)
    recorded = read_checks(folder.resolve().parents[1]).checks
    return replace(entry, checks=(*entry.checks, *recorded.get(entry.name, ())))


def read_published(folder: Path) -> PublishedEntry:
    """Read the `entry.yaml` of an entry of published accuracies."""
    return _read(folder, PublishedEntry)


_Kind = TypeVar("_Kind", Entry, PublishedEntry)


def _read(folder: Path, kind: type[_Kind]) -> _Kind:
    file = folder / ENTRY_FILE
    try:
        content = read_written(file)
        if kind is Entry and content.get("level") == "published":
            raise ContentError("is of accuracies alone, but the entries of this board have evidence", "level")
        if kind is PublishedEntry and "level" not in content:
            raise ContentError("is missing: the entries of this board are of level published", "level")
        entry = check_written(content, kind)
        if not ENTRY_NAME.fullmatch(entry.name) or entry.name != folder.name:
            raise ContentError(f"should be the name of its folder, {folder.name!r}", "name")
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return entry


def write_entry(entry: Entry) -> str:
    """Give the text of `entry.yaml`."""
    said = asdict(entry)
    if entry.evidence is None:
        del said["evidence"]
    return write_yaml(said)


def rows_of(verdicts: pd.DataFrame) -> tuple[EntryRow, ...]:
    """Count verdicts row by row."""
    rows = count(verdicts)[[*ROW, *COUNTS]].astype(object)
    cells = rows.where(rows.notna(), None).itertuples(index=False, name=None)
    return tuple(EntryRow(*row) for row in cells)


def entry_run(folder: Path, split: SplitSuite) -> Run:
    """Open an entry as the run that it was: tables and analyses read it as any other."""
    manifest = load_manifest(folder)
    if not isinstance(manifest, Manifest):
        raise RunError(f"{folder / MANIFEST} is of an unfinished run")
    if manifest.suite.digest != split.suite.digest:
        theirs, ours = (f"{of.name}@{of.digest[:8]}" for of in (manifest.suite, split.suite))
        raise RunError(f"{folder / MANIFEST} is of {theirs}, but the board is over {ours}")

    def sentences() -> pa.Table:
        content = evidence_of(folder, manifest)
        try:
            evidence = read_evidence(content)
            if evidence.suite_digest != split.suite.digest:
                raise EvidenceError(f"is of another suite, {evidence.suite_digest[:8]}")
            return scored_again(evidence, split.sentences, split.words)
        except EvidenceError as error:
            raise RunError(f"{folder / EVIDENCE} {error}") from None

    named = replace(manifest, model=replace(manifest.model, name=folder.name))  # as the board calls it
    return Run(folder.name, named, sentences, lambda: judge(split.suite, sentences(), manifest.key.score))


def entry_folders(board: Path, order: Sequence[str] = ()) -> list[Path]:
    """List the folders of a board's entries: those named first, in that order, then the others by name."""
    root = board / ENTRY_FOLDERS
    found = sorted(one for one in root.iterdir() if one.suffix != PARTIAL) if root.is_dir() else []
    places = {name: place for place, name in enumerate(order)}
    return sorted(found, key=lambda folder: places.get(folder.name, len(places)))


def evidence_of(folder: Path, manifest: Manifest) -> bytes:
    """Read the evidence of an entry, or fetch it; held to the digest in the manifest."""
    if not (folder / EVIDENCE).exists() and (address := read_entry(folder).evidence) is not None:
        try:
            content = fetch_evidence(address)
        except EvidenceError as error:
            raise RunError(f"{folder / ENTRY_FILE}: the evidence {error}") from None
        if digest(content) != manifest.files.get(EVIDENCE):
            raise RunError(f"{folder / ENTRY_FILE}: evidence.sha256 is not that of {MANIFEST}")
        return content
    return read_intact(folder, manifest.files, EVIDENCE)


def entry_runs(folders: Sequence[Path]) -> list[Run]:
    """Open entries of one board, which stands two folders above them, as runs."""
    if not folders:
        return []
    board = folders[0].resolve().parents[1]
    split = SplitSuite(suite_of(read_definition(board), board))
    return [entry_run(folder, split) for folder in folders]


def published_entry(folder: Path, definition: Definition) -> PublishedEntry:
    """Read an entry of published accuracies, and hold it to its board."""
    entry = read_published(folder)
    try:
        check_printed_rows(entry.rows, {row.key for row in definition.rows}, definition.decimals)
    except ContentError as error:
        raise BoardError(f"{folder / ENTRY_FILE}: {error}.") from None
    return entry


def published_board(board: Path, definition: Definition) -> Board:
    """Put the accuracies of all entries together, as they are printed."""
    folders = entry_folders(board, definition.order)
    if not folders:
        raise BoardError(f"{board / DEFINITION}: a board of published accuracies needs an entry.")
    entries = [published_entry(folder, definition) for folder in folders]
    printed = {entry.name: {row.key: row.accuracy for row in entry.rows} for entry in entries}
    return Board(
        name=board.resolve().name,
        title=definition.title,
        source=definition.source or definition.title,
        suite=definition.suite,
        score=definition.score,
        decimals=definition.decimals,
        models=tuple(BoardModel(one.name, one.validation_perplexity, one.parameters) for one in entries),
        rows=tuple(
            BoardRow(*key, n_items, {name: of[key] for name, of in printed.items() if key in of})
            for key, n_items in ((row.key, row.n_items) for row in definition.rows)
        ),
        notes=definition.notes,
        human=definition.human,
    )
