"""The document that shows runs and published boards in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tseval.errors import RunError
from tseval.report.humans import read_humans
from tseval.report.opened import for_analysis
from tseval.report.published import Board
from tseval.report.table import Table, build_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report.document import Document
    from tseval.runs import Run


def document_of(
    sources: Sequence[Run | Board], by: str | Sequence[str] = (), human: Path | None = None
) -> Document | Table:
    """Return a table of runs and published boards; for runs on rated sentences, correlations."""
    rated = [source for source in sources if not isinstance(source, Board) and source.rated]
    if human is not None:
        runs = [source for source in sources if not isinstance(source, Board) and source not in rated]
        if not runs:
            raise RunError(
                "--human prints human accuracies next to those of a run, but the command names "
                "no run.\n"
                "  Name a run on the same suite as the human accuracies."
            )
        return build_table(sources, by, [read_humans(human, runs[0])])
    if not rated:
        document = None if len(sources) > 1 or by or isinstance(sources[0], Board) else sources[0].document
        return build_table(sources, by) if document is None else cast("Document | Table", document)
    if scored := [source for source in sources if source not in rated]:
        raise RunError(
            f"{rated[0].name} has correlations with ratings, but {scored[0].name} has accuracies, so one "
            "table cannot show both.\n"
            "  Run tseval table twice: once for the runs on rated sentences, once for the others."
        )
    from tseval.report.analyses.ratings import ratings  # noqa: PLC0415 - brings SciPy along, which most tables do not need

    return ratings(for_analysis(rated, rated=True), by)
