"""Boards of published accuracies, without evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.boards.entry import PublishedEntry, read_published
from tseval.boards.entry_folders import entry_folders
from tseval.errors import BoardError
from tseval.formats import ContentError
from tseval.report.published import Board, BoardModel, BoardRow, check_printed_rows
from tseval.runs.board_suite import DEFINITION
from tseval.runs.entry import ENTRY_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.boards.definition import Definition


def published_entry(folder: Path, definition: Definition) -> PublishedEntry:
    """Read an entry of published accuracies, and check that it fits its board."""
    entry = read_published(folder)
    try:
        check_printed_rows(entry.rows, {row.key for row in definition.rows}, definition.decimals)
    except ContentError as error:
        raise BoardError(f"{folder / ENTRY_FILE}: {error}.") from None
    return entry


def published_board(board: Path, definition: Definition) -> Board:
    """Combine the accuracies of all entries, as the papers print them."""
    folders = entry_folders(board, definition.order)
    if not folders:
        raise BoardError(
            f"{board / DEFINITION}: this leaderboard of published accuracies has no entries.\n"
            "  Write an entry into entries/NAME/entry.yaml, as docs/boards.md describes."
        )
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
            BoardRow(*key, n_items, {name: values[key] for name, values in printed.items() if key in values})
            for key, n_items in ((row.key, row.n_items) for row in definition.rows)
        ),
        notes=definition.notes,
        human=definition.human,
    )
