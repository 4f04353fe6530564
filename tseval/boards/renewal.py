"""Create a board for a new version of its suite."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tseval.boards.definition import read_definition, suite_here, write_definition
from tseval.boards.folder import is_there, refuse_full, release, write_new_board
from tseval.boards.transaction import board_transaction, complete_interrupted
from tseval.errors import BoardError
from tseval.runs.board_suite import DEFINITION, suite_spec
from tseval.suites import without_cache


@without_cache()
def renew_board(board: Path, out: Path | None = None) -> Path:
    """Create a board for the current version of the suite, and archive the board for the previous one."""
    is_completed = complete_interrupted(board, "renew", str(out)) is not None
    definition = read_definition(board)
    if definition.published:
        raise BoardError(
            f"{board} is a leaderboard of published accuracies, so tseval cannot renew it for a new "
            "version of a suite.\n"
            "  Write a new board.yaml, as docs/boards.md describes."
        )
    if is_completed and definition.renewed_by is not None:
        return out or Path(os.path.normpath(board.absolute() / definition.renewed_by))
    if definition.renewed_by is not None:
        raise BoardError(
            f"{board} was already renewed for a new version of its suite.\n"
            f"  Use the new leaderboard: {os.path.normpath(board / definition.renewed_by)}"
        )
    present = suite_here(definition, board)
    if present.digest == definition.digest:
        raise BoardError(
            f"{board}: the suite {definition.suite} has not changed, so there is no new version to renew "
            "the leaderboard for.\n"
            f"  Change or download the suite first, then run: tseval board renew {board}"
        )
    new = out or board.absolute().with_name(f"{board.resolve().name}-{present.digest[:8]}")
    spec = suite_spec(definition.suite, board)
    suite = os.path.relpath(spec, new) if isinstance(spec, Path) else spec
    definition_of_new = replace(
        definition,
        suite=suite,
        digest=present.digest,
        source=present.source,
        order=(),
        seeds={},
        renews=os.path.relpath(board.absolute(), new.absolute()),
    )
    with board_transaction(board, "renew", str(out)) as change:
        if is_there(new, definition_of_new):  # an earlier command was killed before it changed the old board
            release(new)
        else:
            refuse_full(new)
            write_new_board(new, spec, definition_of_new)
        archived = replace(definition, renewed_by=os.path.relpath(new.absolute(), board.absolute()))
        change.put(DEFINITION, write_definition(archived))
        change.commit()
    return new
