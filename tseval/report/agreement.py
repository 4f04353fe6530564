"""The analyses of agreement, as tables and panels: attractors and profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.analysis.attractors import ATTRACTORS, OTHERS, N, by_non_attractors, joint_grid
from tseval.analysis.confidence import with_intervals
from tseval.analysis.profiles import VARIES, profile, with_words
from tseval.report.analyses import ACCURACY, interval_note, stacked, tell
from tseval.report.document import Field, Grid, Line, side_by_side
from tseval.report.figures import LineOf
from tseval.report.panels import Panel
from tseval.report.shown import share, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from tseval.report.analyses import Opened
    from tseval.report.document import Document

NOUN_COUNTS = {N: "intervening nouns", ATTRACTORS: "attractors", OTHERS: "non-attractors"}
_CUT = "Accuracies are cut to 3 decimals, not rounded."
_CELLS_SHOWN = 12


def attractors(opened: Opened) -> Document:
    """Tabulate accuracy over intervening nouns and attractors."""
    grids = {name: joint_grid(frame) for name, frame in opened.verdicts.items()}
    return _accuracies(opened, grids, [N, ATTRACTORS])


def non_attractors(opened: Opened) -> Document:
    """Tabulate accuracy over intervening nouns that are no attractors."""
    grids = {name: by_non_attractors(frame) for name, frame in opened.verdicts.items()}
    return _accuracies(opened, grids, [OTHERS])


def _accuracies(opened: Opened, grids: Mapping[str, pd.DataFrame], by: list[str]) -> Document:
    """Lay out the cells of a grid, a line each, with every model's accuracy and interval."""
    first = next(iter(grids.values()))
    what = " and ".join(NOUN_COUNTS[name] for name in by)
    keys = [Field(NOUN_COUNTS[name].capitalize(), (name,)) for name in by]
    keys = [replace(keys[0], align="left"), *keys[1:], Field("Items", ("n_items",), whole)]
    found = first["n_items"] > 0
    fields, lines = side_by_side(keys, {name: grid[found] for name, grid in grids.items()}, ACCURACY)
    notes = [_CUT, interval_note(stacked(grids))]
    empty = [" and ".join(map(str, cell)) for cell in first.loc[~found, by].itertuples(index=False)]
    if empty:
        more = f" and {len(empty) - _CELLS_SHOWN} more" if len(empty) > _CELLS_SHOWN else ""
        notes.append(f"No items with these numbers of {what}: {', '.join(empty[:_CELLS_SHOWN])}{more}.")
    if left_out := len(next(iter(opened.verdicts.values()))) - int(first["n_items"].sum()):
        notes.append(f"{left_out:,} items do not say how many nouns intervene, and are left out.")
    grid = Grid(fields, lines, f"Accuracy by {what}, {opened.suite}")
    return tell(opened, "attractors", stacked(grids), [grid], notes)


def attractor_panels(analysis: Document) -> list[Panel]:
    """Draw Figure 3: one panel per number of intervening nouns that occurs, attractors along the axis."""
    panels = []
    for n, rows in analysis.records.groupby(N):
        if lines := _lines(rows, ATTRACTORS):
            panels.append(Panel(f"{n} intervening noun{'' if n == 1 else 's'}", lines))
    return panels


def non_attractor_panels(analysis: Document) -> list[Panel]:
    """Draw Table 2: non-attractors along the axis."""
    lines = _lines(analysis.records, OTHERS)
    return [Panel("", lines)] if lines else []


def _lines(rows: pd.DataFrame, x: str) -> list[LineOf]:
    """Draw a line for each model that could decide anything; it breaks where there are no items."""
    lines = []
    for index, (name, own) in enumerate(rows.groupby("model", sort=False)):
        columns = (own[column].tolist() for column in (x, "accuracy", "low", "high"))
        if own["accuracy"].notna().any():
            lines.append(LineOf(index, str(name), *columns))
    return lines


def profiles(opened: Opened, words: int | None = None) -> Document:
    """Tabulate confidence in the correct answer after each word.

    Args:
        opened: The runs.
        words: Only items with so many words before the verb; None for all.

    Raises:
        SuiteError: The runs are of no profile, no item has so many words, or nothing in one could be decided.
    """
    if words is not None:
        chosen = {name: with_words(frame, words) for name, frame in opened.verdicts.items()}
        note = f"Items with {words} words before the verb."
        opened = replace(opened, verdicts=chosen, notes=(*opened.notes, note))
    found = {name: with_intervals(profile(frame), frame) for name, frame in opened.verdicts.items()}
    rows = stacked(found)
    grids, notes = [], []
    for case in rows["case"].unique():
        own = rows[rows["case"] == case]
        items = own.groupby("position")["n_items"].max()
        shares = own.pivot(index="position", columns="model", values="confidence")
        columns = [shares.index, _words(own), items, *(shares[name] for name in found)]
        fields = [
            Field("Words read", align="left"), Field("Last word", joined=True),
            Field("Items", show=whole, joined=True),
            *(Field(name, show=share) for name in found),
        ]  # fmt: skip
        lines = [Line(cells) for cells in zip(*columns, strict=True)]
        grids.append(Grid(fields, lines, f"Confidence, {opened.suite}, {case}"))
        if items.nunique() > 1:
            notes.append(
                f"{case}: verbs stand at different places, so late means rest on fewer items. "
                "Choose items of one length with --words."
            )
    notes.append("Mean confidence in the correct answer, cut to 3 decimals; 0.5 is chance.")
    notes.append(f"{interval_note(rows)} They stand in figures and files.")
    if rows[VARIES].any():
        notes.append("Words in brackets are those of one item; others have other words there.")
    return tell(opened, "profile", rows, grids, notes)


def profile_panels(analysis: Document) -> list[Panel]:
    """Draw Figure 2: one panel per case, words along the axis."""
    order = {name: index for index, name in enumerate(analysis.records["model"].unique())}
    panels = []
    for case in analysis.records["case"].unique():
        rows = analysis.records[analysis.records["case"] == case]
        lines = [
            LineOf(
                order[name],
                str(name),
                *(own[of].tolist() for of in ("position", "confidence", "low", "high")),
            )
            for name, own in rows.groupby("model", sort=False)
        ]
        panels.append(Panel(str(case), lines, _words(rows)))
    return panels


def _words(rows: pd.DataFrame) -> list[str]:
    """Give the word at each place of a case; that of the first item in brackets, where others differ."""
    places = rows.groupby("position").first()
    pairs = zip(places["word"], places[VARIES], strict=True)
    return [f"({word})" if varies else str(word) for word, varies in pairs]
