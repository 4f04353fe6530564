"""A board as a folder: begin one, add entries."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.boards.definition import (
    BOARD_FILES_FORMAT,
    DEFINITION,
    Definition,
    read_definition,
    suite_spec,
    write_definition,
)
from tseval.boards.entry import (
    ENTRY_FILE,
    ENTRY_FOLDERS,
    ENTRY_NAME,
    EVIDENCE,
    About,
    Checked,
    Entry,
    rows_of,
    write_entry,
)
from tseval.boards.written import write_pages
from tseval.errors import BoardError
from tseval.evidence import (
    LARGEST_EVIDENCE,
    EvidenceAddress,
    check_address,
    evidence_bytes,
    gather,
    keep_evidence,
)
from tseval.files import PARTIAL, remove_lock, sync_directory, take_lock, to_utf8, write_text, write_whole
from tseval.runs import read_run
from tseval.runs.directory import digest
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import dump_manifest
from tseval.suites import available_suites, load_suite
from tseval.suites.grammar.cache import afresh
from tseval.verifying import verify_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tseval.questions import Score
    from tseval.runs import Run

BOARD_LOCK = ".lock"


def new_board(
    board: Path,
    suite: str,
    title: str | None = None,
    score: Score | None = None,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Begin a board over a whole suite.

    Args:
        board: Its folder, empty or not there yet.
        suite: As for `tseval run`; a path is best given as seen from the board's folder.
        title: As a reader would cite it; None for that of the suite.
        score: What sentences are compared by; None for what the suite was published with.
        columns: What the columns of the suite's tables are, as `load_suite` takes it.

    Raises:
        BoardError: The folder holds something.
        SuiteError: There is no such suite.
    """
    if board.exists() and (not board.is_dir() or any(board.iterdir())):
        raise BoardError(f"{board} is not empty.\n  Name a new folder for the board.")
    spec = suite_spec(suite, board)
    if spec == suite and suite not in available_suites() and Path(suite).exists():
        raise BoardError(
            f"seen from {board} there is no {suite}.\n"
            f"  Name it as it is seen from there: --suite {os.path.relpath(suite, board)}"
        )
    loaded = load_suite(spec, columns=columns)
    if not loaded.has_accuracy:
        raise BoardError(
            f"{loaded.name} has ratings of sentences, and a board holds accuracies.\n"
            "  Print correlations side by side: tseval table RUN..."
        )
    definition = Definition(
        format=BOARD_FILES_FORMAT,
        title=title or f"A leaderboard of {loaded.title}",
        suite=suite,
        digest=loaded.digest,
        score=score or loaded.score,
        source=loaded.source,
        columns=dict(columns or {}),
    )
    (board / ENTRY_FOLDERS).mkdir(parents=True)
    write_text(board / DEFINITION, write_definition(definition))
    write_pages(board, definition)


@afresh()  # what is written there is what anyone finds who expands the suite
def add_entries(
    board: Path, paths: Sequence[Path], about: About, name: str | None = None, url: str | None = None
) -> list[Path]:
    """Add runs to a board, if all of them hold as far as they can be verified without their models.

    Args:
        board: Its folder.
        paths: The runs' directories.
        about: What the submitter says of the models.
        name: What the board calls the model of a single run; None for the name that the run states.
        url: Where the evidence of a single run will lie, instead of in the folder; it is kept in the cache
            meanwhile.

    Returns:
        The folders of the entries.

    Raises:
        BoardError: A run is not what the board is over, does not hold, or there is an entry of its name; none
            is added then.
        RunError: There is no run.
        EvidenceError: The address is none.
    """
    definition = read_definition(board)
    if definition.published:
        raise BoardError(
            f"{board} is of published accuracies: its entries have no evidence.\n"
            f"  Write {ENTRY_FOLDERS}/NAME/{ENTRY_FILE} as docs/boards.md says, then tseval board write."
        )
    if len(paths) > 1 and (name is not None or url is not None):
        raise BoardError("several runs cannot share one name, or one address: add such a run alone.")
    if url is not None:
        check_address(url)
    checks = (Checked("plausible", "tseval board add", f"{datetime.now(UTC):%Y-%m-%d}"),)
    suite = str(suite_spec(definition.suite, board))
    added: dict[Path, dict[str, bytes]] = {}
    for path in paths:
        entry, files = entry_files(definition, suite, path, name)
        if url is not None:
            content = files.pop(EVIDENCE)
            entry = replace(entry, evidence=EvidenceAddress(url, digest(content), len(content)))
            keep_evidence(content)
        files[ENTRY_FILE] = to_utf8(write_entry(replace(entry, about=about, checks=checks)))
        folder = board / ENTRY_FOLDERS / entry.name
        if _is_taken(folder, added):
            raise BoardError(f"two of the runs are of {entry.name!r}: add one of them alone, with --name.")
        added[folder] = files
    with changing(board):
        there = list((board / ENTRY_FOLDERS).glob("*"))
        for folder in added:
            if _is_taken(folder, there):
                raise BoardError(f"{folder} exists.\n  Name the entry otherwise with --name.")
        for folder, files in added.items():
            write_beside(folder, files).rename(folder)
            sync_directory(folder.parent)
        write_pages(board, definition)
    return list(added)


