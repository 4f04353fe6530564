"""The effects of a design, and the surprisals under its conditions, as tables and panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import ROW
from tseval.analysis.effects import AVERAGED, CONDITION, REGION, mean_effects, mean_surprisals
from tseval.report.analyses import INTERVAL, interval_note, stacked, tell
from tseval.report.document import Field, Grid, side_by_side
from tseval.report.dots import DotPanel
from tseval.report.figures import LineOf
from tseval.report.layout import row_labels
from tseval.report.shown import difference, share, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.analyses import Opened
    from tseval.report.document import Document

_ITEMS = Field("Items", ("n_items",), whole)
_NOTES = (
    "Effect: the mean over items of what a prediction says is greater less what it says is smaller. A "
    "prediction that joins several comparisons, or says that two values are equal, has none.",
    "Surprisals are over the items that some prediction decides. Items differ more than conditions do: "
    "whether conditions differ is told by effects, which are taken within items, not by these intervals.",
)


def design_effects(opened: Opened) -> Document:
    """Tabulate the effect of each prediction, and the mean surprisal under each condition, in bits.

    Raises:
        SuiteError: The runs compare no regions.
    """
    surprisals = {name: mean_surprisals(verdicts) for name, verdicts in opened.verdicts.items()}
    found = {name: mean_effects(verdicts) for name, verdicts in opened.verdicts.items()}
    of_any = pd.concat([frame["n_items"] > 0 for frame in found.values()], axis=1).any(axis=1)
    found = {name: frame[of_any].reset_index(drop=True) for name, frame in found.items()}
    grids = []
    if of_any.any():
        labelled = {name: frame.assign(label=row_labels(frame[[*ROW]])) for name, frame in found.items()}
        keys = [Field("Prediction", ("label",), align="left"), _ITEMS]
        measures = [Field("", ("value",), difference), INTERVAL]
        grids.append(Grid(*side_by_side(keys, labelled, measures), f"Effects in bits, {opened.suite}"))
    keys = [Field(name.capitalize(), (name,), align="left") for name in ("construction", REGION, CONDITION)]
    measures = [Field("", ("value",), share), INTERVAL]
    fields_and_lines = side_by_side([*keys, _ITEMS], surprisals, measures)
    grids.append(Grid(*fields_and_lines, f"Surprisals in bits, {opened.suite}"))
    rows = pd.concat([stacked(found), stacked(surprisals)], ignore_index=True)
    rows = rows[["model", *ROW, REGION, CONDITION, *AVERAGED]]
    return tell(opened, "effects", rows, grids, [*_NOTES, interval_note(rows)])


def surprisal_panels(analysis: Document) -> list[DotPanel]:
    """Draw the mean surprisal under each condition: a panel for each region of a construction."""
    rows = analysis.records[analysis.records[CONDITION].notna() & (analysis.records["n_items"] > 0)]
    models = list(analysis.records["model"].unique())
    groups = rows.groupby([*ROW[:-1], REGION], sort=False, dropna=False)
    return [_panel(str(key[2]), str(key[3]), own, models) for key, own in groups]


def _panel(construction: str, region: str, rows: pd.DataFrame, models: Sequence[str]) -> DotPanel:
    conditions = list(dict.fromkeys(rows[CONDITION]))[::-1]  # drawn from below
    series = []
    for name, own in rows.groupby("model", sort=False):
        places = [conditions.index(condition) for condition in own[CONDITION]]
        columns = (own[column].tolist() for column in ("value", "low", "high"))
        series.append(LineOf(models.index(str(name)), str(name), places, *columns))
    return DotPanel((construction, f"region {region}"), conditions, series)
