"""Notes on how to read differences between models: intervals, outcomes and the error rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.analysis.differences import SAME
from tseval.analysis.intervals import error_percent
from tseval.report.document import INTERVAL_HEADING, Field
from tseval.report.numbers import TRUNCATED, format_interval
from tseval.report.opened import interval_note

if TYPE_CHECKING:
    import pandas as pd

DIFFERENCE_INTERVAL = Field(INTERVAL_HEADING, ("low", "high"), format_interval)


def comparison_notes(rows: pd.DataFrame, margin: float, family: str, both: str = "both models") -> list[str]:
    """Return notes on how to read differences, their intervals and their outcomes."""
    notes = [
        f"Differences of accuracies, {TRUNCATED}, on the items that are decidable for {both}.",
        interval_note(rows),
        f"Equivalent: the difference is significantly smaller than {margin:g} (two one-sided tests, also "
        f"for other words). Better or worse: significantly different from 0. Error rate: "
        f"{error_percent()} over {family} (Holm).",
    ]
    if (rows["outcome"] == SAME).any():
        notes.append(
            "Same verdicts: both models have the same verdict on every item; the interval shows how much "
            "they may differ on other words."
        )
    if rows["outcome"].isna().any():
        notes.append(f"A dash: no item is decidable for {both}, so there is no difference.")
    return notes