def entry_files(
    definition: Definition, suite: str, path: Path, name: str | None = None
) -> tuple[Entry, dict[str, bytes]]:
    """Make the entry of a run, if it holds as far as it can be verified without its model.

    Args:
        definition: What the board is over.
        suite: Name or path of its suite.
        path: The run's directory.
        name: What the board calls the model; None for the name that the run states.

    Returns:
        The entry, of which nothing is said yet, and its files but for `entry.yaml`, by name.

    Raises:
        BoardError: The run is not what the board is over, does not hold, or cannot be called so.
        RunError: There is no run.
    """
    run = read_run(path)
    name = name or run.manifest.key.model
    if not ENTRY_NAME.fullmatch(name):
        raise BoardError(
            f"{name!r} cannot be the name of an entry.\n"
            "  Name it with --name: letters, digits, dots, dashes, at most 60 of them."
        )
    if refusal := unfit(definition, run):
        raise BoardError(f"{path} cannot be on the board: {refusal}.")
    found = verify_run(path, suite=suite)
    if not found.ok:
        raise BoardError(f"{path} does not hold: {found.checks[-1].found}.\n  See tseval verify {path}")
    content = evidence_bytes(gather(run.load_sentences(), definition.digest))
    if len(content) > LARGEST_EVIDENCE:
        raise BoardError(f"{path}: its evidence has {len(content):,} bytes, more than {LARGEST_EVIDENCE:,}")
    entry = Entry(
        format=BOARD_FILES_FORMAT,
        name=name,
        signature=run.manifest.signature,
        fingerprint=run.manifest.key.fingerprint,
        about=About(),
        rows=rows_of(run.verdicts),
    )
    manifest = replace(run.manifest, seal=None).sealed({EVIDENCE: digest(content)})
    return entry, {EVIDENCE: content, MANIFEST: dump_manifest(manifest)}


def unfit(definition: Definition, run: Run) -> str | None:
    """Say why a run is none of what a board is over, if so."""
    key, suite = run.manifest.key, run.manifest.suite
    if suite.digest != definition.digest:
        return f"it is over {suite.name}@{suite.digest[:8]}, the board over {definition.digest[:8]}"
    if not suite.complete or run.manifest.counts.too_long:
        return "it is over a part of the suite"
    if suite.clusters:
        return f"its items are clustered by {', '.join(suite.clusters)}, not as the suite says"
    if key.score != definition.score:
        return f"its sentences are compared by {key.score!r}, the board's by {definition.score!r}"
    for name, value in definition.protocol.items():
        if key.protocol.get(name) != value:
            return f"its {name} is {key.protocol.get(name)!r}, the board's {value!r}"
    return None


def _is_taken(folder: Path, others: Iterable[Path]) -> bool:
    """Tell whether another has the name, in whatever case: some disks do not tell these apart."""
    return folder.name.lower() in {one.name.lower() for one in others}


def write_beside(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of an entry into a folder beside its place, from which it is then moved there.

    Raises:
        OSError: One cannot be written.
    """
    partial = folder.with_name(f"{folder.name}{PARTIAL}")
    if partial.exists():  # a kill left it
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    for name, content in files.items():
        write_whole(partial / name, content)
    return partial


def links_in(folder: Path) -> list[str]:
    """Name what is a link: it would be read from elsewhere, where it may change, and written to."""
    return sorted(one.name for one in folder.iterdir() if one.is_symlink())


@contextmanager
def changing(board: Path) -> Iterator[None]:
    """Hold a board: no two entries are added at once.

    Raises:
        BoardError: Another process is changing it, or what would be written leads elsewhere.
    """
    if links := links_in(board):
        raise BoardError(
            f"{board / links[0]} is a link, and what is written there would land elsewhere.\n"
            "  Put a file or a folder in its place."
        )
    held = take_lock(board / BOARD_LOCK)
    if held is None:
        raise BoardError(f"{board} is being changed by another tseval.\n  Try again when it has ended.")
    try:
        yield
    finally:
        remove_lock(board / BOARD_LOCK, held)
