"""EW and MW of all verbs: by row, by probability mass, by frequency (Newman et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.counts import tally
from tseval.analysis.design import Design
from tseval.analysis.estimates import worth
from tseval.analysis.inflection import (
    MEASURES,
    InflectedContexts,
    compared_verbs,
    count_votes,
    estimate_votes,
    scores_at_mass,
    shares_of_lemmas,
)
from tseval.analysis.intervals import quantile, score_interval
from tseval.errors import RunError
from tseval.questions.context_forms import ContextForms
from tseval.questions.inflection import EW
from tseval.report.document import INTERVAL_HEADING, Document, Field, Grid, side_by_side
from tseval.report.layout import row_labels
from tseval.report.numbers import NOT_ROUNDED, format_count, format_interval, format_share
from tseval.report.opened import RunSet, analysis_document, stacked
from tseval.report.panels import SHARES, Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# The parts of the probability mass in the paper's figures.
MOST_LIKELY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
LEAST_LIKELY = (0.5, 0.1, 0.01, 0.001)
MOST, LEAST = "most", "least"
ALL_ROWS = "All rows"
N_BANDS, N_WORST = 5, 5
SOURCE = (
    "Newman, Ang, Gong and Hewitt 2021, Refining Targeted Syntactic Evaluation of Language Models (NAACL), "
    "for EW, MW and their cuts"
)
_MEASURED = tuple(
    field
    for name in MEASURES
    for field in (
        Field(name.upper(), (name,), format_share),
        Field(INTERVAL_HEADING, (f"{name}_low", f"{name}_high"), format_interval),
    )
)


@dataclass(frozen=True, slots=True)
class _Model:
    """The data of one run: its contexts, the rows of its table, its list of verbs."""

    contexts: InflectedContexts
    rows: pd.DataFrame
    verbs: Sequence[tuple[str, str, int]]
    has_masses: bool


def inflection(opened: RunSet, masses: Sequence[float] = ()) -> Document:
    """Return EW and MW by row, by mass and by frequency; if `masses` are given, only these, by row."""
    _refuse_other_runs(opened, masses)
    models = {name: _model(opened, name) for name in opened.verdicts}
    if masses:
        return _at_masses(opened, models, masses)
    rows = {name: _by_row(model) for name, model in models.items()}
    curves = {name: _by_mass(model) for name, model in models.items() if model.has_masses}
    bands = {name: _by_frequency(model) for name, model in models.items()}
    grids = [_grid_of_rows(rows, f"EW and MW, {opened.suite}")]
    notes = [
        "EW: share of the lemmas whose right form is more probable. MW: share of the probability of all "
        "forms that right forms have. Means over contexts; for all rows, each row counted once.",
        "Intervals of rows generalise to other words in the contexts and to other lemmas.",
    ]
    n_lemmas = {name: len(model.contexts.lemmas) for name, model in models.items()}
    if len(set(n_lemmas.values())) > 1:
        counts = ", ".join(f"{name} {n:,}" for name, n in n_lemmas.items())
        notes.append(
            f"The models know different numbers of lemmas ({counts}), so they are compared on other verbs."
        )
    if curves:
        grids.append(_grid_of_masses(curves, f"EW and MW by probability mass, {opened.suite}"))
        notes.append(
            "By mass: over the verbs among the most likely (or least likely) entries of the vocabulary that "
            "have this probability together; mean over all rows. Intervals generalise to other words in the "
            "contexts, not to other lemmas."
        )
    if missing := [name for name in models if name not in curves]:
        notes.append(
            f"{', '.join(missing)}: no numbers by mass, because the model does not give its whole vocabulary."
        )
    grids.append(_grid_of_bands(bands, f"EW by frequency of the verb, {opened.suite}"))
    notes.append(
        "By frequency: fifths of the lemmas, by the counts in the list of verbs, or by their probability if "
        "the list has none. Worst: lemmas that are right in the smallest share of contexts."
    )
    notes += [f"Shares are {NOT_ROUNDED}.", f"Source: {SOURCE}."]
    records = pd.concat(
        [
            stacked(rows).assign(part="row"),
            *([stacked(curves).assign(part="mass")] if curves else []),
            stacked(bands).assign(part="frequency"),
        ],
        ignore_index=True,
    )
    document = analysis_document(opened, "inflection", records, grids, notes)
    lemmas = {name: _lemmas(model).to_dict("records") for name, model in models.items()}
    return replace(document, content={**document.content, "lemmas": lemmas})


def _refuse_other_runs(opened: RunSet, masses: Sequence[float]) -> None:
    for name, manifest in opened.manifests.items():
        if manifest.suite.lexicon is None:
            raise RunError(
                f"{opened.folders[name]} is a run on {manifest.suite.name}, which does not compare all "
                "verbs of a list.\n  Score the suite so: tseval run --suite SUITE:inflection"
            )
        if masses and not ContextForms(opened.load_sentences[name]()).gives_masses:
            raise RunError(
                f"--mass: the run {opened.folders[name]} has no probabilities of a whole vocabulary. "
                "Its model gives only the probability of each word in a sentence.\n  Leave out --mass."
            )


def _model(opened: RunSet, name: str) -> _Model:
    verdicts, suite = opened.verdicts[name], opened.manifests[name].suite
    rows, answers = tally(verdicts)
    verbs = compared_verbs(suite.lexicon or ())
    forms = ContextForms(opened.load_sentences[name]())
    contexts = InflectedContexts.of(verdicts, answers.rows, forms, [verb[:2] for verb in verbs])
    return _Model(contexts, rows, verbs, forms.gives_masses)


def _by_row(model: _Model) -> pd.DataFrame:
    """Tabulate EW and MW for each row of the table and for all rows."""
    votes = count_votes(model.contexts)
    labels = [*row_labels(model.rows[["dependency", "phenomenon", "construction", "contrast"]]), ALL_ROWS]
    sets = [*([row] for row in range(len(model.rows))), [*range(len(model.rows))]]
    lines = []
    for label, rows in zip(labels, sets, strict=True):
        line: dict[str, object] = {"row": label, "n_contexts": int(np.isin(model.contexts.row, rows).sum())}
        for name in MEASURES:
            average = estimate_votes(model.contexts, votes[name], rows)
            for end, part in (("", "value"), ("_low", "low"), ("_high", "high"), ("_se", "se")):
                line[f"{name}{end}"] = None if average is None else getattr(average, part)
        lines.append({**line, "n_lemmas": len(model.contexts.lemmas)})
    return pd.DataFrame(lines)


def _grid_of_rows(rows: Mapping[str, pd.DataFrame], title: str) -> Grid:
    keys = [Field("", ("row",), align="left"), Field("Contexts", ("n_contexts",), format_count)]
    measured = (*_named(rows), Field("Lemmas", ("n_lemmas",), format_count))
    return Grid(*side_by_side(keys, rows, measured), title)


def _named(frames: Mapping[str, pd.DataFrame]) -> tuple[Field, ...]:
    """Return the fields of both measures; with several models, the first heading is a model's name."""
    first, *rest = _MEASURED
    return (replace(first, heading=first.heading if len(frames) == 1 else ""), *rest)


