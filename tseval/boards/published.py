"""Boards of published accuracies: entries of level *published*, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.boards.definition import DEFINITION
from tseval.boards.entry import ENTRY_FILE, entry_folders, read_published
from tseval.boards.printed import check_printed_rows
from tseval.errors import BoardError
from tseval.formats import ContentError
from tseval.report.table import Board, BoardModel, BoardRow

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.boards.definition import Definition
    from tseval.boards.entry import PublishedEntry


def published_entry(folder: Path, definition: Definition) -> PublishedEntry:
    """Read an entry of published accuracies, and hold it to its board.

    Raises:
        BoardError: It cannot be read, a field of it is wrong, or an accuracy stands in no row of the board.
    """
    entry = read_published(folder)
    try:
        check_printed_rows(entry.rows, {row.key for row in definition.rows}, definition.decimals)
    except ContentError as error:
        raise BoardError(f"{folder / ENTRY_FILE}: {error}.") from None
    return entry


def published_board(board: Path, definition: Definition) -> Board:
    """Put the accuracies of all entries together, as they are printed.

    Raises:
        BoardError: An entry is wrong, or there is none.
    """
    folders = entry_folders(board, definition.order)
    if not folders:
        raise BoardError(f"{board / DEFINITION}: a board of published accuracies needs an entry.")
    entries = [published_entry(folder, definition) for folder in folders]
    printed = {entry.name: {row.key: row.accuracy for row in entry.rows} for entry in entries}
    return Board(
        name=board.resolve().name,
        title=definition.title,
        source=definition.source or definition.title,
        suite=definition.suite,
        score=definition.score,
        decimals=definition.decimals,
        models=tuple(
            BoardModel(entry.name, entry.validation_perplexity, entry.parameters) for entry in entries
        ),
        rows=tuple(
            BoardRow(
                *row.key, row.n_items, {name: of[row.key] for name, of in printed.items() if row.key in of}
            )
            for row in definition.rows
        ),
        notes=definition.notes,
        human=definition.human,
    )
