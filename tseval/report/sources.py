"""Open what a user names: run directories, board files, boards that come with tseval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tseval.boards import BUNDLED, Board, bundled_boards, read_board
from tseval.errors import RunError, suggest
from tseval.runs import Run, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable


def open_sources(names: Iterable[str]) -> list[Run | Board]:
    """Open runs and boards.

    Args:
        names: Paths of run directories or boards, or names of boards that come with tseval.

    Raises:
        RunError: There is nothing at a path, or the run there cannot be read.
        BoardError: A board cannot be read.
    """
    return [_open(name) for name in names]


def _open(name: str) -> Run | Board:
    path = Path(name)
    if path.suffix == ".json" or (path / "board.json").is_file():
        return read_board(path)
    if path.exists():
        return read_run(path)
    if name in bundled_boards():
        return read_board(BUNDLED / name)
    raise RunError(
        f"there is no run or board at {name!r}.\n"
        f"  Name a run directory or a board. {suggest(name, bundled_boards(), 'Boards')}"
    )
