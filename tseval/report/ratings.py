"""Correlations of scores with human judgements, as a document and as a scatter plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import ROW, as_names
from tseval.analysis.ratings import ALL_SENTENCES, correlate, points
from tseval.report.analyses import interval_note, stacked, tell
from tseval.report.document import Field, Grid, Line, side_by_side
from tseval.report.layout import headed, row_labels
from tseval.report.scatter import ScatterPanel
from tseval.report.shown import correlation, interval, share, whole
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.report.analyses import Opened
    from tseval.report.document import Document

SPEARMAN = Field("Spearman", ("spearman",), correlation)
OF_SPEARMAN = Field("95% interval", ("spearman_low", "spearman_high"), interval)
PEARSON = Field("Pearson", ("pearson",), correlation)
OF_PEARSON = Field("95% interval", ("pearson_low", "pearson_high"), interval)
CEILING = Field("Noise ceiling", ("ceiling",), share)
_LABELS = {"sentence": "log-probability, nats", "mean": "log-probability per word, nats"}
N_SENTENCES = Field("Sentences", ("n_items",), whole)


def ratings(opened: Opened, by: str | Sequence[str] = ()) -> Document:
    """Tabulate how far the scores of models go with ratings.

    Args:
        opened: Runs over rated sentences.
        by: Feature or features to break the rows down by.

    Raises:
        SuiteError: The suite has no such feature.
    """
    found = {name: correlate(frame, by) for name, frame in opened.verdicts.items()}
    rows = stacked(found)
    grid = _side_by_side(found, opened.suite, by) if len(found) > 1 else _alone(found, opened.suite, by)
    return tell(opened, "ratings", rows, [grid], list(_notes(opened, rows)))


def _alone(found: Mapping[str, pd.DataFrame], suite: str, by: str | Sequence[str]) -> Grid:
    ((name, rows),) = found.items()
    fields = [N_SENTENCES, SPEARMAN, OF_SPEARMAN, PEARSON, OF_PEARSON, *_ceiling(rows)]
    cells = zip(*(field.values(rows) for field in fields), strict=True)
    return Grid([Field(f"{name} on {suite}", align="left"), *fields], list(_lines(rows, cells, by)))


def _side_by_side(found: Mapping[str, pd.DataFrame], suite: str, by: str | Sequence[str]) -> Grid:
    first = next(iter(found.values()))
    measures = [Field("", SPEARMAN.names, correlation), OF_SPEARMAN, PEARSON, OF_PEARSON]
    fields, lines = side_by_side([N_SENTENCES, *_ceiling(first)], found, measures)
    cells = (line.cells for line in lines)
    return Grid([Field(suite, align="left"), *fields], list(_lines(first, cells, by)))


def _ceiling(rows: pd.DataFrame) -> list[Field]:
    return [CEILING] if rows["ceiling"].notna().any() else []


def _lines(
    rows: pd.DataFrame, cells: Iterator[tuple[object, ...]], by: str | Sequence[str]
) -> Iterator[Line]:
    """Give the body under its headings; what is over all sentences stands last."""
    keys = rows[[*ROW]].astype(object).where(rows[[*ROW]].notna(), None).itertuples(index=False, name=None)
    labelled = rows[[*ROW, *as_names(by)]]
    several = len(rows) > 1
    labels = row_labels(labelled.iloc[:-1] if several else labelled)
    lines = [Line((label, *own)) for label, own in zip([*labels, ALL_SENTENCES], cells, strict=False)]
    body = lines[:-1] if several else lines
    yield from headed(zip(keys, body, strict=False))
    if several:
        yield Line(("All rows together",), "section")
        yield lines[-1]


def _notes(opened: Opened, rows: pd.DataFrame) -> Iterator[str]:
    several = len(opened.verdicts) > 1
    yield (
        "Correlations of scores with mean ratings, cut to 3 decimals"
        + (": Spearman's under the name of a model, Pearson's beside it." if several else ".")
    )
    yield interval_note(rows)
    if rows["ceiling"].notna().any():
        yield (
            "Noise ceiling: the correlation with these ratings of a model that knows what people say on "
            "average, √(1 - mean s.e.² / variance)."
        )
    for name, manifest in opened.manifests.items():
        yield from (f"{name}: {plain(warning).rstrip('.')}." for warning in manifest.warnings)


def scatter_panels(opened: Opened, found: Document) -> list[ScatterPanel]:
    """Draw the sentences of every model, those that it scored."""
    panels = []
    for name, frame in opened.verdicts.items():
        dots = points(frame)
        rho = found.records.loc[found.records["model"] == name, "spearman"].iloc[-1]
        said = "" if pd.isna(rho) else f", ρ = {correlation(rho)}"
        errors = dots["error"].fillna(0).tolist()
        panels.append(ScatterPanel(name, said, dots["score"].tolist(), dots["rating"].tolist(), errors))
    return panels


def score_label(opened: Opened) -> str:
    """Say what the scores of the models are, for the axis of a figure."""
    modes = dict.fromkeys(manifest.key.score for manifest in opened.manifests.values())
    return " / ".join(_LABELS.get(mode) or f"log-probability by {mode.partition('/')[2]}" for mode in modes)
