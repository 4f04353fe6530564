"""A model's confidence in the number of a verb, after each word before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.analysis.breakdowns import VARIES, profile, with_intervals, with_words
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.numbers import TRUNCATED, format_count, format_share
from tseval.report.opened import RunSet, analysis_document, interval_note, stacked
from tseval.report.panels import SHARES, Axis, Panel, lines_of

if TYPE_CHECKING:
    import pandas as pd


def profiles(opened: RunSet, words: int | None = None) -> Document:
    """Return confidence in the correct answer after each word, for all items or those of one length."""
    if words is not None:
        chosen = {name: with_words(frame, words) for name, frame in opened.verdicts.items()}
        note = f"Items with {words} words before the verb."
        opened = replace(opened, verdicts=chosen, notes=(*opened.notes, note))
    frames = {name: with_intervals(profile(frame), frame) for name, frame in opened.verdicts.items()}
    rows = stacked(frames)
    grids, notes = [], []
    for case in rows["case"].unique():
        case_rows = rows[rows["case"] == case]
        items = case_rows.groupby("position")["n_items"].max()
        shares = case_rows.pivot(index="position", columns="model", values="confidence")
        columns = [shares.index, _words(case_rows), items, *(shares[name] for name in frames)]
        fields = [
            Field("Words read", align="left"), Field("Last word", joined=True),
            Field("Items", show=format_count, joined=True),
            *(Field(name, show=format_share) for name in frames),
        ]  # fmt: skip
        lines = [Line(cells) for cells in zip(*columns, strict=True)]
        grids.append(Grid(fields, lines, f"Confidence, {opened.suite}, {case}"))
        if items.nunique() > 1:
            notes.append(
                f"{case}: verbs are at different places, so later means have fewer items; choose one length "
                "with --words."
            )
    notes.append(f"Mean confidence in the correct answer, {TRUNCATED}; 0.5 is chance.")
    notes.append(f"{interval_note(rows)} Figures and files show them.")
    if rows[VARIES].any():
        notes.append("A word in brackets is an example: other items have other words at this place.")
    return analysis_document(opened, "profile", rows, grids, notes)


def profile_panels(analysis: Document) -> list[Panel]:
    """Return Figure 2: one panel per case, with words on the x-axis."""
    models, axes = analysis.records["model"].unique(), (Axis("words read"), Axis("confidence", SHARES))
    panels = []
    for case in analysis.records["case"].unique():
        rows = analysis.records[analysis.records["case"] == case]
        lines = lines_of(rows, "position", "confidence", models)
        panels.append(Panel(str(case), lines, *axes, words=_words(rows)))
    return panels


def _words(rows: pd.DataFrame) -> list[str]:
    """Return the word at each position of a case, in brackets if other items have another word."""
    positions = rows.groupby("position").first()
    pairs = zip(positions["word"], positions[VARIES], strict=True)
    return [f"({word})" if varies else str(word) for word, varies in pairs]
