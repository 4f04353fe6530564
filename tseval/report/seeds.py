"""Architectures side by side, each the mean over its seeds, never without the spread between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import ROW, require_features
from tseval.analysis.comparisons import SEED_COLUMNS, seed_means
from tseval.errors import RunError
from tseval.report.document import Field, Grid, Line, rank_set, share, spread_beside
from tseval.report.figures import Axis, Panel, Series
from tseval.report.layout import headed, row_labels
from tseval.report.opened import INTERVAL, interval_note, tell
from tseval.report.table import not_told_apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.analysis.comparisons import SeedTable
    from tseval.report.document import Document
    from tseval.report.opened import Opened

# What tells models apart that differ in nothing but their seed, and where they were scored.
_OF_A_SEED = frozenset(
    {"validation_perplexity", "validation_accuracy", "device", "step", "tokens", "training", "folder"}
)


def with_spread(cell: tuple[float, float]) -> str:
    """Show a mean over seeds beside the standard deviation between them, if there are several."""
    mean, spread = cell
    if pd.isna(mean) or pd.isna(spread):
        return "–" if pd.isna(mean) else share(mean)
    return spread_beside(share(mean), share(spread))


_OF_SEEDS = (Field("", ("accuracy", "spread"), with_spread), INTERVAL)


def seeds_of(opened: Opened) -> dict[str, list[str]]:
    """Find the runs that differ in nothing but the seed of their models.

    Models are taken for seeds of one architecture where their runs tell the same of them (architecture,
    sizes, vocabulary, protocol) but the weights are others.

    Returns:
        Name of each architecture to the names of its models, in the order of the runs.

    Raises:
        RunError: No two runs are; or two are of the very same weights.
    """
    groups: dict[str, list[str]] = {}
    cards = {name: manifest.model for name, manifest in opened.manifests.items()}
    for name, card in cards.items():
        known = {what: value for what, value in card.details.items() if what not in _OF_A_SEED}
        key = repr((card.kind, card.protocol, known)) if "architecture" in known else name
        for other in groups.setdefault(key, []):
            if cards[other].fingerprint == card.fingerprint:
                raise RunError(
                    f"{other} and {name} are of one model, not of two seeds.\n  Leave one of the runs out."
                )
        groups[key].append(name)
    if all(len(names) == 1 for names in groups.values()):
        raise RunError(
            "no two of these runs are of models that differ in their seed alone, so there are no means.\n"
            "  Name runs of one architecture with the same sizes and vocabulary, or leave out --group."
        )
    found: dict[str, list[str]] = {}
    for names in groups.values():
        card = cards[names[0]]
        name = str(card.details.get("architecture", names[0])) if len(names) > 1 else names[0]
        found[name if name not in found else f"{name} ({names[0]})"] = names
    return found


def seeds_table(opened: Opened, groups: Mapping[str, Sequence[str]], by: Sequence[str] = ()) -> Document:
    """Tabulate the means of architectures over their seeds, with spread and interval.

    Args:
        opened: The runs.
        groups: Name of each architecture to the names of its models among them.
        by: Features that rows are broken down by.

    Raises:
        SuiteError: The suite has no such feature.
    """
    require_features(next(iter(opened.verdicts.values())), by)
    found = seed_means({name: [opened.verdicts[one] for one in names] for name, names in groups.items()}, by)
    frames = [*found.of_rows.values(), *found.of_means.values()]
    grouped = any(len(names) > 1 for names in groups.values())
    notes = _notes(groups, interval_note(pd.concat(frames)))
    if any(frame["accuracy"].isna().any() for frame in frames):
        notes.append(
            "A row in which no item is decidable for all seeds has no mean, and takes those over it."
        )
    notes += _about_ranks(found, grouped)
    return tell(opened, "seeds", _records(found), [_grid(found, opened.suite, grouped)], notes)


def _notes(groups: Mapping[str, Sequence[str]], intervals: str) -> list[str]:
    """Say what the means and their intervals are of."""
    if all(len(names) == 1 for names in groups.values()):
        return ["Accuracies are cut to 3 decimals, not rounded.", intervals]
    return [about_seeds(groups), f"{intervals} They are for other seeds too, where there are several."]


def about_seeds(groups: Mapping[str, Sequence[str]]) -> str:
    """Say how many seeds there are of each architecture, and how their means are shown."""
    counts = ", ".join(f"{name} {len(names)}" for name, names in groups.items())
    return (
        f"Seeds: {counts}. Accuracies are means over seeds, ± the standard deviation between seeds, both cut "
        "to 3 decimals."
    )


def _about_ranks(found: SeedTable, grouped: bool) -> Iterator[str]:
    """Say what the ranks in brackets are, and which architectures they do not tell apart."""
    if found.ranks is None:
        return
    of = "for other words, and other seeds where there are several" if grouped else "for other words"
    yield (
        f"In brackets: the ranks that each may have, all of them right together with 95% confidence, {of}."
    )
    yield from not_told_apart(found.ranks, list(found.of_rows))


def row_bars(analysis: Document, title: str) -> Panel:
    """Give the bars of the rows of a table, after Figure 4 of Bhatt et al. 2020."""
    records = analysis.records
    columns = list(records.columns)
    heads = columns[columns.index(ROW[0]) : columns.index(SEED_COLUMNS[0])]
    rows = records[records[ROW[2]].notna()]
    ticks: list[str] = []
    lines = []
    for index, (name, own) in enumerate(rows.groupby("model", sort=False)):
        ticks = ticks or _ticks(own[heads])
        known = own.assign(place=range(1, len(own) + 1)).dropna(subset="accuracy")
        lines.append(
            Series(index, str(name), *(known[of].tolist() for of in ("place", "accuracy", "low", "high")))
        )
    return Panel(title, [line for line in lines if line.x], y=Axis("accuracy", (0, 1)), words=ticks)


def _ticks(rows: pd.DataFrame) -> list[str]:
    """Name rows, with the phenomenon where two have one name."""
    labels = row_labels(rows)
    shared = Counter(labels)
    named = zip(labels, rows["phenomenon"], strict=True)
    return [f"{label}, {phenomenon.lower()}" if shared[label] > 1 else label for label, phenomenon in named]


def _grid(found: SeedTable, suite: str, grouped: bool) -> Grid:
    fields = [Field(suite, align="left")]
    for name in found.of_rows:
        fields += [Field(name, _OF_SEEDS[0].names, with_spread), replace(INTERVAL, joined=True)]
    cells = zip(row_labels(found.rows), *_columns(found.of_rows), strict=True)
    rows = zip(found.rows.itertuples(index=False, name=None), map(Line, cells), strict=True)
    lines = [*headed(rows), Line(("Mean accuracy, each row counted once",), "section")]
    n_rows = found.means["n_rows"].iloc[-1]
    over = [*found.means["over"][:-1], "The one row" if n_rows == 1 else f"All {n_rows} rows"]
    lines += [Line(cells) for cells in zip(over, *_columns(found.of_means), strict=True)]
    if ranks := _ranks(found):
        shown = [rank_set(*ranks[name]) if name in ranks else None for name in found.of_rows]
        lines.append(Line(("Rank by mean accuracy", *(cell for rank in shown for cell in (rank, "")))))
    return Grid(fields, lines, "Means over seeds" if grouped else "Accuracy")


def _ranks(found: SeedTable) -> dict[str, tuple[Fraction, int, int]]:
    """Rank the architectures that have a mean over all rows by it, each with its best and worst rank."""
    if found.ranks is None:
        return {}
    means = found.ranks.means
    ranks = (Fraction(1 + int((means > mean).sum())) for mean in means)
    sets = zip(ranks, found.ranks.low, found.ranks.high, strict=True)
    own = zip(found.of_means.items(), sets, strict=True)
    return {name: ranked for (name, frame), ranked in own if frame["accuracy"].notna().iloc[-1]}


def _columns(own: Mapping[str, pd.DataFrame]) -> list[list[object]]:
    return [field.values(frame) for frame in own.values() for field in _OF_SEEDS]


def _records(found: SeedTable) -> pd.DataFrame:
    """List the means of all rows, then those over rows, architecture by architecture; ranks with the last."""
    frames = []
    ranks = _ranks(found)
    for heads, own in ((found.rows, found.of_rows), (found.means, found.of_means)):
        for name, frame in own.items():
            rows = heads.join(frame).astype(object)
            rows.insert(0, "model", name)
            rows[["rank", "rank_low", "rank_high"]] = None
            if heads is found.means and name in ranks:
                rows.loc[rows.index[-1], ["rank", "rank_low", "rank_high"]] = [
                    int(one) for one in ranks[name]
                ]
            frames.append(rows)
    rows = pd.concat(frames, ignore_index=True)
    return rows.where(rows.notna(), None)
