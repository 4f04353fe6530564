"""Means of architectures over their seeds, row by row."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.comparisons import SeedTable, seed_means
from tseval.analysis.features import require_features
from tseval.analysis.intervals import confidence_percent
from tseval.errors import RunError
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.layout import in_full, labelled, rows_and_means
from tseval.report.notes import measured_at_default, not_told_apart
from tseval.report.numbers import NOT_ROUNDED, TRUNCATED, format_rank_set, with_spread
from tseval.report.opened import INTERVAL, RunSet, analysis_document, interval_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# What tells models apart that differ in nothing but their seed, and where they were scored.
_OF_A_SEED = frozenset(
    {"validation_perplexity", "validation_accuracy", "device", "step", "tokens", "training", "folder"}
)
# From here on means over seeds have been seen to miss 95% (docs/results/coverage.md).
NEAR_THE_ENDS, FAR_APART = 0.9, 0.1
_OF_SEEDS = (Field("", ("accuracy", "spread"), with_spread), INTERVAL)


def seeds_of(opened: RunSet) -> dict[str, list[str]]:
    """Return the runs that differ in nothing but the seed of their models.

    Models are taken for seeds of one architecture where their runs tell the same of them (architecture,
    sizes, vocabulary, protocol) but the weights are others.
    """
    groups: dict[str, list[str]] = {}
    cards = {name: manifest.model for name, manifest in opened.manifests.items()}
    for name, card in cards.items():
        known = {what: value for what, value in card.details.items() if what not in _OF_A_SEED}
        key = repr((card.kind, card.protocol, known)) if "architecture" in known else name
        for other in groups.setdefault(key, []):
            if cards[other].fingerprint == card.fingerprint:
                raise RunError(
                    f"{other} and {name} are two runs of the same model, not of two models with different "
                    "seeds.\n"
                    "  Leave out one of the two runs."
                )
        groups[key].append(name)
    if all(len(names) == 1 for names in groups.values()):
        raise RunError(
            "no two of these models differ only in their seed, so there are no means over seeds.\n"
            "  Name runs of models with the same architecture, sizes and vocabulary, or leave out --group."
        )
    seeds: dict[str, list[str]] = {}
    for names in groups.values():
        card = cards[names[0]]
        name = str(card.details.get("architecture", names[0])) if len(names) > 1 else names[0]
        seeds[name if name not in seeds else f"{name} ({names[0]})"] = names
    return seeds


def seeds_table(opened: RunSet, groups: Mapping[str, Sequence[str]], by: Sequence[str] = ()) -> Document:
    """Return the means of architectures over their seeds, with spread and interval."""
    require_features(next(iter(opened.verdicts.values())), by)
    means = seed_means(
        {name: [opened.verdicts[seed] for seed in names] for name, names in groups.items()}, by
    )
    frames = [*means.of_rows.values(), *means.of_means.values()]
    grouped = any(len(names) > 1 for names in groups.values())
    notes = _notes(groups, interval_note(pd.concat(frames)))
    notes += _about_ranks(means, grouped)
    notes += _about_few_seeds(means)
    if any(frame["accuracy"].isna().any() for frame in frames):
        notes.append(
            "A row has no mean if no item is decidable for all seeds; means over such rows are missing too."
        )
    return analysis_document(opened, "seeds", _records(means), [_grid(means, opened.suite, grouped)], notes)


def _notes(groups: Mapping[str, Sequence[str]], intervals: str) -> list[str]:
    if all(len(names) == 1 for names in groups.values()):
        return [f"Accuracies are {NOT_ROUNDED}.", intervals]
    return [about_seeds(groups), f"{intervals} With several seeds, they also generalise to other seeds."]


def _about_few_seeds(seed_means: SeedTable) -> Iterator[str]:
    """Yield notes on where means over seeds miss 95%: benchmarks/calibration.py and coverage.py show it."""
    frames = [*seed_means.of_rows.values(), *seed_means.of_means.values()]
    several = pd.concat(frames).query("n_seeds > 1").dropna(subset="accuracy")
    many = several[several["n_seeds"] > 3]  # of fewer the quantile of t makes up for it
    if ((many["accuracy"] - 0.5).abs() > NEAR_THE_ENDS - 0.5).any():
        yield measured_at_default(
            "Near accuracies of 0 and 1, intervals of means over seeds that differ much are too narrow: for "
            "five to eight seeds they hold in 87% to 89% of samples."
        )
    two = several[several["n_seeds"] == 2]
    if seed_means.ranks is not None and (two["spread"] > FAR_APART).any():
        yield measured_at_default(
            "Two seeds differ much here, so ranks in brackets hold in only 86% of samples."
        )


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
    of = "for other words and other seeds" if grouped else "for other words"
    yield (
        f"In brackets: the possible ranks of each, with {confidence_percent()} confidence for all "
        f"together, {of}."
    )
    yield from not_told_apart(seed_means.ranks, list(seed_means.of_rows))


def _grid(seed_means: SeedTable, suite: str, grouped: bool) -> Grid:
    fields = [Field(suite, align="left")]
    for name in seed_means.of_rows:
        fields += [Field(name, _OF_SEEDS[0].names, with_spread), replace(INTERVAL, joined=True)]
    lines = rows_and_means(
        seed_means, lambda _, frames: [field.values(of) for of in frames.values() for field in _OF_SEEDS]
    )
    if ranks := _ranks(seed_means):
        rank_texts = [format_rank_set(*ranks[name]) if name in ranks else None for name in seed_means.of_rows]
        lines.append(Line(("Rank by mean accuracy", *(cell for rank in rank_texts for cell in (rank, "")))))
    return Grid(fields, lines, "Means over seeds" if grouped else "Accuracy")


def _ranks(seed_means: SeedTable) -> dict[str, tuple[Fraction, int, int]]:
    """Rank the architectures that have a mean over all rows by it, each with its best and worst rank."""
    if seed_means.ranks is None:
        return {}
    means = seed_means.ranks.means
    ranks = (Fraction(1 + int((means > mean).sum())) for mean in means)
    sets = zip(ranks, seed_means.ranks.low, seed_means.ranks.high, strict=True)
    ranked_models = zip(seed_means.of_means.items(), sets, strict=True)
    return {name: ranked for (name, frame), ranked in ranked_models if frame["accuracy"].notna().iloc[-1]}


def _records(seed_means: SeedTable) -> pd.DataFrame:
    """List the means of all rows, then those over rows, architecture by architecture; ranks with the last."""
    frames = []
    ranks = _ranks(seed_means)
    for heads, frames_of in seed_means.parts:
        for name, frame in frames_of.items():
            rows = labelled(heads, frame, model=name)
            rows[["rank", "rank_low", "rank_high"]] = None
            if heads is seed_means.means and name in ranks:
                rows.loc[rows.index[-1], ["rank", "rank_low", "rank_high"]] = [
                    int(rank) for rank in ranks[name]
                ]
            frames.append(rows)
    return in_full(frames)
