"""Runs over one suite whose verdicts are read once and kept."""

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
# 16 bytes an item and run: of many runs they take more memory than all that follows from them.
SCORES = {"better_score", "worse_score"}
MOST_WITH_SCORES = 16  # runs


class CachedRun:
    """A run whose verdicts are read once; features, which are the suite's, are not kept.

    Columns that are the same as in the run before are kept once. Scores are kept only `with_scores`.
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
                known = self._before.verdicts()
                both = set(names) & set(known.column_names)
                same = {name for name in both if table[name].equals(known[name])}
                columns = [(known if name in same else table)[name] for name in names]
                self._verdicts = pa.table(columns, names)
            # In one piece, columns that runs share are read from one place.
            in_pieces = any(column.num_chunks > 1 for column in self._verdicts.columns)
            self._verdicts = self._verdicts.combine_chunks() if in_pieces else self._verdicts
        return self._verdicts

    def for_table(self) -> Run:
        """Return the run as tables read it."""
        return replace(self.run, load_verdicts=self.verdicts)


def cache_runs(runs: Sequence[Run]) -> list[CachedRun]:
    """Keep the verdicts of runs over one suite, from their first use on; of many runs without scores."""
    cached: list[CachedRun] = []
    for run in runs:
        # Tables of compared regions count scores, not verdicts; scores of a prompt model are its choices.
        with_scores = len(runs) <= MOST_WITH_SCORES or run.manifest.key.score in {"regions", "prompt"}
        cached.append(CachedRun(run, cached[-1] if cached else None, with_scores=with_scores))
    return cached


def return_memory() -> None:
    """Let Arrow return memory to the system as soon as nothing uses it.

    A leaderboard reads one entry after the other. Arrow's own allocator keeps 100 MB of them.
    """
    pa.set_memory_pool(pa.system_memory_pool())