def _by_mass(model: _Model) -> pd.DataFrame:
    """Tabulate EW and MW over parts of the probability mass, averaged over all rows."""
    parts = [*((MOST, mass) for mass in MOST_LIKELY), *((LEAST, mass) for mass in LEAST_LIKELY)]
    lines = []
    for likely, mass in parts:
        scores = scores_at_mass(model.contexts, mass, least=likely == LEAST)
        lines.append({"likely": likely, "mass": mass, **_means(model.contexts, scores)})
    return pd.DataFrame(lines)


def _means(
    contexts: InflectedContexts, scores: Mapping[str, np.ndarray], rows: Sequence[int] | None = None
) -> dict[str, float | int | None]:
    """Average scores of contexts, each row counted once, with intervals for other words in the contexts."""
    is_inside = np.ones(len(contexts.row), bool) if rows is None else np.isin(contexts.row, rows)
    means: dict[str, float | int | None] = {}
    for name in MEASURES:
        is_counted = is_inside & ~np.isnan(scores[name])
        means["n_contexts"] = int(is_counted.sum())
        values = scores[name][is_counted, None]
        ends: tuple[float | None, float | None, float | None] = (None, None, None)
        if len(values):
            design = Design.of(contexts.factors.take(is_counted), contexts.row[is_counted])
            spread, value = design.spread(values), min(1.0, max(0.0, float(design.means(values)[0])))
            df = spread.df if design.clusters else None
            low, high = score_interval(value, worth(values, float(spread.variances[0]), design), quantile(df))
            ends = value, low, high
        means |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    return means


def _grid_of_masses(curves: Mapping[str, pd.DataFrame], title: str) -> Grid:
    keys = [
        Field("Verbs", ("likely",), align="left"),
        Field("Mass", ("mass",), lambda mass: f"{mass:g}"),
    ]
    tables = {
        name: curve.assign(likely=curve["likely"].map(lambda likely: f"{likely} likely"))
        for name, curve in curves.items()
    }
    return Grid(*side_by_side(keys, tables, _named(curves)), title)


