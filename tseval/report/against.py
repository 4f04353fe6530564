"""A table of differences: every model, or the mean over seeds of every architecture, against one of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.against import against
from tseval.analysis.selection import require_features
from tseval.errors import RunError, suggest
from tseval.report.analyses import INTERVAL, open_runs, tell
from tseval.report.document import Field, Grid, Line
from tseval.report.layout import headed, row_labels
from tseval.report.pairs import comparison_notes
from tseval.report.seeds import about_seeds, seeds_of, with_spread
from tseval.report.shown import difference
from tseval.runs import runs_below
from tseval.runs.manifest_file import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.analysis.against import Against
    from tseval.report.document import Document

_OF_THE_REFERENCE = Field("", ("accuracy", "spread"), with_spread)
_OF_A_MODEL = (Field("", ("difference",), difference), INTERVAL, Field("", ("outcome",), align="left"))


def differences_table(
    names: Sequence[str], model: str, by: Sequence[str], margin: float, *, grouped: bool = False
) -> Document:
    """Tabulate how models differ from one of them, row by row and over the rows of a table.

    Args:
        names: Run directories.
        model: Whom all are compared with: a run directory, or a name as tables print it, of a model or, if
            grouped, of an architecture.
        by: Features that rows are broken down by.
        margin: The smallest difference of accuracies that matters, between 0 and 1.
        grouped: Whether to compare architectures by their means over seeds; a model stands for its own.

    Raises:
        RunError: A run cannot be read, is over other items or the only one; there is no such model, or no
            seeds; or the margin is no difference of accuracies.
        SuiteError: The suite has no such feature.
    """
    names_a_run = (Path(model) / NAME).is_file()
    opened = open_runs(_with_first(model, names) if names_a_run else names)
    groups = seeds_of(opened) if grouped else {name: [name] for name in opened.verdicts}
    reference = next(iter(groups)) if names_a_run else _reference(model, groups)
    if len(groups) < 2:
        raise RunError(
            f"there is nothing to compare with {reference}.\n  Name another run of the same suite."
        )
    require_features(opened.verdicts[groups[reference][0]], by)
    verdicts = {name: [opened.verdicts[one] for one in seeds] for name, seeds in groups.items()}
    found = against(verdicts, reference, by, margin)
    told = pd.concat([*found.of_rows.values(), *found.of_means.values()])
    family = "all models and rows of the table, and likewise over all means"
    notes = comparison_notes(told, margin, family, "all seeds of both" if grouped else "both models")
    if grouped:
        of_seeds = "Intervals and tests are for other seeds too, where there are several."
        notes = [about_seeds(groups), *notes, of_seeds]
    if any(frame["outcome"].isna().any() for frame in found.of_means.values()):
        notes.append("A model that lacks a row has no mean over it.")
    records = _records(found)
    if grouped:
        for place, column in ((1, "model"), (3, "against")):
            records.insert(place, f"n_seeds_{column}", [len(groups[name]) for name in records[column]])
    return tell(opened, "against", records, [_grid(found, opened.suite)], notes)


def _with_first(run: str, names: Sequence[str]) -> list[str]:
    """List the runs with one of them first; so its group comes first too, whatever others are called."""
    paths = (path for name in names for path in runs_below(Path(name))[0] or [Path(name)])
    return [run, *(str(path) for path in paths if os.path.realpath(path) != os.path.realpath(run))]


def _reference(model: str, groups: Mapping[str, Sequence[str]]) -> str:
    """Find the group of a name: of an architecture, else of a model."""
    if model in groups:
        return model
    for name, seeds in groups.items():
        if model in seeds:
            return name
    raise RunError(
        f"none of these runs is of a model {model!r}, and no run is there.\n"
        f"  {suggest(model, groups, 'Models')}"
    )


def _records(found: Against) -> pd.DataFrame:
    """List the differences of all rows, then those of their means, model by model."""
    frames = []
    for heads, own in ((found.rows, found.of_rows), (found.means, found.of_means)):
        keys = heads.drop(columns=[*_OF_THE_REFERENCE.names])
        for name, frame in own.items():
            rows = keys.join(frame)
            rows.insert(0, "model", name)
            rows.insert(1, "against", found.reference)
            frames.append(rows)
    return _stacked(frames)


def _stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames of different columns below each other; whole numbers stay whole beside what is missing."""
    rows = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    return rows.where(rows.notna(), None)


def _grid(found: Against, suite: str) -> Grid:
    """Print the accuracy of the reference, then each model's difference from it, its interval and a word."""
    fields = [Field(suite, align="left"), Field(found.reference, show=with_spread)]
    for name in found.of_rows:
        fields += [Field(name, show=difference), *_OF_A_MODEL[1:]]
    keys = found.rows.drop(columns=[*_OF_THE_REFERENCE.names])
    cells = zip(row_labels(keys), *_columns(found.rows, found.of_rows), strict=True)
    rows = zip(keys.itertuples(index=False, name=None), map(Line, cells), strict=True)
    lines = list(headed(rows))
    lines.append(Line(("Mean, each row counted once",), "section"))
    *parts, last = zip(found.means["over"], found.means["n_rows"], strict=True)
    over = [*(name for name, _ in parts), "The one row" if last[1] == 1 else f"All {last[1]} rows"]
    columns = _columns(found.means, found.of_means)
    lines += [Line(cells) for cells in zip(over, *columns, strict=True)]
    return Grid(fields, lines, f"Differences from {found.reference}")


def _columns(heads: pd.DataFrame, own: Mapping[str, pd.DataFrame]) -> list[list[object]]:
    columns = [_OF_THE_REFERENCE.values(heads)]
    for frame in own.values():
        columns += [field.values(frame) for field in _OF_A_MODEL]
    return columns
