"""An entry of a leaderboard: `entry.yaml`, the manifest of its run, and its evidence."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

from tseval.analysis.accuracy import COUNTS, ROW, count
from tseval.boards.definition import check_written, read_definition, read_written, suite_of, write_yaml
from tseval.boards.printed import PrintedRow  # noqa: TC001 - the type of a field that is checked
from tseval.errors import BoardError, EvidenceError, RunError, reason
from tseval.evidence import EvidenceAddress, fetch_evidence, read_evidence, scored_again, split_words
from tseval.files import PARTIAL
from tseval.formats import ContentError
from tseval.runs import Manifest, Run
from tseval.runs.directory import digest, read_intact
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import load_manifest
from tseval.verdicts import judge, sentences_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from tseval.evidence import Words
    from tseval.items import Suite

ENTRY_FOLDERS = "entries"
ENTRY_FILE, EVIDENCE = "entry.yaml", "evidence.parquet"
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
class EntryRow:
    """What a model got right in one row of the table; counts, from which accuracies follow."""

    dependency: str | None
    phenomenon: str
    construction: str
    contrast: str
    n_items: int
    n_correct: int
    n_tied: int
    n_undecidable: int


@dataclass(frozen=True, slots=True)
class About:
    """What a submitter says of a model; none of it follows from anything.

    Attributes:
        revision: Of the model, where there are several.
        licence: Of its weights.
        training_data: What it was trained on.
        contains_suite: Whether that holds sentences of the suite.
        contact: Whom to ask.
    """

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
    """`entry.yaml`.

    Attributes:
        format: Of the file.
        name: Of the model, as the board shows it.
        signature: Of its run.
        fingerprint: SHA-256 of its weights and vocabulary.
        about: What its submitter says of it.
        rows: What it got right, row by row.
        checks: Who verified it.
        evidence: Where the evidence lies, unless it is here.
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
    def files(self) -> set[str]:
        """The names of what its folder holds."""
        return {ENTRY_FILE, MANIFEST} | ({EVIDENCE} if self.evidence is None else set())


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """`entry.yaml` of a model of which nothing but accuracies is known, as a paper prints them.

    Attributes:
        format: Of the file.
        name: Of the model, as the board shows it.
        level: Says that nothing here follows from anything.
        rows: Its accuracies; a row of the board without one is absent.
        validation_perplexity: As printed.
        parameters: As printed.
        about: What else is known of it.
    """

    format: int
    name: str
    level: Literal["published"]
    rows: tuple[PrintedRow, ...]
    validation_perplexity: str | None = None
    parameters: str | None = None
    about: About = field(default_factory=About)


def read_entry(folder: Path) -> Entry:
    """Read the `entry.yaml` of an entry with evidence.

    Raises:
        BoardError: It cannot be read, or a field of it is wrong; names both.
    """
    return _read(folder, Entry)


def read_published(folder: Path) -> PublishedEntry:
    """Read the `entry.yaml` of an entry of published accuracies.

    Raises:
        BoardError: It cannot be read, or a field of it is wrong; names both.
    """
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
    """Open an entry as the run that it was: tables and analyses read it as any other.

    Args:
        folder: Of the entry.
        split: The suite of its board.

    Raises:
        RunError: Its manifest is damaged or edited, or of another suite.
    """
    manifest = load_manifest(folder)
    if not isinstance(manifest, Manifest):
        raise RunError(f"{folder / MANIFEST} is of an unfinished run")
    if manifest.suite.digest != split.suite.digest:
        theirs, ours = (f"{of.name}@{of.digest[:8]}" for of in (manifest.suite, split.suite))
        raise RunError(f"{folder / MANIFEST} is of {theirs}, but the board is over {ours}")
    load = _Loaded(folder, manifest, split)
    named = replace(manifest, model=replace(manifest.model, name=folder.name))  # as the board calls it
    return Run(folder.name, named, load.sentences, load.verdicts)


def entry_folders(board: Path, order: Sequence[str] = ()) -> list[Path]:
    """List the folders of a board's entries: those named first, in that order, then the others by name."""
    root = board / ENTRY_FOLDERS
    found = sorted(one for one in root.iterdir() if one.suffix != PARTIAL) if root.is_dir() else []
    places = {name: place for place, name in enumerate(order)}
    return sorted(found, key=lambda folder: places.get(folder.name, len(places)))


def evidence_of(folder: Path, manifest: Manifest) -> bytes:
    """Read the evidence of an entry, or fetch it; held to the digest in the manifest.

    Raises:
        RunError: It is missing, damaged or edited.
        BoardError: It is not here, and the entry that should say where is wrong.
        AwayError: It lies elsewhere and cannot be had.
    """
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
    """Open entries of one board, which stands two folders above them, as runs.

    Raises:
        BoardError: There is no board.
        RunError: The manifest of an entry is damaged, or of another suite.
    """
    if not folders:
        return []
    board = folders[0].resolve().parents[1]
    split = SplitSuite(suite_of(read_definition(board), board))
    return [entry_run(folder, split) for folder in folders]


def judge_entry(split: SplitSuite, manifest: Manifest, scored: pa.Table) -> pa.Table:
    """Judge the scored sentences of an entry as its run did.

    Raises:
        ModelError: A log-probability is not finite.
        SuiteError: The suite cannot be judged so.
    """
    return judge(split.suite, scored, manifest.key.score)


@dataclass(frozen=True)
class _Loaded:
    """Computes the tables of an entry when they are used."""

    folder: Path
    manifest: Manifest
    split: SplitSuite

    def sentences(self) -> pa.Table:
        content = evidence_of(self.folder, self.manifest)
        try:
            evidence = read_evidence(content)
            if evidence.suite_digest != self.split.suite.digest:
                raise EvidenceError(f"is of another suite, {evidence.suite_digest[:8]}")
            return scored_again(evidence, self.split.sentences, self.split.words)
        except EvidenceError as error:
            raise RunError(f"{self.folder / EVIDENCE} {error}") from None

    def verdicts(self) -> pa.Table:
        return judge_entry(self.split, self.manifest, self.sentences())
