"""Runs opened for an analysis, and the document of an analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.comparisons import share_entries
from tseval.analysis.counts import no_accuracy
from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.features import select
from tseval.analysis.intervals import confidence_level, confidence_percent
from tseval.errors import RunError, counted
from tseval.items import HALF_KNOWN
from tseval.report.columns import description_of, distinct_headings, refuse_unlike
from tseval.report.document import INTERVAL_HEADING, Document, Field, Grid
from tseval.report.notes import forms_note, inferred_note, sample_note, uneven_note
from tseval.report.numbers import format_interval, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from tseval.runs import Run
    from tseval.runs.manifest import Manifest


INTERVAL = Field(INTERVAL_HEADING, ("low", "high"), format_interval)
# The columns of each model in a row of an analysis.
ACCURACY = (Field("", ("accuracy",), format_share), INTERVAL)


@dataclass(frozen=True, slots=True)
class RunSet:
    """Runs on the same items, opened for an analysis, by unique model names.

    Verdicts have the same items in the same order, with the same lexical factors. `folders` are the paths of
    runs, and `load_sentences` loads their scored sentences.
    """

    verdicts: Mapping[str, pd.DataFrame]
    suite: str
    signatures: Mapping[str, str]
    manifests: Mapping[str, Manifest]
    notes: tuple[str, ...]
    undecided: tuple[str, ...]
    folders: Mapping[str, str]
    load_sentences: Mapping[str, Callable[[], pa.Table]]


def for_analysis(
    runs: Sequence[Run],
    where: Sequence[tuple[str, str]] = (),
    *,
    rated: bool = False,
    alike: bool = True,
) -> RunSet:
    """Open runs for an analysis.

    Args:
        runs: Runs on the same items.
        where: Features and values of the items to use.
        rated: Whether the sentences must be rated.
        alike: Whether all runs must have the same number of contexts per item, because an item has a verdict
            for each context.
    """
    columns = [description_of(run) for run in runs]
    refuse_unlike(columns)
    if unlike := [run for run in runs if run.rated != rated]:
        raise (
            no_accuracy(unlike[0].name)
            if unlike[0].rated
            else RunError(
                f"{unlike[0].name} is a run on {columns[0].suite}, whose sentences have no human ratings.\n"
                "  Name a run on rated sentences, as docs/ratings.md describes."
            )
        )
    if alike:
        _refuse_other_contexts(runs)
    columns = distinct_headings(columns)
    notes = []
    if not columns[0].complete:
        notes.append("Only a part of the suite was scored: these are not results on the whole suite.")
    notes += dict.fromkeys(sample_note(column.sample) for column in columns if column.sample)
    if len({column.score for column in columns}) > 1:
        modes = ", ".join(f"{column.heading}: {column.score}" for column in columns)
        notes.append(
            f"The runs are scored by different methods ({modes}), so they do not compare models alone."
        )
    notes += forms_note(columns)
    notes += inferred_note(column.inferred for column in columns)
    if where:
        values: dict[str, list[str]] = {}
        for name, value in where:  # two values of one feature mean either
            values.setdefault(name, []).append(value)
        items = " and ".join(f"{name} {' or '.join(options)}" for name, options in values.items())
        notes.append(f"Items with {items}.")
    verdicts = {
        column.heading: select(run.verdicts, where) for column, run in zip(columns, runs, strict=True)
    }
    undecided = []
    for name, frame in verdicts.items():
        n_tied, out = int(frame["tie"].sum()), int(frame["undecidable"].sum())
        unknown = int(frame[HALF_KNOWN].sum()) if HALF_KNOWN in frame else 0
        too_long = out - int((frame[HALF_KNOWN] & frame["undecidable"]).sum()) if unknown else out
        if rated and unknown:
            undecided.append(
                f"{name}: {unknown:,} of {len(frame):,} items have words that the model does not know"
                + (f"; {out - too_long:,} of these are undecidable (not counted)." if out > too_long else ".")
            )
        if rated and too_long:
            undecided.append(
                f"{name}: {too_long:,} of {len(frame):,} sentences are longer than the model's context "
                "(not counted)."
            )
        if not rated and (n_tied or out):
            undecided.append(
                f"{name}: {n_tied:,} of {len(frame):,} items are ties (counted as wrong), {out:,} are "
                "undecidable (not counted)."
            )
        if not rated and unknown:
            undecided.append(
                f"{name}: {unknown:,} items are half known: the model knows only one of their two forms."
            )
    signatures = {column.heading: column.signature or "" for column in columns}
    manifests = {column.heading: run.manifest for column, run in zip(columns, runs, strict=True)}
    folders = {column.heading: str(run.path or run.name) for column, run in zip(columns, runs, strict=True)}
    return RunSet(
        share_entries(verdicts),
        columns[0].suite,
        signatures,
        manifests,
        tuple(notes),
        tuple(undecided),
        folders,
        {column.heading: run.load_sentences for column, run in zip(columns, runs, strict=True)},
    )


def _refuse_other_contexts(runs: Sequence[Run]) -> None:
    """Raise an error for runs with different numbers of contexts, because items cannot be paired."""
    numbers = [1 if (facts := run.manifest.suite.context) is None else facts.each for run in runs]
    for run, number in zip(runs, numbers, strict=True):
        if number != numbers[0]:
            raise RunError(
                f"{run.name} has {counted(number, 'context')} for each item, but {runs[0].name} has "
                f"{numbers[0]:,}, so tseval cannot pair their items.\n"
                "  Score both with the same number of --contexts, or run this command: "
                "tseval analyze context RUN RUN"
            )


def stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the rows of all models, with the model's name as first column."""
    named = (frame.assign(model=name)[["model", *frame]] for name, frame in frames.items())
    return pd.concat(named, ignore_index=True)


