"""Check a board: what a pull request to it must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.boards.definition import DEFINITION, read_definition
from tseval.boards.entry import (
    ENTRY_FILE,
    ENTRY_FOLDERS,
    EVIDENCE,
    LARGEST_ENTRY,
    entry_folders,
    entry_run,
    read_entry,
)
from tseval.boards.folder import BOARD_LOCK, links_in, unfit
from tseval.boards.verify import board_suite, verify_entry
from tseval.boards.written import ACCURACIES, BOARD_PAGE, pages
from tseval.errors import BoardError, LimitError, TsevalError, shortened
from tseval.files import PARTIAL, read_bytes
from tseval.runs.manifest_file import NAME as MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.boards.definition import Definition
    from tseval.runs import Run
    from tseval.suites.items import Suite

_OWN = {DEFINITION, ACCURACIES, BOARD_PAGE, ENTRY_FOLDERS, BOARD_LOCK}
_OF_ENTRY = {ENTRY_FILE, EVIDENCE, MANIFEST}


def wrong_with_board(board: Path, names: Sequence[str] = ()) -> list[str]:
    """Name everything that is wrong with a board, or with some of its entries.

    Args:
        board: Its folder.
        names: Entries to look at; all, and the written files, where empty.

    Raises:
        BoardError: There is no board, or no such entry.
        SuiteError: Its suite is not here.
    """
    definition, suite = read_definition(board), board_suite(board)
    folders = entry_folders(board)
    known = [folder.name for folder in folders]
    if unknown := [name for name in names if name not in known]:
        raise BoardError(f"{board} has no entry {unknown[0]!r}")
    found = [f"{name} is a link" for name in links_in(board)]
    chosen = [folder for folder in folders if not names or folder.name in names]
    found += [f"{one.name}: {what}" for one in chosen for what in _wrong_with_entry(one, definition, suite)]
    found += _repeated(folders)
    if not names and not found:
        found += _wrong_with_files(board, definition, folders, suite)
    return [shortened(one) for one in found]


def _wrong_with_entry(folder: Path, definition: Definition, suite: Suite) -> Iterator[str]:
    """Say what is wrong with one entry; the first thing that verification finds ends it."""
    if folder.is_symlink() or not folder.is_dir():
        yield "is no folder"
        return
    if links := links_in(folder):
        yield f"{links[0]} is a link"
        return
    there = {one.name for one in folder.iterdir()}
    if missing := sorted(_OF_ENTRY - there):
        yield f"has no {missing[0]}"
        return
    if strangers := sorted(there - _OF_ENTRY):
        yield f"holds {strangers[0]!r}, which no entry has"
    if (size := (folder / EVIDENCE).stat().st_size) > LARGEST_ENTRY:
        yield f"{EVIDENCE} has {size:,} bytes, more than {LARGEST_ENTRY:,}"
        return
    found = verify_entry(folder, suite=suite)
    if not found.ok:
        yield found.checks[-1].found
    elif refusal := unfit(definition, entry_run(folder, suite)):
        yield refusal


def _repeated(folders: Sequence[Path]) -> Iterator[str]:
    """Find names that differ in case alone, and one signature with two results."""
    names: dict[str, str] = {}
    signatures: dict[str, tuple[str, object]] = {}
    for folder in folders:
        if (first := names.setdefault(folder.name.lower(), folder.name)) != folder.name:
            yield f"{folder.name}: is the name of {first} in other letters"
        try:
            entry = read_entry(folder)
        except (BoardError, LimitError):
            continue  # said of the entry itself
        first, rows = signatures.setdefault(entry.signature, (folder.name, entry.rows))
        if first != folder.name:
            same = "the same as" if rows == entry.rows else "other counts than"
            yield f"{folder.name}: has the signature of {first}, and {same} it"


def _wrong_with_files(
    board: Path, definition: Definition, folders: Sequence[Path], suite: Suite
) -> Iterator[str]:
    if strangers := sorted(one.name for one in board.iterdir() if one.name not in _OWN):
        yield f"the folder holds {strangers[0]!r}, which no board has"
    for left in sorted((board / ENTRY_FOLDERS).glob(f"*{PARTIAL}")):
        yield f"{left.name} is what a kill left of an entry: remove it"
    runs: list[Run] = [entry_run(folder, suite) for folder in folders]
    for name, text in pages(board, definition, runs).items():
        try:
            same = read_bytes(board / name, "document_bytes") == text.encode()
        except (OSError, TsevalError):
            same = False
        if not same:
            yield f"{name} does not follow from the entries: write it again with tseval board write {board}"
