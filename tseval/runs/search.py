"""Search for run directories below a folder: complete, unfinished, or interrupted with a given key."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tseval.errors import LimitError, RunError
from tseval.runs.directory import is_free
from tseval.runs.manifest import NAME, Manifest, RunKey, load_manifest

if TYPE_CHECKING:
    from pathlib import Path


def runs_below(folder: Path) -> tuple[list[Path], list[Path]]:
    """List the run directories in a folder and in its subfolders, by name; none if it is a run itself.

    Returns:
        The complete runs, with unreadable ones, and the unfinished runs.
    """
    complete: list[Path] = []
    unfinished: list[Path] = []
    if not (folder / NAME).exists():
        for path in sorted(file.parent for depth in ("*", "*/*") for file in folder.glob(f"{depth}/{NAME}")):
            paths = complete
            with suppress(RunError, LimitError):  # reading the run later reports the error
                paths = complete if isinstance(load_manifest(path), Manifest) else unfinished
            paths.append(path)
    return complete, unfinished


def find_interrupted(root: Path, key: RunKey) -> Path | None:
    """Find the newest interrupted run with this key below a root; runs in progress do not count."""
    candidates = []
    for file in root.glob(f"*/{NAME}"):
        path = file.parent
        try:
            manifest = load_manifest(path)
            is_match = not isinstance(manifest, Manifest) and manifest.key == key
        except (RunError, LimitError):
            continue  # a directory that cannot be read cannot be resumed
        if is_match and is_free(path):
            candidates.append((file.stat().st_mtime_ns, path))
    return max(candidates)[1] if candidates else None
