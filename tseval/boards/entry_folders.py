"""List the folders of a board's entries, in order, and read them."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.boards.definition import Definition, read_definition, suite_of
from tseval.boards.entry import Entry, read_entry
from tseval.boards.maintainer import BoardChecks, read_checks
from tseval.errors import BoardError, LimitError
from tseval.files import PARTIAL
from tseval.runs.board_suite import SplitSuite
from tseval.runs.entry import entry_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tseval.runs.run import Run


ENTRY_FOLDERS = "entries"


def entry_on_board(folder: Path, definition: Definition, known: BoardChecks) -> Entry:
    """Read an entry with the board's description of its training data, and with the maintainer's checks."""
    entry = read_entry(folder)
    named = entry.about.training_data
    description = replace(entry.about, training_data=definition.training_data.get(named or "", named))
    return replace(entry, about=description, checks=(*entry.checks, *known.checks.get(entry.name, ())))


def readable_entries(folders: Iterable[Path]) -> Iterator[Entry]:
    """Read entries, and skip unreadable ones: `tseval board check` reports them."""
    for folder in folders:
        with suppress(BoardError, LimitError):
            yield read_entry(folder)


def ranked_folders(board: Path, definition: Definition) -> list[Path]:
    """List the folders of the entries that have a rank: all but those that were retracted."""
    retracted = read_checks(board).retracted
    return [folder for folder in entry_folders(board, definition.order) if folder.name not in retracted]


def entry_folders(board: Path, order: Sequence[str] = ()) -> list[Path]:
    """List the folders of a board's entries: first those in `order`, then the others by name."""
    root = board / ENTRY_FOLDERS
    folders = sorted(folder for folder in root.iterdir() if folder.suffix != PARTIAL) if root.is_dir() else []
    positions = {name: position for position, name in enumerate(order)}
    return sorted(folders, key=lambda folder: positions.get(folder.name, len(positions)))


def entry_runs(folders: Sequence[Path]) -> list[Run]:
    """Open entries of one board as runs. The board is two folders above them."""
    if not folders:
        return []
    board = folders[0].resolve().parents[1]
    split = split_suite_of(board, read_definition(board))
    return [entry_run(folder, split) for folder in folders]


_shared: ContextVar[dict[object, SplitSuite] | None] = ContextVar("_shared", default=None)


@contextmanager
def suites_shared() -> Iterator[None]:
    """Load the suite of each board only once in this block: a large suite takes seconds and gigabytes."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def split_suite_of(board: Path, definition: Definition) -> SplitSuite:
    """Load the suite of a board."""
    suites = _shared.get()
    key = board.resolve()
    if suites is None or key not in suites:
        split = SplitSuite(suite_of(definition, board), definition.score)
        if suites is None:
            return split
        suites[key] = split
    return suites[key]
