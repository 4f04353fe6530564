"""Runs whose verdicts are read once, and in which what is the same for all is held once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.analysis.accuracy import ROW
from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.runs.reading import Run

_NEEDED = {*ROW, "case", "item", "better_score", "worse_score", "correct", "tie", "undecidable"}


class Kept:
    """A run whose verdicts are read once; features, which are the suite's, are not kept.

    Args:
        run: What is read.
        before: Another run; columns that are the same in both are kept once.
    """

    def __init__(self, run: Run, before: Kept | None) -> None:
        self.run, self._before = run, before
        self._verdicts: pa.Table | None = None

    def verdicts(self) -> pa.Table:
        """Give the verdicts, without features."""
        if self._verdicts is None:
            table = self.run.load_verdicts()
            names = [name for name in table.column_names if name in _NEEDED or name.endswith(ENTRY)]
            self._verdicts = table.select(names)
            if self._before is not None:
                known = self._before.verdicts()
                both = set(names) & set(known.column_names)
                same = {name for name in both if table[name].equals(known[name])}
                columns = [(known if name in same else table)[name] for name in names]
                self._verdicts = pa.table(columns, names)
        return self._verdicts

    def for_table(self) -> Run:
        """Give the run as tables read it."""
        return replace(self.run, load_verdicts=self.verdicts)


def keep_runs(runs: Sequence[Run]) -> list[Kept]:
    """Keep the verdicts of runs over one suite, from their first use on."""
    kept: list[Kept] = []
    for run in runs:
        kept.append(Kept(run, kept[-1] if kept else None))
    return kept
