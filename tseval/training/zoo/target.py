"""The folder that a zoo is published to: whose it is, and how a model's folder is put into it whole."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tseval.errors import BoardError, LimitError, TrainingError
from tseval.files import PARTIAL, read_bytes, remove_lock, sync_directory, take_lock, write_whole
from tseval.report.boards import read_board
from tseval.report.curves import PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from pathlib import Path

TABLES = ("table.csv", "table.md")
MANIFEST = "manifest.json"
MARK = "Written by `tseval train zoo --publish DIR`; do not edit."
TARGET_LOCK = ".lock"
_BEGUN = re.compile(rf"{re.escape(TARGET_LOCK)}|README\.md\.\d+{re.escape(PARTIAL)}")


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
    lock = target / TARGET_LOCK
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


def put_model(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the folder of a model beside its place, and move it there: nobody finds half of one.

    Where the same stands already, nothing is done. Between the old and the new there is none for a moment.

    Raises:
        OSError: It cannot be written; what was there before may be gone.
    """
    if folder.is_dir() and holds_model(folder) and _contents(folder) == contents:
        return
    partial = folder.with_name(f"{folder.name}{PARTIAL}")
    if partial.exists():  # a kill left it
        shutil.rmtree(partial)
    partial.mkdir()
    for name, content in contents.items():
        write_whole(partial / name, content)
    if folder.exists():
        _remove(folder)
    partial.rename(folder)
    sync_directory(folder.parent)


def remove_models(target: Path, but: Container[str]) -> None:
    """Remove the folders of all models but these, and what a killed publication left of any."""
    for folder in sorted(one for one in target.iterdir() if one.is_dir() and one.name not in but):
        if holds_model(folder):
            _remove(folder)


def holds_model(folder: Path) -> bool:
    """Tell whether a folder is a published model's; one that was being written or removed lacks files."""
    return {one.name.removesuffix(PARTIAL) for one in folder.iterdir()} <= {*TABLES, MANIFEST, PUBLISHED}


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
