"""Open what a user names: run directories, board files, boards that come with tseval."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import RunError, suggest
from tseval.report.boards import BUNDLED_BOARDS, Board, bundled_boards, read_board
from tseval.runs import Run, read_run, runs_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
    for name, path in ((given, path) for given in names for path in _found(given)):
        first = found.setdefault(os.path.realpath(path), name)
        if len(found) == len(sources):
            same = "is named twice" if first == name else f"is the same as {first!r}"
            raise RunError(f"{name!r} {same}.\n  Name each run and each board once.")
        sources.append(read_board(path) if path.suffix == ".json" else read_run(path))
    return sources


def _found(name: str) -> Sequence[Path]:
    """Give the run directories or the board's file that a name stands for."""
    path = Path(name)
    if path.suffix == ".json":
        return [path]
    if (path / "board.json").is_file():
        return [path / "board.json"]
    if path.exists():
        return runs_below(path)[0] or [path]
    if name in bundled_boards():
        return [BUNDLED_BOARDS / name / "board.json"]
    raise RunError(
        f"there is no run or board at {name!r}.\n"
        f"  Name a run directory or a board. {suggest(name, bundled_boards(), 'Boards')}"
    )
