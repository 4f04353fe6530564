"""The folder that a zoo is published to: whose it is, and how an entry is put into it whole."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tseval.boards import ENTRY_FILE, ENTRY_FOLDERS, EVIDENCE
from tseval.boards.check import CURVES_FOLDER
from tseval.boards.folder import BOARD_LOCK, write_beside
from tseval.errors import BoardError, LimitError, TrainingError
from tseval.files import PARTIAL, read_bytes, remove_lock, sync_directory, take_lock, write_whole
from tseval.report.table import read_board
from tseval.runs.manifest import NAME as MANIFEST

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from pathlib import Path

MARK = "Published by `tseval train zoo --publish DIR`; do not edit."
_OF_ENTRY = {ENTRY_FILE, EVIDENCE, MANIFEST}
_BEGUN = re.compile(rf"{re.escape(BOARD_LOCK)}|README\.md\.\d+{re.escape(PARTIAL)}")


def check_target(target: Path) -> None:
    """Refuse a folder that holds anything but an earlier publication, before hours are spent.

    One that was killed has at least begun its page, or left a partial one.

    Raises:
        TrainingError: Says what is there.
    """
    if not target.exists() or (
        target.is_dir() and all(_BEGUN.fullmatch(one.name) for one in target.iterdir())
    ):
        return
    try:
        ours = MARK.encode() in read_bytes(target / "README.md", "document_bytes")
        if (target / "board.json").exists():
            read_board(target)
    except (OSError, ValueError, BoardError, LimitError):
        ours = False
    if not ours:
        raise TrainingError(
            f"{target} holds something else than a published zoo.\n  Name a new folder with --publish."
        )


@contextmanager
def publishing(target: Path) -> Iterator[None]:
    """Hold the folder: no two publications write into it at once.

    Raises:
        TrainingError: Another process publishes there, or the folder holds something else.
    """
    check_target(target)
    target.mkdir(parents=True, exist_ok=True)
    lock = target / BOARD_LOCK
    held = take_lock(lock)
    if held is None:
        raise TrainingError(
            f"{target} is being written by another tseval.\n"
            "  When it has ended, give the same command again: what is finished is not done again."
        )
    try:
        yield
    finally:
        remove_lock(lock, held)


def put_entry(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the folder of an entry beside its place, and move it there: nobody finds half of one.

    Where the same stands already, nothing is done. Between the old and the new there is none for a moment.

    Raises:
        OSError: It cannot be written; what was there before may be gone.
    """
    if folder.is_dir() and holds_entry(folder) and _contents(folder) == contents:
        return
    partial = write_beside(folder, contents)
    if folder.exists():
        _remove(folder)
    partial.rename(folder)
    sync_directory(folder.parent)


def put_file(path: Path, content: bytes) -> None:
    """Write a file, unless the same stands there already.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or read_bytes(path) != content:
        write_whole(path, content)


def remove_others(target: Path, names: Container[str]) -> None:
    """Remove entries and curves of all models but these, and what a killed publication left of any."""
    for folder in sorted((target / ENTRY_FOLDERS).iterdir()):
        if folder.name not in names and folder.is_dir() and holds_entry(folder):
            _remove(folder)
    for file in sorted((target / CURVES_FOLDER).iterdir()):
        if file.suffix != ".parquet" or file.stem not in names:
            file.unlink()


def holds_entry(folder: Path) -> bool:
    """Tell whether a folder is an entry's; one that was being written or removed lacks files."""
    return {one.name.removesuffix(PARTIAL) for one in folder.iterdir()} <= _OF_ENTRY


def _contents(folder: Path) -> dict[str, bytes]:
    return {one.name: read_bytes(one) for one in folder.iterdir()}


def _remove(folder: Path) -> None:
    """Remove a folder, moved away first, so that nobody finds half of it."""
    gone = folder
    if folder.suffix != PARTIAL:
        gone = folder.with_name(f"{folder.name}.old{PARTIAL}")
        if gone.exists():  # a kill left it
            shutil.rmtree(gone)
        folder.rename(gone)
    shutil.rmtree(gone)
