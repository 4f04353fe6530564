"""What a process that was killed leaves in the directory of a run, and how it is cleared away."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from tseval.files import PARTIAL, remove_lock, take_lock
from tseval.runs.manifest_file import NAME

if TYPE_CHECKING:
    from pathlib import Path

RUN_LOCK = ".lock"
PARTS = "parts"
# A part: its number, and the start of its digest.
_PART = re.compile(rf"\d{{6,}}-[0-9a-f]+\.parquet({re.escape(PARTIAL)})?")
# All that a run may hold before its first manifest.
BEFORE_MANIFEST = {RUN_LOCK, PARTS, f"{NAME}{PARTIAL}"}

# What `fresh_directory` calls a run.
_NAMED = re.compile(r".+--.+--\d{8}T\d{6}(-\d+)?")


def clear_begun(root: Path) -> None:
    """Remove the directories below a root that tseval named, and was killed in before the first manifest.

    Nothing was scored in them. One that another process works in stays, as does what may not be removed.
    """
    for path in sorted(root.glob("*/")):
        if _NAMED.fullmatch(path.name):
            with suppress(OSError):
                _remove_begun(path)


def _remove_begun(path: Path) -> None:
    """Remove a directory in which nothing but the start was made, unless a process works there."""
    held = take_lock(path / RUN_LOCK) if _is_begun(path) else None
    if held is None:
        return
    begun = _is_begun(path)  # looked at again: before we held the lock, it may have become more
    if begun:
        (path / f"{NAME}{PARTIAL}").unlink(missing_ok=True)
        remove_parts(path)
    remove_lock(path / RUN_LOCK, held)
    if begun:
        path.rmdir()


def _is_begun(path: Path) -> bool:
    """Tell whether a directory holds no more than a run does before its first manifest."""
    return {entry.name for entry in path.iterdir()} <= BEFORE_MANIFEST


def clear_complete(path: Path) -> None:
    """Clear what a process left that was killed after the run was complete, before it had cleared up itself.

    Where that may not be written, or the process is still at it, everything stays: the run is whole.
    """
    if not (path / RUN_LOCK).exists() and not (path / PARTS).exists():
        return
    with suppress(OSError):
        held = take_lock(path / RUN_LOCK)
        if held is not None:
            remove_parts(path)
            remove_lock(path / RUN_LOCK, held)


def remove_parts(path: Path) -> None:
    """Remove the saved parts of a run whose lock is held; what tseval did not write stays.

    So does all that a link leads to: it was not made by tseval, and may lie in anybody's folder.
    """
    parts = path / PARTS
    if parts.is_symlink():
        return
    with suppress(OSError):
        for part in parts.iterdir():
            if _PART.fullmatch(part.name):
                part.unlink()
        parts.rmdir()
