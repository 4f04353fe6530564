"""Models beside each other: pairs, differences from one of them, means over seeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.breakdowns import N
from tseval.analysis.comparisons import (
    DEFAULT_MARGIN,
    SEED_COLUMNS,
    Against,
    SeedTable,
    against,
    pairwise,
    seed_means,
)
from tseval.analysis.differences import SAME
from tseval.analysis.features import require_features
from tseval.analysis.intervals import confidence_percent, error_percent
from tseval.analysis.rows import ROW
from tseval.errors import RunError, suggest
from tseval.report.analyses import NOUN_COUNTS
from tseval.report.document import (
    INTERVAL_HEADING,
    Document,
    Field,
    Grid,
    Line,
    format_count,
    format_difference,
    format_interval,
    format_probability,
    format_rank_set,
    with_spread,
)
from tseval.report.figures import Axis, Panel, lines_of
from tseval.report.layout import in_full, labelled, row_labels, rows_and_means
from tseval.report.opened import INTERVAL, RunSet, interval_note, tell
from tseval.report.table import measured_at_default, not_told_apart

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
    """Find the runs that differ in nothing but the seed of their models.

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
    found: dict[str, list[str]] = {}
    for names in groups.values():
        card = cards[names[0]]
        name = str(card.details.get("architecture", names[0])) if len(names) > 1 else names[0]
        found[name if name not in found else f"{name} ({names[0]})"] = names
    return found


def seeds_table(opened: RunSet, groups: Mapping[str, Sequence[str]], by: Sequence[str] = ()) -> Document:
    """Tabulate the means of architectures over their seeds, with spread and interval."""
    require_features(next(iter(opened.verdicts.values())), by)
    found = seed_means({name: [opened.verdicts[one] for one in names] for name, names in groups.items()}, by)
    frames = [*found.of_rows.values(), *found.of_means.values()]
    grouped = any(len(names) > 1 for names in groups.values())
    notes = _notes(groups, interval_note(pd.concat(frames)))
    notes += _about_ranks(found, grouped)
    notes += _about_few_seeds(found)
    if any(frame["accuracy"].isna().any() for frame in frames):
        notes.append(
            "A row has no mean if no item is decidable for all seeds; means over such rows are missing too."
        )
    return tell(opened, "seeds", _records(found), [_grid(found, opened.suite, grouped)], notes)


def _notes(groups: Mapping[str, Sequence[str]], intervals: str) -> list[str]:
    if all(len(names) == 1 for names in groups.values()):
        return ["Accuracies are truncated, not rounded, to 3 decimals.", intervals]
    return [about_seeds(groups), f"{intervals} With several seeds, they also generalise to other seeds."]


def _about_few_seeds(found: SeedTable) -> Iterator[str]:
    """Say where means over seeds miss 95%: benchmarks/calibration.py and coverage.py have drawn them."""
    frames = [*found.of_rows.values(), *found.of_means.values()]
    several = pd.concat(frames).query("n_seeds > 1").dropna(subset="accuracy")
    many = several[several["n_seeds"] > 3]  # of fewer the quantile of t makes up for it
    if ((many["accuracy"] - 0.5).abs() > NEAR_THE_ENDS - 0.5).any():
        yield measured_at_default(
            "Near accuracies of 0 and 1, intervals of means over seeds that differ much are too narrow: for "
            "five to eight seeds they hold in 87% to 89% of samples."
        )
    two = several[several["n_seeds"] == 2]
    if found.ranks is not None and (two["spread"] > FAR_APART).any():
        yield measured_at_default(
            "Two seeds differ much here, so ranks in brackets hold in only 86% of samples."
        )


def about_seeds(groups: Mapping[str, Sequence[str]]) -> str:
    """Say how many seeds there are of each architecture, and how their means are shown."""
    counts = ", ".join(f"{name} {len(names)}" for name, names in groups.items())
    return (
        f"Seeds: {counts}. Accuracies are means over seeds, ± the standard deviation between seeds, "
        "truncated to 3 decimals."
    )


