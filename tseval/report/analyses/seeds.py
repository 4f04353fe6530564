"""Means over the seeds of architectures, row by row."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.comparisons import SEED_COLUMNS, SeedTable, seed_means
from tseval.analysis.features import require_features
from tseval.analysis.intervals import confidence_percent
from tseval.report.analyses.published_beside import in_common, rank_beside
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.layout import in_full, labelled, rows_and_means
from tseval.report.notes import indistinct_models, measured_at_default
from tseval.report.numbers import NOT_ROUNDED, TRUNCATED, format_rank_set, with_spread
from tseval.report.opened import INTERVAL, RunSet, analysis_document, interval_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.report.analyses.published_beside import Beside
    from tseval.report.columns import Column

# Beyond these values, intervals of means over seeds cover less than 95% (docs/results/coverage.md).
NEAR_THE_ENDS, FAR_APART = 0.9, 0.1
_OF_SEEDS = (Field("", ("accuracy", "spread"), with_spread), INTERVAL)


def seeds_table(
    opened: RunSet,
    groups: Mapping[str, Sequence[str]],
    by: Sequence[str] = (),
    published: Sequence[Column] = (),
) -> Document:
    """Return the means of architectures over their seeds, with spread and interval.

    With published models, the rows are those that all of these have, and ranks are among both.
    """
    require_features(next(iter(opened.verdicts.values())), by)
    n_left_out = 0
    if published:
        opened, n_left_out = in_common(opened, published)
    verdicts = {name: [opened.verdicts[seed] for seed in names] for name, names in groups.items()}
    means = seed_means(verdicts, by)
    beside = rank_beside(verdicts, published) if published else None
    if beside is not None:
        means = replace(means, ranks=None)  # possible ranks are known only among groups
    frames = [*means.of_rows.values(), *means.of_means.values()]
    grouped = any(len(names) > 1 for names in groups.values())
    notes = _notes(groups, interval_note(pd.concat(frames)))
    notes += _about_ranks(means, grouped)
    notes += _about_few_seeds(means)
    if any(frame["accuracy"].isna().any() for frame in frames):
        notes.append(
            "A row has no mean if no item is decidable for all seeds; means over such rows are missing too."
        )
    if beside is not None:
        notes.append(beside.note())
        notes += dict.fromkeys(note for column in published for note in column.notes)
    if n_left_out:
        notes.append(f"{n_left_out} rows that not all runs and published models have are left out.")
    grids = [_grid(means, opened.suite, grouped, beside)]
    return analysis_document(opened, "seeds", _records(means, beside), grids, notes)


def _notes(groups: Mapping[str, Sequence[str]], intervals: str) -> list[str]:
    if all(len(names) == 1 for names in groups.values()):
        return [f"Accuracies are {NOT_ROUNDED}.", intervals]
    return [about_seeds(groups), f"{intervals} With several seeds, they also generalise to other seeds."]


def _about_few_seeds(seed_means: SeedTable) -> Iterator[str]:
    """Yield notes on intervals that cover less than 95% (see benchmarks/calibration.py and coverage.md)."""
    frames = [*seed_means.of_rows.values(), *seed_means.of_means.values()]
    with_seeds = pd.concat(frames).query("n_seeds > 1").dropna(subset="accuracy")
    with_many = with_seeds[with_seeds["n_seeds"] > 3]  # for fewer seeds, the quantile of t is large enough
    if ((with_many["accuracy"] - 0.5).abs() > NEAR_THE_ENDS - 0.5).any():
        yield measured_at_default(
            "Near accuracies of 0 and 1, intervals of means over seeds that differ much are too narrow: for "
            "five to eight seeds they hold in 87% to 89% of samples."
        )
    with_two = with_seeds[with_seeds["n_seeds"] == 2]
    if seed_means.ranks is not None and (with_two["spread"] > FAR_APART).any():
        yield measured_at_default(
            "Two seeds differ much here, so ranks in brackets hold in only 86% of samples."
        )


OF_SEEDS = "With several seeds, intervals and tests also generalise to other seeds."


def about_seeds(groups: Mapping[str, Sequence[str]]) -> str:
    """Return a note on the number of seeds of each architecture, and on how their means are shown."""
    counts = ", ".join(f"{name} {len(names)}" for name, names in groups.items())
    return (
        f"Seeds: {counts}. Accuracies are means over seeds, ± the standard deviation between seeds, "
        f"{TRUNCATED}."
    )


def _about_ranks(seed_means: SeedTable, grouped: bool) -> Iterator[str]:
    if seed_means.ranks is None:
        return
    scope = "for other words and other seeds" if grouped else "for other words"
    yield (
        f"In brackets: the possible ranks of each, with {confidence_percent()} confidence for all "
        f"together, {scope}."
    )
    yield from indistinct_models(seed_means.ranks, list(seed_means.of_rows))


def _grid(seed_means: SeedTable, suite: str, grouped: bool, beside: Beside | None) -> Grid:
    fields = [Field(suite, align="left")]
    for name in seed_means.of_rows:
        fields += [Field(name, _OF_SEEDS[0].names, with_spread), replace(INTERVAL, joined=True)]

    def cells(heads: pd.DataFrame, frames: Mapping[str, pd.DataFrame]) -> list[list[object]]:
        columns = [field.values(frame) for frame in frames.values() for field in _OF_SEEDS]
        if beside is not None:
            values = beside.means if frames is seed_means.of_means else beside.rows
            columns += [list(values[name]) for name in values]
        return columns

    lines = rows_and_means(seed_means, cells)
    if beside is not None:
        return Grid([*fields, *beside.fields], [*lines, *beside.lines_of_ranks()], "Means over seeds")
    if ranks := _ranks(seed_means):
        rank_texts = [format_rank_set(*ranks[name]) if name in ranks else None for name in seed_means.of_rows]
        lines.append(Line(("Rank by mean accuracy", *(cell for rank in rank_texts for cell in (rank, "")))))
    return Grid(fields, lines, "Means over seeds" if grouped else "Accuracy")


def _ranks(seed_means: SeedTable) -> dict[str, tuple[Fraction, int, int]]:
    """Rank the architectures with a mean over all rows by this mean, with best and worst possible rank."""
    if seed_means.ranks is None:
        return {}
    means = seed_means.ranks.means
    ranks = (Fraction(1 + int((means > mean).sum())) for mean in means)
    sets = zip(ranks, seed_means.ranks.low, seed_means.ranks.high, strict=True)
    ranked_models = zip(seed_means.of_means.items(), sets, strict=True)
    return {name: ranked for (name, frame), ranked in ranked_models if frame["accuracy"].notna().iloc[-1]}


def _records(seed_means: SeedTable, beside: Beside | None) -> pd.DataFrame:
    """Tabulate the rows of all architectures, then their means; the last mean has the ranks."""
    frames = []
    ranks = _ranks(seed_means)
    overall: dict[object, object] = {}
    if beside is not None:
        overall = dict(zip(beside.mean_ranks, beside.overall, strict=True))
    for heads, frames_of in seed_means.parts:
        of_means = heads is seed_means.means
        means = {} if beside is None else {str(name): beside.means[name] if of_means else beside.rows[name]
                                         for name in beside.rows}  # fmt: skip
        published = {
            name: pd.DataFrame({"accuracy": values.map(_number), **dict.fromkeys(_UNKNOWN)})
            for name, values in means.items()
        }
        for name, frame in {**frames_of, **published}.items():
            rows = labelled(heads, frame, model=name)
            rows[["rank", "rank_low", "rank_high"]] = None
            if of_means and name in ranks:
                rows.loc[rows.index[-1], ["rank", "rank_low", "rank_high"]] = [
                    int(rank) for rank in ranks[name]
                ]
            elif of_means and (rank := overall.get(name)) is not None:
                rows.loc[rows.index[-1], "rank"] = int(rank)  # type: ignore[call-overload]
            frames.append(rows)
    return in_full(frames)


# Columns that published models do not have.
_UNKNOWN = tuple(name for name in SEED_COLUMNS if name != "accuracy")


def _number(value: Fraction | str | None) -> float | None:
    """Return a published accuracy as a number, without its spread."""
    return None if value is None else float(value.split()[0] if isinstance(value, str) else value)
