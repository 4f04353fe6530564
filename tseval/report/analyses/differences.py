"""Differences of models from a reference model, by row and for means over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.comparisons import Against, against
from tseval.analysis.features import require_features
from tseval.errors import RunError, suggest
from tseval.report.analyses.comparison_notes import DIFFERENCE_INTERVAL, comparison_notes
from tseval.report.analyses.seeds import OF_SEEDS, about_seeds
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.layout import in_full, labelled, rows_and_means
from tseval.report.numbers import format_difference, with_spread
from tseval.report.opened import RunSet, analysis_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_OF_THE_REFERENCE = Field("", ("accuracy", "spread"), with_spread)
_OF_A_MODEL = (
    Field("", ("difference",), format_difference),
    DIFFERENCE_INTERVAL,
    Field("", ("outcome",), align="left"),
)


def differences_table(
    opened: RunSet,
    model: str | None,
    by: Sequence[str],
    margin: float,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Document:
    """Return the differences of models from a reference model, by row and for means over rows.

    Args:
        model: The printed name of a model or a group; None for the first.
        groups: The runs of each group; None for models without groups.
    """
    grouped = groups is not None
    groups = groups or {name: [name] for name in opened.verdicts}
    reference = next(iter(groups)) if model is None else _reference(model, groups)
    if len(groups) < 2:
        raise RunError(
            f"{reference} is the only model, so there is nothing to compare it with.\n"
            "  Name another run on the same suite."
        )
    require_features(opened.verdicts[groups[reference][0]], by)
    verdicts = {name: [opened.verdicts[seed] for seed in seeds] for name, seeds in groups.items()}
    differences = against(verdicts, reference, by, margin)
    frames = pd.concat([*differences.of_rows.values(), *differences.of_means.values()])
    family = "all models and rows of the table, and over all means"
    notes = comparison_notes(frames, margin, family, "all seeds of both" if grouped else "both models")
    if grouped:
        notes = [about_seeds(groups), *notes, OF_SEEDS]
    if any(frame["outcome"].isna().any() for frame in differences.of_means.values()):
        notes.append("A model without a value in a row has no mean over this row.")
    records = _records_comparisons(differences)
    if grouped:
        for index, column in ((1, "model"), (3, "against")):
            records.insert(index, f"n_seeds_{column}", [len(groups[name]) for name in records[column]])
    return analysis_document(opened, "against", records, [_against_grid(differences, opened.suite)], notes)


def is_comparable(model: str | None, groups: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a reference (the first for None) is among the groups, and there is another group."""
    is_named = model is None or model in groups or any(model in seeds for seeds in groups.values())
    return is_named and len(groups) > 1


def _reference(model: str, groups: Mapping[str, Sequence[str]]) -> str:
    """Return the group with this name, or else the group of the model with this name."""
    if model in groups:
        return model
    for name, seeds in groups.items():
        if model in seeds:
            return name
    raise RunError(
        f"--against {model}: no run has a model or a folder with this name.\n"
        f"  {suggest(model, groups, 'Models')}"
    )


def _records_comparisons(differences: Against) -> pd.DataFrame:
    return in_full(
        labelled(
            heads.drop(columns=[*_OF_THE_REFERENCE.names]), frame, model=name, against=differences.reference
        )
        for heads, frames in differences.parts
        for name, frame in frames.items()
    )


_MEAN = Line(("Mean, each row counted once",), "section")


def _against_grid(differences: Against, suite: str) -> Grid:
    """Tabulate the accuracy of the reference, then each model's difference, its interval and outcome."""
    fields = [Field(suite, align="left"), Field(differences.reference, show=with_spread)]
    for name in differences.of_rows:
        fields += [Field(name, show=format_difference), *_OF_A_MODEL[1:]]
    lines = rows_and_means(differences, _against_reference, _MEAN)
    return Grid(fields, lines, f"Differences from {differences.reference}")


def _against_reference(heads: pd.DataFrame, frames: Mapping[str, pd.DataFrame]) -> list[list[object]]:
    columns = [_OF_THE_REFERENCE.values(heads)]
    for frame in frames.values():
        columns += [field.values(frame) for field in _OF_A_MODEL]
    return columns
