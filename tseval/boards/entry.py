"""An entry of a leaderboard: `entry.yaml`, the manifest of its run, and its evidence."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import yaml

from tseval.analysis.accuracy import COUNTS, ROW, count
from tseval.boards.definition import read_definition, read_written, suite_of
from tseval.checked import ContentError
from tseval.errors import BoardError, EvidenceError, RunError, reason
from tseval.evidence.evidence import scored_again
from tseval.evidence.file import read_evidence
from tseval.files import PARTIAL
from tseval.runs import Manifest, Run
from tseval.runs.files import read_intact
from tseval.runs.manifest_file import NAME as MANIFEST
from tseval.runs.manifest_file import load_manifest
from tseval.verdicts import judge, sentences_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from tseval.questions.scores import Score
    from tseval.suites.items import Suite

ENTRY_FOLDERS = "entries"
ENTRY_FILE, EVIDENCE = "entry.yaml", "evidence.parquet"
ENTRY_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,59}}(?<!{re.escape(PARTIAL)})")
LARGEST_ENTRY = 64 << 20  # bytes of evidence


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
    """

    format: int
    name: str
    signature: str
    fingerprint: str
    about: About
    rows: tuple[EntryRow, ...]
    checks: tuple[Checked, ...] = ()


def read_entry(folder: Path) -> Entry:
    """Read `entry.yaml`.

    Raises:
        BoardError: It cannot be read, or a field of it is wrong; names both.
    """
    file = folder / ENTRY_FILE
    try:
        entry = read_written(file, Entry)
        if not ENTRY_NAME.fullmatch(entry.name) or entry.name != folder.name:
            raise ContentError(f"should be the name of its folder, {folder.name!r}", "name")
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return entry


def write_entry(entry: Entry) -> str:
    """Give the text of `entry.yaml`."""
    return yaml.safe_dump(_plain(asdict(entry)), sort_keys=False, allow_unicode=True)


def rows_of(verdicts: pd.DataFrame) -> tuple[EntryRow, ...]:
    """Count verdicts row by row."""
    rows = count(verdicts)[[*ROW, *COUNTS]].astype(object)
    cells = rows.where(rows.notna(), None).itertuples(index=False, name=None)
    return tuple(EntryRow(*row) for row in cells)


def entry_run(folder: Path, suite: Suite) -> Run:
    """Open an entry as the run that it was: tables and analyses read it as any other.

    Args:
        folder: Of the entry.
        suite: That of its board.

    Raises:
        RunError: Its manifest is damaged or edited, or of another suite.
    """
    manifest = load_manifest(folder)
    if not isinstance(manifest, Manifest):
        raise RunError(f"{folder / MANIFEST} is of an unfinished run")
    if manifest.suite.digest != suite.digest:
        theirs, ours = (f"{of.name}@{of.digest[:8]}" for of in (manifest.suite, suite))
        raise RunError(f"{folder / MANIFEST} is of {theirs}, but the board is over {ours}")
    load = _Loaded(folder, manifest, suite)
    named = replace(manifest, model=replace(manifest.model, name=folder.name))  # as the board calls it
    return Run(folder.name, named, load.sentences, load.verdicts)


def entry_folders(board: Path) -> list[Path]:
    """List the folders of a board's entries, by name."""
    root = board / ENTRY_FOLDERS
    return sorted(one for one in root.iterdir() if one.suffix != PARTIAL) if root.is_dir() else []


def entry_runs(folders: Sequence[Path]) -> list[Run]:
    """Open entries of one board, which stands two folders above them, as runs.

    Raises:
        BoardError: There is no board.
        RunError: The manifest of an entry is damaged, or of another suite.
    """
    if not folders:
        return []
    board = folders[0].resolve().parents[1]
    suite = suite_of(read_definition(board), board)
    return [entry_run(folder, suite) for folder in folders]


@dataclass(frozen=True)
class _Loaded:
    """Computes the tables of an entry when they are used."""

    folder: Path
    manifest: Manifest
    suite: Suite

    def sentences(self) -> pa.Table:
        content = read_intact(self.folder, self.manifest.files, EVIDENCE)
        try:
            evidence = read_evidence(content)
            if evidence.suite_digest != self.suite.digest:
                raise EvidenceError(f"is of another suite, {evidence.suite_digest[:8]}")
            return scored_again(evidence, sentences_of(self.suite))
        except EvidenceError as error:
            raise RunError(f"{self.folder / EVIDENCE} {error}") from None

    def verdicts(self) -> pa.Table:
        score: Score = self.manifest.key.score  # type: ignore[assignment] # one of them, in a sound key
        return judge(self.suite, self.sentences(), score)


def _plain(value: object) -> object:
    """Turn tuples into lists, as YAML has them."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