def is_about_intervals(note: str) -> bool:
    """Return whether a note is from `interval_note`."""
    return note.startswith(
        (f"{confidence_percent()} intervals", "No item is decidable", "The runs name no lexical factors")
    )


def interval_note(rows: pd.DataFrame) -> str:
    """Return a note on how the intervals of an analysis treat words that items share."""
    if "low" in rows and rows["low"].isna().all():
        return "No item is decidable, so there are no intervals."
    factors: dict[str, list[str]] = {}
    for name in ("clusters", "fixed"):
        factors[name] = list(
            dict.fromkeys(factor for row_factors in rows[name].dropna() for factor in row_factors)
        )
    level = confidence_percent()
    note = f"The runs name no lexical factors, so {level} intervals treat items as independent."
    if factors["clusters"]:
        named = ", ".join(factors["clusters"])
        note = f"{level} intervals generalise to other words of the same kind (clustered by {named})."
    elif factors["fixed"]:
        note = f"{level} intervals treat items as independent."
    if factors["fixed"]:
        fixed = ", ".join(factors["fixed"])
        note += (
            f" They do not generalise beyond factors with fewer than {FEWEST_LEVELS} entries in a row: "
            f"{fixed}."
        )
    return " ".join([note, *uneven_note([rows])])


def analysis_document(
    opened: RunSet, name: str, records: pd.DataFrame, grids: Sequence[Grid], notes: Sequence[str]
) -> Document:
    """Return the document of an analysis; factors in `records` must be mappings or tuples."""
    notes = [*opened.notes, *opened.undecided, *notes]
    content = {
        "analysis": name,
        "confidence_level": confidence_level(),
        "rows": records,
        "notes": notes,
        "signatures": opened.signatures,
    }
    # In formats without nesting, factors are text: `subject 20, verb 14`.
    texts = {name: records[name].map(_listed) for name in ("clusters", "fixed") if name in records}
    return Document(grids, records.assign(**texts), content, notes, list(opened.signatures.items()))


def _listed(factors: object) -> object:
    if isinstance(factors, dict):
        return ", ".join(f"{name} {levels}" for name, levels in factors.items())
    return ", ".join(factors) if isinstance(factors, tuple) else factors
