"""Runs on one suite whose verdicts are read once and kept in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.analysis.counts import ANSWERS
from tseval.analysis.rows import ROW
from tseval.items import ENTRY
from tseval.questions.inflection import NUMBER, WORDS_BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.runs.run import Run


_NEEDED = {*ROW, "case", "item", "correct", "tie", "undecidable", "half_known"}
# Scores are 16 bytes per item and run. For many runs this is more memory than all other results.
SCORES = {"better_score", "worse_score"}
MOST_WITH_SCORES = 16  # runs


class CachedRun:
    """A run whose verdicts are read once, without features, which belong to the suite.

    Columns that equal those of the previous run are stored once. Scores are kept only `with_scores`.
    """

    def __init__(self, run: Run, before: CachedRun | None, *, with_scores: bool = True) -> None:
        self.run, self._before, self.with_scores = run, before, with_scores
        self._verdicts: pa.Table | None = None

    def verdicts(self) -> pa.Table:
        """Return the verdicts, without features."""
        if self._verdicts is None:
            table = self.run.load_verdicts()
            needed = _NEEDED | {*ANSWERS} | (SCORES if self.with_scores else set())
            if self.run.manifest.suite.lexicon is not None:
                needed |= {WORDS_BEFORE, NUMBER}
            names = [name for name in table.column_names if name in needed or name.endswith(ENTRY)]
            self._verdicts = table.select(names)
            if self._before is not None:
                earlier = self._before.verdicts()
                shared = set(names) & set(earlier.column_names)
                unchanged = {name for name in shared if table[name].equals(earlier[name])}
                columns = [(earlier if name in unchanged else table)[name] for name in names]
                self._verdicts = pa.table(columns, names)
            # In one piece: chunked columns would be copied on each use, and runs could not share them.
            in_pieces = any(column.num_chunks > 1 for column in self._verdicts.columns)
            self._verdicts = self._verdicts.combine_chunks() if in_pieces else self._verdicts
        return self._verdicts

    def for_table(self) -> Run:
        """Return the run in the form for tables."""
        return replace(self.run, load_verdicts=self.verdicts)


def cache_runs(runs: Sequence[Run]) -> list[CachedRun]:
    """Keep the verdicts of runs on one suite after their first use; for many runs, without scores."""
    cached: list[CachedRun] = []
    for run in runs:
        # Tables of regions need scores, not verdicts; the scores of a prompt model are its choices.
        with_scores = len(runs) <= MOST_WITH_SCORES or run.manifest.key.score in {"regions", "prompt"}
        cached.append(CachedRun(run, cached[-1] if cached else None, with_scores=with_scores))
    return cached


def return_memory() -> None:
    """Let Arrow return unused memory to the system at once.

    A leaderboard reads one entry after the other, and Arrow's default allocator would keep 100 MB of them.
    """
    pa.set_memory_pool(pa.system_memory_pool())
