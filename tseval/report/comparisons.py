"""A table of differences: every model, or the mean over seeds of every architecture, against one of them."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis import require_features
from tseval.analysis.breakdowns import N
from tseval.analysis.comparisons import DEFAULT_MARGIN, against, pairwise
from tseval.errors import RunError, suggest
from tseval.report.analyses import NOUN_COUNTS
from tseval.report.document import Field, Grid, Line, difference, probability, whole
from tseval.report.layout import in_full, rows_and_means
from tseval.report.opened import INTERVAL, interval_note, tell
from tseval.report.seeds import about_seeds, seeds_of, with_spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.analysis.comparisons import Against
    from tseval.report.document import Document
    from tseval.report.opened import Opened


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
        rows: In the columns of `tseval.analysis.comparisons.COMPARED`.
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


_OF_THE_REFERENCE = Field("", ("accuracy", "spread"), with_spread)
_OF_A_MODEL = (Field("", ("difference",), difference), INTERVAL, Field("", ("outcome",), align="left"))


def differences_table(
    opened: Opened, model: str | None, by: Sequence[str], margin: float, *, grouped: bool = False
) -> Document:
    """Tabulate how models differ from one of them, row by row and over the rows of a table.

    Args:
        opened: The runs.
        model: Whom all are compared with: a name as tables print it, of a model or, if grouped, of an
            architecture; None for the first.
        by: Features that rows are broken down by.
        margin: The smallest difference of accuracies that matters, between 0 and 1.
        grouped: Whether to compare architectures by their means over seeds; a model stands for its own.

    Raises:
        RunError: There is one run only, no such model, or no seeds; or the margin is no difference of
            accuracies.
        SuiteError: The suite has no such feature.
    """
    groups = seeds_of(opened) if grouped else {name: [name] for name in opened.verdicts}
    reference = next(iter(groups)) if model is None else _reference(model, groups)
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
    return tell(opened, "against", records, [_against_grid(found, opened.suite)], notes)


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
    return in_full(frames)


def _against_grid(found: Against, suite: str) -> Grid:
    """Print the accuracy of the reference, then each model's difference from it, its interval and a word."""
    fields = [Field(suite, align="left"), Field(found.reference, show=with_spread)]
    for name in found.of_rows:
        fields += [Field(name, show=difference), *_OF_A_MODEL[1:]]
    keys = found.rows.drop(columns=[*_OF_THE_REFERENCE.names])
    columns = _columns(found.rows, found.of_rows), _columns(found.means, found.of_means)
    lines = rows_and_means(keys, columns[0], found.means, columns[1])
    return Grid(fields, lines, f"Differences from {found.reference}")


def _columns(heads: pd.DataFrame, own: Mapping[str, pd.DataFrame]) -> list[list[object]]:
    columns = [_OF_THE_REFERENCE.values(heads)]
    for frame in own.values():
        columns += [field.values(frame) for field in _OF_A_MODEL]
    return columns
