"""Pairs of models, as tables: how far they are apart, and what only one of them gets right."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from tseval.analysis.attractors import N
from tseval.analysis.pairwise import DEFAULT_MARGIN, pairwise
from tseval.analysis.selection import require_features
from tseval.errors import RunError
from tseval.report.agreement import NOUN_COUNTS
from tseval.report.analyses import INTERVAL, interval_note, tell
from tseval.report.document import Field, Grid, Line
from tseval.report.shown import difference, probability, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from tseval.report.analyses import Opened
    from tseval.report.document import Document

_PAIR = Field("Pair", ("first", "second"), " / ".join, "left")
_ITEMS = Field("Items", ("n_items",), whole)
_APART = (
    _PAIR,
    _ITEMS,
    Field("Difference", ("difference",), difference),
    INTERVAL,
    Field("p", ("p",), probability),
    Field("Holm", ("p_holm",), probability),
    Field("Beyond margin", ("p_beyond",), probability),
    Field("The first is", ("outcome",), align="left"),
)
_MCNEMAR = (
    _PAIR,
    _ITEMS,
    Field("Both right", ("both",), whole),
    Field("Only first", ("only_first",), whole),
    Field("Only second", ("only_second",), whole),
    Field("Both wrong", ("neither",), whole),
    Field("p", ("p_mcnemar",), probability),
    Field("Holm", ("p_mcnemar_holm",), probability),
)


def pairs(opened: Opened, by: str | None, margin: float = DEFAULT_MARGIN) -> Document:
    """Tabulate how pairs of models differ, and what only one of two gets right.

    Args:
        opened: Two runs or more.
        by: A feature, with a table for each of its values; None for intervening nouns, where a suite has
            them.
        margin: The smallest difference of accuracies that matters, between 0 and 1.

    Raises:
        RunError: There is one run only, or the margin is no difference of accuracies.
        SuiteError: There is no such feature.
    """
    if len(opened.verdicts) < 2:
        raise RunError("pairs need two runs or more.\n  Name another run of the same suite.")
    first = next(iter(opened.verdicts.values()))
    if by is not None:
        require_features(first, (by,))
    elif N in first.columns:
        by = N
    rows = pairwise(opened.verdicts, by, margin)
    grids: list[Grid] = []
    n_pairs = comb(len(opened.verdicts), 2)
    for start in range(0, len(rows), n_pairs):
        own = rows.iloc[start : start + n_pairs]
        value = own.iloc[0, 0]
        about = "all items" if by is None or value is None else f"{NOUN_COUNTS.get(by, by)}: {value!s}"
        grids += [
            _grid(f"Pairs, {about}", _APART, own),
            _only_row(about, own, list(opened.verdicts)),
            _grid(f"McNemar's test, items independent, {about}", _MCNEMAR, own),
        ]
    notes = [*comparison_notes(rows, margin, "the pairs of a table"), _OF_MCNEMAR]
    rows = rows.drop(columns="all") if by is None else rows
    return tell(opened, "pairwise", rows, grids, notes)


_OF_MCNEMAR = (
    "McNemar's exact test, two-sided, regards items as independent draws; where they share words it is too "
    "sure."
)


def comparison_notes(rows: pd.DataFrame, margin: float, family: str, both: str = "both models") -> list[str]:
    """Say how to read differences, their intervals and the words for them.

    Args:
        rows: In the columns of `tseval.analysis.pairwise.COMPARED`.
        margin: The smallest difference that matters.
        family: What tests are corrected over.
        both: For whom items have to be decidable.
    """
    notes = [
        f"Differences are of accuracies, cut to 3 decimals, on the items that are decidable for {both}.",
        interval_note(rows),
        f"At an error rate of 5% over {family} (Holm): equivalent, if the difference is surely smaller than "
        f"{margin:g}, by two one-sided tests; else better or worse, if it is surely not 0; else undecided.",
    ]
    if rows["outcome"].isna().any():
        notes.append(f"Where no item is decidable for {both} there is no difference to tell.")
    return notes


def _only_row(about: str, rows: pd.DataFrame, models: Sequence[str]) -> Grid:
    """Print the table of Bansal et al.: what the model of the row gets right and that of the column wrong."""
    counts = {}
    for row in rows.to_dict("records"):
        counts[row["first"], row["second"]] = row["only_first"]
        counts[row["second"], row["first"]] = row["only_second"]
    fields = [Field("", align="left"), *(Field(name, show=whole) for name in models)]
    lines = [Line((one, *(counts.get((one, other)) for other in models))) for one in models]
    return Grid(fields, lines, f"Only the model of the row is right, {about}")


def _grid(title: str, fields: Sequence[Field], rows: pd.DataFrame) -> Grid:
    """Print a line for each pair."""
    columns = (field.values(rows) for field in fields)
    return Grid(fields, [Line(cells) for cells in zip(*columns, strict=True)], title)
