"""Comparison of models in pairs: difference, interval, and items that only one of them gets right."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from tseval.analysis.comparisons import DEFAULT_MARGIN, pairwise
from tseval.analysis.features import require_features
from tseval.errors import RunError
from tseval.report.analyses.attractors import NOUN_COUNTS
from tseval.report.analyses.comparison_notes import DIFFERENCE_INTERVAL, comparison_notes
from tseval.report.analyses.seeds import OF_SEEDS, about_seeds
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.numbers import format_count, format_difference, format_probability
from tseval.report.opened import RunSet, analysis_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


_PAIR = Field("Pair", ("first", "second"), " / ".join, "left")
_ITEMS = Field("Items", ("n_items",), format_count)
_APART = (
    _PAIR,
    _ITEMS,
    Field("Difference", ("difference",), format_difference),
    DIFFERENCE_INTERVAL,
    Field("p", ("p",), format_probability),
    Field("Holm", ("p_holm",), format_probability),
    Field("p equivalent", ("p_beyond",), format_probability),
    Field("The first is", ("outcome",), align="left"),
)
_MCNEMAR = (
    _PAIR,
    _ITEMS,
    Field("Both right", ("both",), format_count),
    Field("Only first", ("only_first",), format_count),
    Field("Only second", ("only_second",), format_count),
    Field("Both wrong", ("neither",), format_count),
    Field("p", ("p_mcnemar",), format_probability),
    Field("Holm", ("p_mcnemar_holm",), format_probability),
)


def pairs(
    opened: RunSet,
    by: str | None,
    margin: float = DEFAULT_MARGIN,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Document:
    """Return the differences of pairs of models, and the number of items that only one gets right.

    Args:
        by: A feature with a further table for each of its values; None for one table over all items.
        groups: The runs of each group, whose means are compared. For means over several seeds there are no
            counts of items that only one gets right.
    """
    of_groups = groups or {name: [name] for name in opened.verdicts}
    if len(of_groups) < 2:
        raise RunError(
            "a comparison of models in pairs needs at least two runs, but the command names "
            "only one.\n"
            "  Name another run on the same suite."
        )
    if by is not None:
        require_features(next(iter(opened.verdicts.values())), (by,))
    seeds = {name: [opened.verdicts[run] for run in runs] for name, runs in of_groups.items()}
    single = all(len(runs) == 1 for runs in seeds.values())
    rows = pairwise(seeds, by, margin)
    grids: list[Grid] = []
    n_pairs = comb(len(seeds), 2)
    for start in range(0, len(rows), n_pairs):
        part = rows.iloc[start : start + n_pairs]
        value = part.iloc[0, 0]
        subject = "all items" if by is None or value is None else f"{NOUN_COUNTS.get(by, by)}: {value!s}"
        grids.append(Grid.of(_APART, part, f"Pairs, {subject}"))
        if not single:
            continue
        grids += [
            _only_row(subject, part, list(seeds)),
            Grid.of(_MCNEMAR, part, f"McNemar's test (items treated as independent), {subject}"),
        ]
    notes = [
        *comparison_notes(
            rows, margin, "the pairs of a table", "both models" if single else "all seeds of both"
        )
    ]
    notes += [_OF_MCNEMAR] if single else [about_seeds(of_groups), OF_SEEDS]
    rows = rows.drop(columns="all") if by is None else rows
    return analysis_document(opened, "pairwise", rows, grids, notes)


_OF_MCNEMAR = (
    "McNemar's exact two-sided test treats items as independent; if items share words, its p-values are too "
    "small."
)


def _only_row(about: str, rows: pd.DataFrame, models: Sequence[str]) -> Grid:
    """Return the table of Bansal et al.: items that the row's model gets right and the column's wrong."""
    counts = {}
    for row in rows.to_dict("records"):
        counts[row["first"], row["second"]] = row["only_first"]
        counts[row["second"], row["first"]] = row["only_second"]
    fields = [Field("", align="left"), *(Field(name, show=format_count) for name in models)]
    lines = [Line((model, *(counts.get((model, second)) for second in models))) for model in models]
    return Grid(fields, lines, f"Only the model in the row is right, {about}")
