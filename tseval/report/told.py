"""What is told of runs and boards side by side: accuracies, or correlations with ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.report.analyses import ratings
from tseval.report.boards import Board
from tseval.report.columns import read_humans
from tseval.report.opened import for_analysis
from tseval.report.table import build_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report.document import Document
    from tseval.report.table import Table
    from tseval.runs import Run


def told_of(
    sources: Sequence[Run | Board], by: str | Sequence[str] = (), human: Path | None = None
) -> Document | Table:
    """Put runs and published boards side by side.

    Args:
        sources: Runs and boards, in the order of the columns.
        by: Feature or features to break the rows down by.
        human: A table of what people get right, as `tseval.report.table.read_humans` takes it.

    Returns:
        A table of accuracies; of runs over rated sentences, one of correlations.

    Raises:
        RunError: The sources are over different items, only some are over rated sentences, or none is a run
            that people could stand beside.
        SuiteError: A run's suite has no such feature, or what people get right is not over its cases.
        BoardError: A board cannot be broken down.
    """
    rated = [source for source in sources if not isinstance(source, Board) and source.rated]
    if human is not None:
        runs = [source for source in sources if not isinstance(source, Board) and source not in rated]
        if not runs:
            raise RunError("people stand beside the accuracies of a run, and there is none.\n  Name a run.")
        return build_table(sources, by, [read_humans(human, runs[0])])
    if not rated:
        return build_table(sources, by)
    if other := [source for source in sources if source not in rated]:
        raise RunError(
            f"{rated[0].name} has correlations with ratings and {other[0].name} accuracies, so one table "
            "cannot hold both.\n  Print two tables."
        )
    return ratings(for_analysis(rated, rated=True), by)
