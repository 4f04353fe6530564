"""The quality of a parser's agreement examples, measured against gold trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.analysis.intervals import confidence_percent
from tseval.report.document import INTERVAL_HEADING, Document, Field, Grid
from tseval.report.numbers import TRUNCATED, format_count, format_interval, format_share

if TYPE_CHECKING:
    import pandas as pd


_COUNTS = (
    Field("Gold", ("n_gold",), format_count),
    Field("Parsed", ("n_parsed",), format_count),
)
_EXAMPLE_NOTES = (
    "Gold examples count by the attractors in the gold tree, parsed examples by those in the parsed tree.",
    "Precision: share of parsed examples that are also gold. Recall: share of gold examples that were found.",
    f"F1: harmonic mean of precision and recall. All three are {TRUNCATED}.",
)


def example_comparison(rows: pd.DataFrame, gold: str, parsed: str) -> Document:
    """Return precision and recall of parsed examples (`tseval.analysis.breakdowns.compare_examples`)."""
    number = Field("Same number", ("n_same_number", "n_found"), lambda pair: f"{pair[0]:,} of {pair[1]:,}")
    equal, equal_features = (
        Field("Equal", ("n_equal",), format_count),
        "the same subject, number and number of attractors",
    )
    rows = rows.assign(label=rows["n_attractors"].astype("string").fillna("all"))
    keys = (Field("Attractors", ("label",), align="left"), *_COUNTS)
    grids = [
        Grid.of([*keys, *_measures("verb"), number], rows, f"Verbs of {parsed} against {gold}"),
        Grid.of([*keys, equal, *_measures("equal")], rows, f"With {equal_features}"),
    ]
    rows = rows.drop(columns="label")
    labels = {"analysis": "compare", "gold": gold, "parsed": parsed}
    notes = [
        *_EXAMPLE_NOTES,
        f"{confidence_percent()} intervals are clustered by sentence, because examples of one sentence are "
        "not independent.",
    ]
    return Document(grids, rows, {**labels, "rows": rows, "notes": notes}, notes, ())


def _measures(what: str) -> list[Field]:
    fields = []
    for measure in ("precision", "recall"):
        name = f"{measure}_{what}"
        fields += [
            Field(measure.capitalize(), (name,), format_share),
            Field(INTERVAL_HEADING, (f"{name}_low", f"{name}_high"), format_interval),
        ]
    return [*fields, Field("F1", (f"f1_{what}",), format_share)]
