"""The table of a page, and its runs, each read only once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report import build_table
from tseval.report.published import Board
from tseval.runs import CachedRun, Run, cache_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.table import Table


def tabulate_once(sources: Sequence[Run | Board]) -> tuple[list[CachedRun | None], Table]:
    """Make the table of runs and boards, and return it with the run of each column."""
    runs = iter(cache_runs([source for source in sources if not isinstance(source, Board)]))
    runs_of_columns: list[CachedRun | None] = []
    read: list[Run | Board] = []
    for source in sources:
        if isinstance(source, Board):
            runs_of_columns += [None] * len(source.models)
            read.append(source)
        else:
            run = next(runs)
            runs_of_columns.append(run)
            read.append(run.for_table())
    return runs_of_columns, build_table(read)
