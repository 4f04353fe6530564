"""Open what a user names: run directories, board files, boards that come with tseval."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tseval.boards import (
    DEFINITION,
    ENTRY_FILE,
    EVIDENCE,
    entry_folders,
    entry_runs,
    read_definition,
    read_entry,
)
from tseval.errors import BoardError, RunError, suggest
from tseval.report.boards import BUNDLED_BOARDS, Board, bundled_boards, read_board
from tseval.runs import Run, read_run, runs_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def open_sources(names: Iterable[str], items: bool = False) -> list[Run | Board]:
    """Open runs and boards, each named once.

    Args:
        names: Paths of run directories, of entries of a board, of folders that hold some, or of boards, or
            names of boards that come with tseval.
        items: Whether single items will be asked for, so that a board's means over seeds do not do.

    Raises:
        RunError: There is nothing at a path, the run there cannot be read, or a run or board is
            named twice.
        BoardError: A board cannot be read.
    """
    found: dict[str, str] = {}
    sources: list[Run | Board] = []
    for name in names:
        for path, load in _found(name, items):
            first = found.setdefault(os.path.realpath(path), name)
            if len(found) == len(sources):
                same = "is named twice" if first == name else f"is the same as {first!r}"
                raise RunError(f"{name!r} {same}.\n  Name each run and each board once.")
            sources.append(load())
    return sources


def _found(name: str, items: bool) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Give where the runs or boards are that a name stands for, each with what opens it."""
    if not name:
        raise RunError("'' is no run and no board.\n  Is a variable of the shell empty?")
    path = Path(name)
    if path.suffix == ".json":
        return [(path, partial(read_board, path))]
    if (path / DEFINITION).is_file():
        return _board(path, items)
    if (path / "board.json").is_file():
        return [(path, partial(read_board, path))]
    if path.exists():
        below = runs_below(path)[0] or [path]
        if all((one / ENTRY_FILE).is_file() for one in below):
            return _entries(path, below)
        return [(one, partial(read_run, one)) for one in below]
    if name in bundled_boards():
        return _found(str(BUNDLED_BOARDS / name), items)
    raise RunError(
        f"there is no run or board at {name!r}.\n"
        f"  Name a run directory or a board. {suggest(name, bundled_boards(), 'Boards')}"
    )


def _board(path: Path, items: bool) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Open the entries of a board as runs; its accuracies alone where nothing else is known or shown."""
    definition = read_definition(path)
    accuracies: list[tuple[Path, Callable[[], Run | Board]]] = [(path, partial(read_board, path))]
    if definition.published or (definition.seeds and not items):
        return accuracies
    folders = entry_folders(path, definition.order)
    if not folders:
        raise BoardError(f"{path} has no entries yet.\n  Add a run: tseval board add {quote(str(path))} RUN")
    if lacks_evidence(path):
        if items:
            raise not_shipped(path)
        return accuracies
    return _entries(path, folders)


def _entries(path: Path, folders: list[Path]) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Open entries of one board as the runs that they were."""
    board = folders[0].resolve().parents[1]
    if read_definition(board).published:
        raise BoardError(f"{path} is of published accuracies, which are shown by boards.\n  Name {board}")
    runs = dict(zip(folders, entry_runs(folders), strict=True))
    return [(folder, partial(runs.__getitem__, folder)) for folder in folders]


def lacks_evidence(board: Path) -> bool:
    """Tell whether a board is one that was installed with tseval, without its evidence."""
    bundled = BUNDLED_BOARDS.resolve() in board.resolve().parents
    folders = entry_folders(board) if bundled else []
    here = any((folder / EVIDENCE).exists() or read_entry(folder).evidence for folder in folders)
    return bool(folders) and not here


def not_shipped(board: Path) -> BoardError:
    """Make the error that says where the evidence of such a board is."""
    return BoardError(
        f"{board.name}: what its numbers follow from is not a part of the installed package, for its size.\n"
        f"  Clone tseval's repository and name the folder there: leaderboards/{board.name}"
    )
