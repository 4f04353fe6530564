"""Agreement examples from parsed trees against those from gold trees, as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.document import Document, Field, Grid, Line
from tseval.report.shown import interval, share, whole

if TYPE_CHECKING:
    import pandas as pd

_COUNTS = (
    Field("Gold", ("n_gold",), whole),
    Field("Parsed", ("n_parsed",), whole),
)
_NOTES = (
    "A row counts gold examples by the attractors of the gold tree, parsed ones by those of the parsed tree.",
    "Precision: the share of the parsed examples that gold has too; recall: the share of the gold ones that "
    "were found; F1: their harmonic mean. Cut to 3 decimals.",
    "Intervals are of 95%; the examples of a sentence are no independent draws, so they are clustered by it.",
)


def found_examples(rows: pd.DataFrame, gold: str, parsed: str) -> Document:
    """Tabulate how good the examples of a parse are.

    Args:
        rows: As `tseval.analysis.found_examples.compare_examples` gives them.
        gold: Name of the gold table.
        parsed: Name of the table from the parse.
    """
    number = Field("Same number", ("n_same_number", "n_found"), lambda pair: f"{pair[0]:,} of {pair[1]:,}")
    grids = [
        _grid(rows, f"Verbs of {parsed} against {gold}", [*_COUNTS, *_measures("verb"), number]),
        _grid(
            rows,
            "With the same subject, number and number of attractors",
            [*_COUNTS, Field("Equal", ("n_equal",), whole), *_measures("equal")],
        ),
    ]
    content = {"analysis": "compare", "gold": gold, "parsed": parsed, "rows": rows, "notes": list(_NOTES)}
    return Document(grids, rows, content, _NOTES, ())


def _measures(what: str) -> list[Field]:
    fields = []
    for measure in ("precision", "recall"):
        name = f"{measure}_{what}"
        fields += [
            Field(measure.capitalize(), (name,), share),
            Field("95% interval", (f"{name}_low", f"{name}_high"), interval),
        ]
    return [*fields, Field("F1", (f"f1_{what}",), share)]


def _grid(rows: pd.DataFrame, title: str, fields: list[Field]) -> Grid:
    """Lay out a line for each number of attractors, and one for all."""
    labels = rows["n_attractors"].astype("string").fillna("all").tolist()
    columns = [labels, *(field.values(rows) for field in fields)]
    lines = [Line(cells) for cells in zip(*columns, strict=True)]
    return Grid([Field("Attractors", align="left"), *fields], lines, title)
