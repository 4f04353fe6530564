"""Record the accuracy of entries on a copy of the suite with hidden words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.analysis.correctness import estimate_means
from tseval.analysis.counts import tally
from tseval.boards.dates import today
from tseval.boards.definition import BOARD_FILES_FORMAT, read_definition, suite_of
from tseval.boards.entry import About, Entry, rows_of
from tseval.boards.entry_folders import ranked_folders, readable_entries
from tseval.boards.maintainer import CHECKS, Hidden, checks_text, read_checks
from tseval.boards.transaction import board_transaction
from tseval.boards.verified import require_verified
from tseval.errors import BoardError
from tseval.runs.board_suite import SplitSuite
from tseval.runs.entry import entry_run
from tseval.runs.reader import read_run
from tseval.suites import without_cache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.analysis.estimates import Estimate
    from tseval.report.published import RowKey
    from tseval.runs.run import Run


@without_cache()
def record_hidden(board: Path, paths: Sequence[Path], suite: str) -> dict[str, Hidden]:
    """Write into `checks.yaml` the accuracies of entries on a hidden copy of the board's suite.

    Each run is verified, and belongs to the entry with the same weights and protocol. The interval of the
    difference follows from the intervals of the two means, which are independent.

    Args:
        suite: Path of the copy (`tseval.suites.grammar.write_twin`).

    Source: Newcombe 1998, "Interval estimation for the difference between independent proportions", method
    10, with the intervals of the tables.
    """
    definition = read_definition(board)
    ranked = ranked_folders(board, definition)
    of_model = {entry.model_identity: folder for folder in ranked for entry in readable_entries([folder])}
    split = SplitSuite(suite_of(definition, board), definition.score)
    comparisons: dict[str, Hidden] = {}
    for path in paths:
        run = read_run(path)
        key = Entry(BOARD_FILES_FORMAT, "", run.manifest.signature, run.manifest.key.fingerprint, About(), ())
        folder = of_model.get(key.model_identity)
        if folder is None:
            raise BoardError(
                f"{path}: no entry of {board} has the model of this run, with these weights and scored in "
                "this way.\n"
                f"  Add an entry for the model first: tseval board add {board} RUN"
            )
        if run.manifest.suite.digest == definition.digest:
            raise BoardError(
                f"{path} is a run on the public suite of the leaderboard, not on the hidden version.\n"
                "  Score the model on the hidden version: tseval run --suite HIDDEN --model MODEL"
            )
        require_verified(path, suite)
        public, hidden = (_mean_over_rows(split_run, path) for split_run in (entry_run(folder, split), run))
        if public[0] != hidden[0]:
            raise BoardError(
                f"{path} has other rows than the leaderboard, so the suite of this run is not the hidden "
                "version of the leaderboard's suite.\n"
                "  Score the model on the hidden version: tseval run --suite HIDDEN --model MODEL"
            )
        comparisons[folder.name] = _compared(run, public[1], hidden[1])
    with board_transaction(board, "hidden", *map(str, paths), suite) as change:
        checks = read_checks(board)
        change.put(CHECKS, checks_text(replace(checks, hidden={**checks.hidden, **comparisons})))
        change.commit()
    return comparisons


def _mean_over_rows(run: Run, path: Path) -> tuple[list[RowKey], Estimate]:
    """Return the rows of a run, and their mean."""
    counts, answers = tally(run.verdicts)
    rows = [row.key for row in rows_of(run.verdicts)]
    ((mean,),) = estimate_means([answers], [range(len(rows))])
    if mean is None or (counts["n_items"] == counts["n_undecidable"]).any():
        raise BoardError(
            f"{path}: in one row no item can be decided, so the mean over rows is unknown.\n"
            "  Use a model whose vocabulary has the words of the suite."
        )
    return rows, mean


def _compared(run: Run, public: Estimate, hidden: Estimate) -> Hidden:
    """Compare the mean on hidden words with the mean on the board's words."""
    difference = hidden.value - public.value
    lower = math.hypot(hidden.value - hidden.low, public.high - public.value)
    upper = math.hypot(hidden.high - hidden.value, public.value - public.low)

    def round_outwards(low: float, high: float) -> tuple[float, float]:
        return math.floor(low * 1000) / 1000, math.ceil(high * 1000) / 1000

    return Hidden(
        twin=run.manifest.suite.digest,
        on=today(),
        n_items=run.manifest.counts.items,
        mean=round(hidden.value, 3),
        interval=round_outwards(hidden.low, hidden.high),
        difference=round(difference, 3),
        difference_interval=round_outwards(difference - lower, difference + upper),
    )
