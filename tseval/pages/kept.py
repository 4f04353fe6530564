"""Runs and boards as a page reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report import build_table
from tseval.report.table import Board
from tseval.runs import keep_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report import Table
    from tseval.runs import Kept, Run


def tabulate_once(sources: Sequence[Run | Board]) -> tuple[list[Kept | None], Table]:
    """Make the table of runs and boards.

    Returns:
        For each column its run, None for a published one; and the table.

    Raises:
        RunError: The sources are over different items.
    """
    runs = iter(keep_runs([source for source in sources if not isinstance(source, Board)]))
    kept: list[Kept | None] = []
    read: list[Run | Board] = []
    for source in sources:
        if isinstance(source, Board):
            kept += [None] * len(source.models)
            read.append(source)
        else:
            run = next(runs)
            kept.append(run)
            read.append(run.for_table())
    return kept, build_table(read)