def _about_ranks(found: SeedTable, grouped: bool) -> Iterator[str]:
    if found.ranks is None:
        return
    of = "for other words and other seeds" if grouped else "for other words"
    yield (
        f"In brackets: the possible ranks of each, with {confidence_percent()} confidence for all "
        f"together, {of}."
    )
    yield from not_told_apart(found.ranks, list(found.of_rows))


def row_bars(analysis: Document, title: str) -> Panel:
    """Return the bars of the rows of a table, after Figure 4 of Bhatt et al. 2020."""
    records = analysis.records
    columns = list(records.columns)
    heads = columns[columns.index(ROW[0]) : columns.index(SEED_COLUMNS[0])]
    rows = records[records[ROW[2]].notna()]
    models = rows["model"].unique()
    ticks = _ticks(rows.loc[rows["model"] == models[0], heads])
    placed = rows.assign(place=rows.groupby("model").cumcount() + 1).dropna(subset="accuracy")
    lines = lines_of(placed, "place", "accuracy", models)
    return Panel(title, lines, y=Axis("accuracy", (0, 1)), words=ticks)


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
    lines = rows_and_means(
        found, lambda _, own: [field.values(of) for of in own.values() for field in _OF_SEEDS]
    )
    if ranks := _ranks(found):
        shown = [format_rank_set(*ranks[name]) if name in ranks else None for name in found.of_rows]
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


def _records(found: SeedTable) -> pd.DataFrame:
    """List the means of all rows, then those over rows, architecture by architecture; ranks with the last."""
    frames = []
    ranks = _ranks(found)
    for heads, own in found.parts:
        for name, frame in own.items():
            rows = labelled(heads, frame, model=name)
            rows[["rank", "rank_low", "rank_high"]] = None
            if heads is found.means and name in ranks:
                rows.loc[rows.index[-1], ["rank", "rank_low", "rank_high"]] = [
                    int(one) for one in ranks[name]
                ]
            frames.append(rows)
    return in_full(frames)


_APART_BY = Field(INTERVAL_HEADING, ("low", "high"), format_interval)
_PAIR = Field("Pair", ("first", "second"), " / ".join, "left")
_ITEMS = Field("Items", ("n_items",), format_count)
_APART = (
    _PAIR,
    _ITEMS,
    Field("Difference", ("difference",), format_difference),
    _APART_BY,
    Field("p", ("p",), format_probability),
    Field("Holm", ("p_holm",), format_probability),
    Field("Beyond margin", ("p_beyond",), format_probability),
    Field("The first is", ("outcome",), align="left"),
)
_MCNEMAR = (
    _PAIR,
    _ITEMS,
    Field("Both right", ("both",), format_count),
    Field("Only first", ("only_first",), format_count),
    Field("Only second", ("only_second",), format_count),
    Field("Both wrong", ("neither",), format_count),
    Field("p", ("p_mcnemar",), format_probability),
    Field("Holm", ("p_mcnemar_holm",), format_probability),
)


def pairs(opened: RunSet, by: str | None, margin: float = DEFAULT_MARGIN) -> Document:
    """Tabulate how pairs of models differ, and what only one of two gets right.

    Without a feature to part them by, it is by intervening nouns, where a suite has them.
    """
    if len(opened.verdicts) < 2:
        raise RunError(
            "a comparison of models in pairs needs at least two runs, but the command names "
            "only one.\n"
            "  Name another run on the same suite."
        )
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
            Grid.of(_APART, own, f"Pairs, {about}"),
            _only_row(about, own, list(opened.verdicts)),
            Grid.of(_MCNEMAR, own, f"McNemar's test (items treated as independent), {about}"),
        ]
    notes = [*comparison_notes(rows, margin, "the pairs of a table"), _OF_MCNEMAR]
    rows = rows.drop(columns="all") if by is None else rows
    return tell(opened, "pairwise", rows, grids, notes)


_OF_MCNEMAR = (
    "McNemar's exact two-sided test treats items as independent; if items share words, its p-values are too "
    "small."
)