def _at_masses(opened: RunSet, models: Mapping[str, _Model], masses: Sequence[float]) -> Document:
    """Return EW and MW of the rows of the table over some parts of the probability mass."""
    frames: dict[str, pd.DataFrame] = {}
    for name, model in models.items():
        labels = row_labels(model.rows[["dependency", "phenomenon", "construction", "contrast"]])
        lines = []
        for mass in masses:
            for likely in (MOST, LEAST):
                scores = scores_at_mass(model.contexts, mass, least=likely == LEAST)
                sets = [*((label, [row]) for row, label in enumerate(labels)), (ALL_ROWS, None)]
                lines += [
                    {"likely": likely, "mass": mass, "row": label, **_means(model.contexts, scores, rows)}
                    for label, rows in sets
                ]
        frames[name] = pd.DataFrame(lines).assign(n_lemmas=len(model.contexts.lemmas))
    grids = []
    for mass in masses:
        for likely in (MOST, LEAST):
            parts = {
                name: frame[(frame["mass"] == mass) & (frame["likely"] == likely)]
                for name, frame in frames.items()
            }
            keys = [Field("", ("row",), align="left"), Field("Contexts", ("n_contexts",), format_count)]
            title = f"The {likely} likely {mass:g} of the probability mass, {opened.suite}"
            grids.append(Grid(*side_by_side(keys, parts, _named(parts)), title))
    notes = [
        "EW and MW over the verbs in this part of the probability mass. Contexts: those with such verbs.",
        "Intervals generalise to other words in the contexts, not to other lemmas.",
        f"Shares are {NOT_ROUNDED}.",
        f"Source: {SOURCE}.",
    ]
    return analysis_document(opened, "inflection", stacked(frames), grids, notes)


def _lemmas(model: _Model) -> pd.DataFrame:
    """Tabulate the lemmas that the model knows: forms, count, share of contexts in which they are right."""
    shares, mass = shares_of_lemmas(model.contexts)
    verbs = [model.verbs[place] for place in model.contexts.listed]
    columns = zip(*verbs, strict=True) if verbs else ((), (), ())
    sing, plur, count = columns
    return pd.DataFrame({"sing": sing, "plur": plur, "count": count, EW: shares, "share_of_mass": mass})


def _by_frequency(model: _Model) -> pd.DataFrame:
    """Tabulate fifths of the lemmas, the most frequent first, each with its worst lemmas."""
    lemmas = _lemmas(model)
    column = "count" if (lemmas["count"] > 0).any() else "share_of_mass"
    lemmas = lemmas.sort_values(column, ascending=False, kind="stable").reset_index(drop=True)
    places = np.array_split(np.arange(len(lemmas)), N_BANDS if len(lemmas) >= N_BANDS else 1)
    bands = [lemmas.iloc[part] for part in places]
    lines = []
    for place, band in enumerate(bands, 1):
        worst = band.sort_values(EW, kind="stable").head(N_WORST)
        names = ", ".join(
            f"{sing} {format_share(share)}" for sing, share in zip(worst["sing"], worst[EW], strict=True)
        )
        lines.append(
            {"band": place, "n_lemmas": len(band), EW: band[EW].mean() if len(band) else None, "worst": names}
        )
    return pd.DataFrame(lines)


def _grid_of_bands(bands: Mapping[str, pd.DataFrame], title: str) -> Grid:
    names = {1: "most frequent fifth", N_BANDS: "least frequent fifth"}
    keys = [Field("Lemmas", ("band",), align="left")]
    measures = (
        Field("EW" if len(bands) == 1 else "", (EW,), format_share),
        Field("Number", ("n_lemmas",), format_count),
        Field("Worst", ("worst",), align="left"),
    )
    tables = {
        name: frame.assign(band=frame["band"].map(lambda band: names.get(band, f"fifth {band}")))
        for name, frame in bands.items()
    }
    return Grid(*side_by_side(keys, tables, measures), title)


def mass_panels(document: Document) -> list[Panel]:
    """Return the paper's figure: EW and MW over parts of the probability mass, a line for each model."""
    records = document.records
    if "mass" not in records:
        return []
    panels = []
    for likely in (MOST, LEAST):
        for name in MEASURES:
            axis = Axis("probability mass", log_from=0 if likely == LEAST else None)
            title = f"{name.upper()}, {likely} likely verbs"
            lines = _lines(records, likely, name)
            panels.append(Panel(title, lines, axis, Axis("share right", SHARES)))
    return [panel for panel in panels if panel.series]


def _lines(records: pd.DataFrame, likely: str, name: str) -> list[Series]:
    models = list(records["model"].unique())
    rows = records[(records["likely"] == likely) & records[name].notna()]
    if "row" in rows:
        rows = rows[rows["row"].isna() | (rows["row"] == ALL_ROWS)]
    lines = []
    for model, of_model in rows.groupby("model", sort=False):
        ordered = of_model.sort_values("mass")
        values = (
            ordered[column].astype(float).tolist() for column in ("mass", name, f"{name}_low", f"{name}_high")
        )
        lines.append(Series(models.index(model), str(model), *values))
    return lines
