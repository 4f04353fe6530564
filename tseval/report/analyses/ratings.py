"""Correlations of model scores with human ratings of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.counts import N_HALF_KNOWN
from tseval.analysis.measures import ALL_SENTENCES, correlate, points
from tseval.analysis.rows import ROW, as_names
from tseval.errors import plain
from tseval.report.document import INTERVAL_HEADING, Document, Field, Grid, Line, side_by_side
from tseval.report.layout import headed, row_labels
from tseval.report.numbers import TRUNCATED, format_correlation, format_count, format_interval, format_share
from tseval.report.opened import RunSet, analysis_document, interval_note, stacked
from tseval.report.panels import LONGEST, Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


SPEARMAN = Field("Spearman", ("spearman",), format_correlation)
OF_SPEARMAN = Field(INTERVAL_HEADING, ("spearman_low", "spearman_high"), format_interval)
PEARSON = Field("Pearson", ("pearson",), format_correlation)
OF_PEARSON = Field(INTERVAL_HEADING, ("pearson_low", "pearson_high"), format_interval)
CEILING = Field("Noise ceiling", ("ceiling",), format_share)
_LABELS = {"sentence": "log-probability, nats", "mean": "log-probability per word, nats"}
N_SENTENCES = Field("Sentences", ("n_items",), format_count)
UNKNOWN_WORDS = Field("With unknown words", (N_HALF_KNOWN,), format_count)


def ratings(opened: RunSet, by: str | Sequence[str] = ()) -> Document:
    """Return the correlations of the scores of models with ratings."""
    correlations = {name: correlate(frame, by) for name, frame in opened.verdicts.items()}
    rows = stacked(correlations)
    grid = (
        _side_by_side(correlations, opened.suite, by)
        if len(correlations) > 1
        else _alone(correlations, opened.suite, by)
    )
    return analysis_document(opened, "ratings", rows, [grid], list(_notes(opened, rows)))


def _alone(correlations: Mapping[str, pd.DataFrame], suite: str, by: str | Sequence[str]) -> Grid:
    ((name, rows),) = correlations.items()
    fields = [N_SENTENCES, SPEARMAN, OF_SPEARMAN, PEARSON, OF_PEARSON, *_ceiling(rows)]
    fields += [UNKNOWN_WORDS] if N_HALF_KNOWN in rows else []
    cells = zip(*(field.values(rows) for field in fields), strict=True)
    return Grid([Field(f"{name} on {suite}", align="left"), *fields], list(_rating_lines(rows, cells, by)))


def _side_by_side(correlations: Mapping[str, pd.DataFrame], suite: str, by: str | Sequence[str]) -> Grid:
    first = next(iter(correlations.values()))
    measures = [Field("", SPEARMAN.names, format_correlation), OF_SPEARMAN, PEARSON, OF_PEARSON]
    fields, lines = side_by_side([N_SENTENCES, *_ceiling(first)], correlations, measures)
    cells = (line.cells for line in lines)
    return Grid([Field(suite, align="left"), *fields], list(_rating_lines(first, cells, by)))


def _ceiling(rows: pd.DataFrame) -> list[Field]:
    return [CEILING] if rows["ceiling"].notna().any() else []


def _rating_lines(
    rows: pd.DataFrame, cells: Iterator[tuple[object, ...]], by: str | Sequence[str]
) -> Iterator[Line]:
    """Yield the lines with their headings; the line over all sentences is last."""
    keys = rows[[*ROW]].astype(object).where(rows[[*ROW]].notna(), None).itertuples(index=False, name=None)
    labelled = rows[[*ROW, *as_names(by)]]
    has_rows = len(rows) > 1
    labels = row_labels(labelled.iloc[:-1] if has_rows else labelled)
    lines = [Line((label, *values)) for label, values in zip([*labels, ALL_SENTENCES], cells, strict=False)]
    body = lines[:-1] if has_rows else lines
    yield from headed(zip(keys, body, strict=False))
    if has_rows:
        yield Line(("All rows together",), "section")
        yield lines[-1]


def _notes(opened: RunSet, rows: pd.DataFrame) -> Iterator[str]:
    has_models = len(opened.verdicts) > 1
    yield (
        f"Correlations of scores with mean ratings, {TRUNCATED}"
        + (": Spearman's in the column of the model, Pearson's in the next." if has_models else ".")
    )
    yield interval_note(rows)
    if rows["ceiling"].notna().any():
        yield (
            "Noise ceiling: the highest correlation that a perfect model could reach with these ratings, "
            "√(1 - mean s.e.² / variance)."
        )
    for name, manifest in opened.manifests.items():
        yield from (f"{name}: {plain(warning).rstrip('.')}." for warning in manifest.warnings)


def scatter_panels(opened: RunSet, document: Document) -> list[Panel]:
    """Return a panel for each model, with the sentences that it scored."""
    panels = []
    modes = dict.fromkeys(manifest.key.score for manifest in opened.manifests.values())
    scores = (_LABELS.get(mode) or f"log-probability by {mode.partition('/')[2]}" for mode in modes)
    axes = Axis(" / ".join(scores)), Axis("mean rating")
    for index, (name, frame) in enumerate(opened.verdicts.items()):
        dots = points(frame)
        rho = document.records.loc[document.records["model"] == name, "spearman"].iloc[-1]
        correlation = "" if pd.isna(rho) else f", ρ = {format_correlation(rho)}"
        rating, errors = dots["rating"], dots["error"].fillna(0)
        ends = ((rating + sign * errors).tolist() for sign in (-1, 1)) if errors.any() else ()
        series = Series(index, name, dots["score"].tolist(), rating.tolist(), *ends)
        panels.append(Panel(f"{plain(name)[:LONGEST]}{correlation}", [series], *axes))
    return panels
