"""Open what a user names: run directories, board files, boards that come with tseval."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.boards.definition import DEFINITION
from tseval.boards.entry import ENTRY_FILE, entry_folders, entry_runs
from tseval.errors import BoardError, RunError, suggest
from tseval.report.boards import BUNDLED_BOARDS, Board, bundled_boards, read_board
from tseval.runs import Run, read_run, runs_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def open_sources(names: Iterable[str]) -> list[Run | Board]:
    """Open runs and boards, each named once.

    Args:
        names: Paths of run directories, of folders that hold some, or of boards, or names of boards that come
            with tseval.

    Raises:
        RunError: There is nothing at a path, the run there cannot be read, or a run or board is
            named twice.
        BoardError: A board cannot be read.
    """
    found: dict[str, str] = {}
    sources: list[Run | Board] = []
    for name in names:
        for path, load in _found(name):
            first = found.setdefault(os.path.realpath(path), name)
            if len(found) == len(sources):
                same = "is named twice" if first == name else f"is the same as {first!r}"
                raise RunError(f"{name!r} {same}.\n  Name each run and each board once.")
            sources.append(load())
    return sources


def _found(name: str) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Give where the runs or boards are that a name stands for, each with what opens it."""
    path = Path(name)
    if path.suffix == ".json":
        return [(path, partial(read_board, path))]
    if (path / ENTRY_FILE).is_file() or (path / DEFINITION).is_file():
        return _entries(path)
    if (path / "board.json").is_file():
        return [(path, partial(read_board, path))]
    if path.exists():
        return [(one, partial(read_run, one)) for one in runs_below(path)[0] or [path]]
    if name in bundled_boards():
        return _found(str(BUNDLED_BOARDS / name))
    raise RunError(
        f"there is no run or board at {name!r}.\n"
        f"  Name a run directory or a board. {suggest(name, bundled_boards(), 'Boards')}"
    )


def _entries(path: Path) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Open an entry, or all entries of a board, as the runs that they were."""
    folders = [path] if (path / ENTRY_FILE).is_file() else entry_folders(path)
    if not folders:
        raise BoardError(f"{path} has no entries yet.\n  Add a run: tseval board add {path} RUN")
    runs = dict(zip(folders, entry_runs(folders), strict=True))
    return [(folder, partial(runs.__getitem__, folder)) for folder in folders]