def comparison_notes(rows: pd.DataFrame, margin: float, family: str, both: str = "both models") -> list[str]:
    """Say how to read differences, their intervals and the words for them."""
    notes = [
        f"Differences of accuracies, truncated to 3 decimals, on the items that are decidable for {both}.",
        interval_note(rows),
        f"Equivalent: the difference is significantly smaller than {margin:g} (two one-sided tests, also "
        f"for other words). Better or worse: significantly different from 0. Error rate: "
        f"{error_percent()} over {family} (Holm).",
    ]
    if (rows["outcome"] == SAME).any():
        notes.append(
            "Same verdicts: both models have the same verdict on every item; the interval shows how much "
            "they may differ on other words."
        )
    if rows["outcome"].isna().any():
        notes.append(f"A dash: no item is decidable for {both}, so there is no difference.")
    return notes


def _only_row(about: str, rows: pd.DataFrame, models: Sequence[str]) -> Grid:
    """Print the table of Bansal et al.: what the model of the row gets right and that of the column wrong."""
    counts = {}
    for row in rows.to_dict("records"):
        counts[row["first"], row["second"]] = row["only_first"]
        counts[row["second"], row["first"]] = row["only_second"]
    fields = [Field("", align="left"), *(Field(name, show=format_count) for name in models)]
    lines = [Line((one, *(counts.get((one, other)) for other in models))) for one in models]
    return Grid(fields, lines, f"Only the model in the row is right, {about}")


_OF_THE_REFERENCE = Field("", ("accuracy", "spread"), with_spread)
_OF_A_MODEL = (
    Field("", ("difference",), format_difference),
    _APART_BY,
    Field("", ("outcome",), align="left"),
)


def differences_table(
    opened: RunSet, model: str | None, by: Sequence[str], margin: float, *, grouped: bool = False
) -> Document:
    """Tabulate how models differ from one of them, row by row and over the rows of a table.

    Compared is with a name as tables print it, of a model or, if grouped, of an architecture, for which a
    model of it stands too; with the first where there is none.
    """
    groups = seeds_of(opened) if grouped else {name: [name] for name in opened.verdicts}
    reference = next(iter(groups)) if model is None else _reference(model, groups)
    if len(groups) < 2:
        raise RunError(
            f"{reference} is the only model, so there is nothing to compare it with.\n"
            "  Name another run on the same suite."
        )
    require_features(opened.verdicts[groups[reference][0]], by)
    verdicts = {name: [opened.verdicts[one] for one in seeds] for name, seeds in groups.items()}
    found = against(verdicts, reference, by, margin)
    told = pd.concat([*found.of_rows.values(), *found.of_means.values()])
    family = "all models and rows of the table, and over all means"
    notes = comparison_notes(told, margin, family, "all seeds of both" if grouped else "both models")
    if grouped:
        of_seeds = "With several seeds, intervals and tests also generalise to other seeds."
        notes = [about_seeds(groups), *notes, of_seeds]
    if any(frame["outcome"].isna().any() for frame in found.of_means.values()):
        notes.append("A model without a value in a row has no mean over this row.")
    records = _records_comparisons(found)
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
        f"--against {model}: no run has a model or a folder with this name.\n"
        f"  {suggest(model, groups, 'Models')}"
    )


def _records_comparisons(found: Against) -> pd.DataFrame:
    return in_full(
        labelled(heads.drop(columns=[*_OF_THE_REFERENCE.names]), frame, model=name, against=found.reference)
        for heads, own in found.parts
        for name, frame in own.items()
    )


_MEAN = Line(("Mean, each row counted once",), "section")


def _against_grid(found: Against, suite: str) -> Grid:
    """Print the accuracy of the reference, then each model's difference from it, its interval and a word."""
    fields = [Field(suite, align="left"), Field(found.reference, show=with_spread)]
    for name in found.of_rows:
        fields += [Field(name, show=format_difference), *_OF_A_MODEL[1:]]
    lines = rows_and_means(found, _beside_the_reference, _MEAN)
    return Grid(fields, lines, f"Differences from {found.reference}")


def _beside_the_reference(heads: pd.DataFrame, own: Mapping[str, pd.DataFrame]) -> list[list[object]]:
    columns = [_OF_THE_REFERENCE.values(heads)]
    for frame in own.values():
        columns += [field.values(frame) for field in _OF_A_MODEL]
    return columns
