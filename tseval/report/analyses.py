"""Analyses as documents: agreement, effects, formal languages, ratings, counts of nouns, examples found.

How many agreement examples there are, by intervening nouns and attractors: a table, and bars.

After Figures 1 and 6 of Bansal et al. 2020, which count their training sentences in this way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tseval.analysis.breakdowns import (
    ATTRACTORS,
    OTHERS,
    VARIES,
    Measure,
    N,
    by_feature,
    by_feature_of_seeds,
    by_non_attractors,
    headline,
    headline_interval,
    joint_grid,
    measure_of,
    profile,
    with_intervals,
    with_words,
)
from tseval.analysis.counts import N_HALF_KNOWN
from tseval.analysis.differences import over_seeds
from tseval.analysis.intervals import confidence_percent
from tseval.analysis.measures import (
    ALL_SENTENCES,
    AVERAGED,
    CONDITION,
    REGION,
    correlate,
    mean_effects,
    mean_surprisals,
    points,
)
from tseval.analysis.rows import ROW, as_names
from tseval.errors import SuiteError, plain
from tseval.report.document import (
    INTERVAL_HEADING,
    Document,
    Field,
    Grid,
    Line,
    format_correlation,
    format_count,
    format_difference,
    format_interval,
    format_share,
    side_by_side,
    with_spread,
)
from tseval.report.figures import LONGEST, SHARES, Axis, Panel, Series, lines_of, share_panel, without_seed
from tseval.report.layout import headed, row_labels
from tseval.report.opened import ACCURACY, INTERVAL, RunSet, interval_note, stacked, tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa


NOUN_COUNTS = {N: "intervening nouns", ATTRACTORS: "attractors", OTHERS: "non-attractors"}
_TRUNCATED = "Accuracies are truncated, not rounded, to 3 decimals."
_CELLS_SHOWN = 12


def attractors(opened: RunSet) -> Document:
    """Tabulate accuracy over intervening nouns and attractors."""
    grids = {name: joint_grid(frame) for name, frame in opened.verdicts.items()}
    return _accuracies(opened, grids, [N, ATTRACTORS])


def non_attractors(opened: RunSet) -> Document:
    """Tabulate accuracy over intervening nouns that are no attractors."""
    grids = {name: by_non_attractors(frame) for name, frame in opened.verdicts.items()}
    return _accuracies(opened, grids, [OTHERS])


def _accuracies(opened: RunSet, grids: Mapping[str, pd.DataFrame], by: list[str]) -> Document:
    """Lay out the cells of a grid, a line each, with every model's accuracy and interval."""
    first = next(iter(grids.values()))
    what = " and ".join(NOUN_COUNTS[name] for name in by)
    keys = [Field(NOUN_COUNTS[name].capitalize(), (name,)) for name in by]
    keys = [replace(keys[0], align="left"), *keys[1:], Field("Items", ("n_items",), format_count)]
    found = first["n_items"] > 0
    fields, lines = side_by_side(keys, {name: grid[found] for name, grid in grids.items()}, ACCURACY)
    notes = [interval_note(stacked(grids))]
    empty = [" and ".join(map(str, cell)) for cell in first.loc[~found, by].itertuples(index=False)]
    if empty:
        more = f" and {len(empty) - _CELLS_SHOWN} more" if len(empty) > _CELLS_SHOWN else ""
        notes.append(f"No items with these numbers of {what}: {', '.join(empty[:_CELLS_SHOWN])}{more}.")
    if left_out := len(next(iter(opened.verdicts.values()))) - int(first["n_items"].sum()):
        notes.append(
            f"{left_out:,} items are left out, because they do not name their number of intervening nouns."
        )
    grid = Grid(fields, lines, f"Accuracy by {what}, {opened.suite}")
    return tell(opened, "attractors", stacked(grids), [grid], [*notes, _TRUNCATED])


def attractor_panels(analysis: Document) -> list[Panel]:
    """Draw Figure 3: one panel per number of intervening nouns that occurs, attractors along the axis."""
    panels = []
    for n, rows in analysis.records.groupby(N):
        if lines := _decided(rows, ATTRACTORS):
            title = f"{n} intervening noun{'' if n == 1 else 's'}"
            panels.append(Panel(title, lines, Axis("attractors"), Axis("accuracy", SHARES)))
    return panels


def non_attractor_panels(analysis: Document) -> list[Panel]:
    """Draw Table 2: non-attractors along the axis."""
    lines = _decided(analysis.records, OTHERS)
    others = Axis("intervening nouns that are no attractors")
    return [Panel("", lines, others, Axis("accuracy", SHARES))] if lines else []


def _decided(rows: pd.DataFrame, x: str) -> list[Series]:
    """Draw a line for each model that could decide anything; it breaks where there are no items."""
    return [line for line in lines_of(rows, x, "accuracy") if line.end is not None]


def profiles(opened: RunSet, words: int | None = None) -> Document:
    """Tabulate confidence in the correct answer after each word, of all items or of those of one length."""
    if words is not None:
        chosen = {name: with_words(frame, words) for name, frame in opened.verdicts.items()}
        note = f"Items with {words} words before the verb."
        opened = replace(opened, verdicts=chosen, notes=(*opened.notes, note))
    found = {name: with_intervals(profile(frame), frame) for name, frame in opened.verdicts.items()}
    rows = stacked(found)
    grids, notes = [], []
    for case in rows["case"].unique():
        own = rows[rows["case"] == case]
        items = own.groupby("position")["n_items"].max()
        shares = own.pivot(index="position", columns="model", values="confidence")
        columns = [shares.index, _words(own), items, *(shares[name] for name in found)]
        fields = [
            Field("Words read", align="left"), Field("Last word", joined=True),
            Field("Items", show=format_count, joined=True),
            *(Field(name, show=format_share) for name in found),
        ]  # fmt: skip
        lines = [Line(cells) for cells in zip(*columns, strict=True)]
        grids.append(Grid(fields, lines, f"Confidence, {opened.suite}, {case}"))
        if items.nunique() > 1:
            notes.append(
                f"{case}: verbs are at different places, so later means have fewer items; choose one length "
                "with --words."
            )
    notes.append("Mean confidence in the correct answer, truncated to 3 decimals; 0.5 is chance.")
    notes.append(f"{interval_note(rows)} Figures and files show them.")
    if rows[VARIES].any():
        notes.append("A word in brackets is an example: other items have other words at this place.")
    return tell(opened, "profile", rows, grids, notes)


def profile_panels(analysis: Document) -> list[Panel]:
    """Draw Figure 2: one panel per case, words along the axis."""
    models, axes = analysis.records["model"].unique(), (Axis("words read"), Axis("confidence", SHARES))
    panels = []
    for case in analysis.records["case"].unique():
        rows = analysis.records[analysis.records["case"] == case]
        lines = lines_of(rows, "position", "confidence", models)
        panels.append(Panel(str(case), lines, *axes, words=_words(rows)))
    return panels


def _words(rows: pd.DataFrame) -> list[str]:
    """Return the word at each place of a case; that of the first item in brackets, where others differ."""
    places = rows.groupby("position").first()
    pairs = zip(places["word"], places[VARIES], strict=True)
    return [f"({word})" if varies else str(word) for word, varies in pairs]


_ITEMS = Field("Items", ("n_items",), format_count)
_NOTES = (
    "Effect: mean over items of the value that a prediction expects to be higher, minus the other.",
    "To compare conditions, use effects: surprisals have wider intervals, because items differ more than "
    "conditions.",
    "A prediction with several comparisons, or with an equality, has no effect.",
)


def design_effects(opened: RunSet) -> Document:
    """Tabulate the effect of each prediction, and the mean surprisal under each condition, in bits."""
    surprisals = {name: mean_surprisals(verdicts) for name, verdicts in opened.verdicts.items()}
    found = {name: mean_effects(verdicts) for name, verdicts in opened.verdicts.items()}
    of_any = pd.concat([frame["n_items"] > 0 for frame in found.values()], axis=1).any(axis=1)
    found = {name: frame[of_any].reset_index(drop=True) for name, frame in found.items()}
    grids = []
    if of_any.any():
        labelled = {name: frame.assign(label=row_labels(frame[[*ROW]])) for name, frame in found.items()}
        keys = [Field("Prediction", ("label",), align="left"), _ITEMS]
        measures = [Field("", ("value",), format_difference), INTERVAL]
        grids.append(Grid(*side_by_side(keys, labelled, measures), f"Effects in bits, {opened.suite}"))
    keys = [Field(name.capitalize(), (name,), align="left") for name in ("construction", REGION, CONDITION)]
    measures = [Field("", ("value",), format_share), INTERVAL]
    fields_and_lines = side_by_side([*keys, _ITEMS], surprisals, measures)
    grids.append(Grid(*fields_and_lines, f"Surprisals in bits, {opened.suite}"))
    rows = pd.concat([stacked(found), stacked(surprisals)], ignore_index=True)
    rows = rows[["model", *ROW, REGION, CONDITION, *AVERAGED]]
    return tell(opened, "effects", rows, grids, [*_NOTES, interval_note(rows)])


def surprisal_panels(analysis: Document) -> list[Panel]:
    """Draw the mean surprisal under each condition: a panel for each region of a construction, one scale."""
    rows = analysis.records[analysis.records[CONDITION].notna() & (analysis.records["n_items"] > 0)]
    models = list(analysis.records["model"].unique())
    groups = rows.groupby([*ROW[:-1], REGION], sort=False, dropna=False)
    low, high = rows[["value", "low", "high"]].min().min(), rows[["value", "low", "high"]].max().max()
    around = 0.05 * (high - low) or 0.5
    bits = Axis("surprisal in bits", (low - around, high + around))
    return [_panel((str(key[2]), f"region {key[3]}"), own, models, bits) for key, own in groups]


def _panel(title: tuple[str, str], rows: pd.DataFrame, models: Sequence[str], bits: Axis) -> Panel:
    conditions = list(dict.fromkeys(rows[CONDITION]))[::-1]  # drawn from below
    placed = rows.assign(place=[1 + conditions.index(condition) for condition in rows[CONDITION]])
    series = lines_of(placed, "place", "value", models)
    return Panel(title[0], series, y=bits, words=conditions, subtitle=title[1])


SUMMARIES = {"mean": "Mean, each row counted once", "largest": "Largest", "all": "All strings"}
CHOSEN = "The largest value has no interval, because it was selected after looking at all rows."
VALUE = (Field("", ("value",), format_share), INTERVAL)
VALUE_OF_SEEDS = (Field("", ("value", "spread"), with_spread), INTERVAL)
AXES = {
    "distance": "distance from the opening bracket, in symbols",
    "attractors": "attractors: brackets of other types in between",
    "m_plus_n": "m + n",
}


def formal(opened: RunSet) -> Document:
    """Tabulate what the paper on a language reports."""
    measure = measure_of(opened.suite)
    frames = {name: by_feature(verdicts, measure) for name, verdicts in opened.verdicts.items()}
    last = {
        name: {"value": headline(rows, measure), "sure": headline_interval(opened.verdicts[name], measure)}
        for name, rows in frames.items()
    }
    chosen = [CHOSEN] if measure.summary == "largest" else []
    return _tell(opened, measure, frames, last, VALUE, chosen)


def formal_of_seeds(opened: RunSet, groups: Mapping[str, Sequence[str]]) -> Document:
    """Tabulate the same as means over the seeds of each architecture, with the spread between them."""
    measure = measure_of(opened.suite)
    frames, last = {}, {}
    for name, names in _named(groups).items():
        seeds = [opened.verdicts[one] for one in names]
        frames[name] = by_feature_of_seeds(seeds, measure)
        headlines = [headline(by_feature(one, measure), measure) for one in seeds]
        (value,), (spread,) = over_seeds(np.array([headlines]))
        last[name] = {"value": value, "spread": spread, "sure": None}
    counts = ", ".join(f"{name} {len(names)}" for name, names in _named(groups).items())
    notes = [
        f"Seeds: {counts}. Means over seeds, ± the standard deviation between seeds; the last line "
        "is the mean over seeds, without an interval."
    ]
    return _tell(opened, measure, frames, last, VALUE_OF_SEEDS, notes)


def _named(groups: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Call seeds by what their names have in common, `lstm-16` of `lstm-16-seed1` and `lstm-16-seed2`."""
    stems = [{without_seed(name) for name in names} for names in groups.values()]
    known = all(len(own) == 1 for own in stems) and len(set.union(*stems)) == len(stems)
    names = [own.pop() for own in stems] if known else list(groups)
    return dict(zip(names, groups.values(), strict=True))


def _tell(
    opened: RunSet,
    measure: Measure,
    frames: Mapping[str, pd.DataFrame],
    last: Mapping[str, Mapping[str, Any]],
    shown: Sequence[Field],
    more: Sequence[str],
) -> Document:
    notes = [
        f"{measure.quantity.capitalize()} is truncated, not rounded, to 3 decimals.",
        interval_note(stacked(frames)),
        *more,
        f"Source: {measure.source}.",
    ]
    rows = {name: _with_summary(rows, measure, last[name]) for name, rows in frames.items()}
    keys = Field(measure.of, (measure.feature,), align="left"), Field("Judged", ("n_items",), format_count)
    fields, lines = side_by_side(keys, frames, shown)
    n_items = next(iter(frames.values()))["n_items"].sum()
    of = shown[0].names
    values = (one["value"] if len(of) == 1 else tuple(one[name] for name in of) for one in last.values())
    cells = (cell for value, one in zip(values, last.values(), strict=True) for cell in (value, one["sure"]))
    lines.append(Line((SUMMARIES[measure.summary], n_items, *cells)))
    grid = Grid(fields, lines, f"{measure.quantity.capitalize()} on {opened.suite}")
    return tell(opened, "formal", stacked(rows), [grid], notes)


def formal_panel(opened: RunSet, analysis: Document) -> Panel:
    """Draw a line for each model: after Figures 2 and 3 of Bernardy & Lappin 2022."""
    measure, records = measure_of(opened.suite), analysis.records
    lines = lines_of(records.dropna(subset="at"), "at", "value", records["model"].unique())
    title = f"{measure.quantity.capitalize()} on {opened.suite}"
    return share_panel(title, lines, AXES[measure.feature], measure.quantity)


def _with_summary(rows: pd.DataFrame, measure: Measure, headed: Mapping[str, Any]) -> pd.DataFrame:
    """Add the headline number, and its interval or spread if it has one, below the rows of a model."""
    rows = rows.rename(columns={measure.feature: "at"})
    rows.insert(0, "by", measure.feature)
    rows.insert(1, "quantity", measure.quantity)
    last = {"by": measure.summary, "quantity": measure.quantity, "at": pd.NA, "value": headed["value"]}
    last |= dict(zip(("low", "high"), headed["sure"] or (), strict=False))
    last |= {name: headed[name] for name in ("spread",) if name in headed}
    counts = [name for name in ("n_items", "n_wrong") if name in rows]
    last |= {name: rows[name].sum() for name in counts}
    kinds = dict.fromkeys(("at", *counts), "Int64")  # whole numbers beside missing values
    return pd.concat([rows.astype(kinds), pd.DataFrame([last]).astype(kinds)])


SPEARMAN = Field("Spearman", ("spearman",), format_correlation)
OF_SPEARMAN = Field(INTERVAL_HEADING, ("spearman_low", "spearman_high"), format_interval)
PEARSON = Field("Pearson", ("pearson",), format_correlation)
OF_PEARSON = Field(INTERVAL_HEADING, ("pearson_low", "pearson_high"), format_interval)
CEILING = Field("Noise ceiling", ("ceiling",), format_share)
_LABELS = {"sentence": "log-probability, nats", "mean": "log-probability per word, nats"}
N_SENTENCES = Field("Sentences", ("n_items",), format_count)
UNKNOWN_WORDS = Field("With unknown words", (N_HALF_KNOWN,), format_count)


def ratings(opened: RunSet, by: str | Sequence[str] = ()) -> Document:
    """Tabulate how far the scores of models go with ratings."""
    found = {name: correlate(frame, by) for name, frame in opened.verdicts.items()}
    rows = stacked(found)
    grid = _side_by_side(found, opened.suite, by) if len(found) > 1 else _alone(found, opened.suite, by)
    return tell(opened, "ratings", rows, [grid], list(_notes(opened, rows)))


def _alone(found: Mapping[str, pd.DataFrame], suite: str, by: str | Sequence[str]) -> Grid:
    ((name, rows),) = found.items()
    fields = [N_SENTENCES, SPEARMAN, OF_SPEARMAN, PEARSON, OF_PEARSON, *_ceiling(rows)]
    fields += [UNKNOWN_WORDS] if N_HALF_KNOWN in rows else []
    cells = zip(*(field.values(rows) for field in fields), strict=True)
    return Grid([Field(f"{name} on {suite}", align="left"), *fields], list(_rating_lines(rows, cells, by)))


def _side_by_side(found: Mapping[str, pd.DataFrame], suite: str, by: str | Sequence[str]) -> Grid:
    first = next(iter(found.values()))
    measures = [Field("", SPEARMAN.names, format_correlation), OF_SPEARMAN, PEARSON, OF_PEARSON]
    fields, lines = side_by_side([N_SENTENCES, *_ceiling(first)], found, measures)
    cells = (line.cells for line in lines)
    return Grid([Field(suite, align="left"), *fields], list(_rating_lines(first, cells, by)))


def _ceiling(rows: pd.DataFrame) -> list[Field]:
    return [CEILING] if rows["ceiling"].notna().any() else []


def _rating_lines(
    rows: pd.DataFrame, cells: Iterator[tuple[object, ...]], by: str | Sequence[str]
) -> Iterator[Line]:
    """Yield the body under its headings; what is over all sentences stands last."""
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


def _notes(opened: RunSet, rows: pd.DataFrame) -> Iterator[str]:
    several = len(opened.verdicts) > 1
    yield (
        "Correlations of scores with mean ratings, truncated to 3 decimals"
        + (": Spearman's in the column of the model, Pearson's in the next." if several else ".")
    )
    yield interval_note(rows)
    if rows["ceiling"].notna().any():
        yield (
            "Noise ceiling: the highest correlation that a perfect model could reach with these ratings, "
            "√(1 - mean s.e.² / variance)."
        )
    for name, manifest in opened.manifests.items():
        yield from (f"{name}: {plain(warning).rstrip('.')}." for warning in manifest.warnings)


def scatter_panels(opened: RunSet, found: Document) -> list[Panel]:
    """Draw the sentences of every model, those that it scored."""
    panels = []
    modes = dict.fromkeys(manifest.key.score for manifest in opened.manifests.values())
    scores = (_LABELS.get(mode) or f"log-probability by {mode.partition('/')[2]}" for mode in modes)
    axes = Axis(" / ".join(scores)), Axis("mean rating")
    for index, (name, frame) in enumerate(opened.verdicts.items()):
        dots = points(frame)
        rho = found.records.loc[found.records["model"] == name, "spearman"].iloc[-1]
        said = "" if pd.isna(rho) else f", ρ = {format_correlation(rho)}"
        rating, errors = dots["rating"], dots["error"].fillna(0)
        ends = ((rating + sign * errors).tolist() for sign in (-1, 1)) if errors.any() else ()
        series = Series(index, name, dots["score"].tolist(), rating.tolist(), *ends)
        panels.append(Panel(f"{plain(name)[:LONGEST]}{said}", [series], *axes))
    return panels


_TABLE, _NOUNS, _ATTRACTORS, _COUNT = "table", "n_intervening", "n_attractors", "n_examples"
_MOST_NOUNS, _MOST_ATTRACTORS = 8, 4  # and more, in one bar
_NOTE = "An attractor is an intervening noun whose number differs from that of the subject."


def noun_counts(tables: Mapping[str, pa.Table], splits: Sequence[str] = ()) -> Document:
    """Count the examples of tables by intervening nouns, and by attractors among these."""
    counts = []
    for name, table in tables.items():
        if missing := [column for column in (_NOUNS, _ATTRACTORS) if column not in table.column_names]:
            raise SuiteError(
                f"{name}: the table has no column {missing[0]!r}, which tseval needs to count examples.\n"
                f"  Make the table again: tseval data agreement FILE -o {name}"
            )
        frame = table.to_pandas()
        if splits:
            known = sorted(frame["split"].unique()) if "split" in frame else []
            if unknown := [split for split in splits if split not in known]:
                known_ones = ", ".join(known) or "none"
                raise SuiteError(
                    f"{name}: no example belongs to the split {unknown[0]!r}.\n"
                    f"  Choose a split of the table: {known_ones}."
                )
            frame = frame[frame["split"].isin(splits)]
        own = frame.groupby([_NOUNS, _ATTRACTORS]).size().rename(_COUNT).reset_index()
        own.insert(0, _TABLE, name)
        counts.append(own)
    rows = pd.concat(counts, ignore_index=True)
    grids = [_grid(name, own) for name, own in rows.groupby(_TABLE, sort=False)]
    return Document(grids, rows, {"analysis": "noun_counts", "rows": rows, "notes": [_NOTE]}, [_NOTE], [])


def _grid(name: object, rows: pd.DataFrame) -> Grid:
    cells = rows.pivot_table(_COUNT, _NOUNS, _ATTRACTORS, "sum", fill_value=0)
    headings = [*map(_attractors, map(str, cells.columns)), "All"]
    fields = [Field("Intervening nouns", align="left"), *(Field(one, show=format_count) for one in headings)]
    lines = []
    for nouns, own in zip(cells.index.tolist(), cells.to_numpy().tolist(), strict=True):
        counts = (n if k <= nouns else None for k, n in zip(cells.columns, own, strict=True))
        lines.append(Line((str(nouns), *counts, sum(own))))
    return Grid(fields, lines, f"Examples of {name}")


def _attractors(n: str) -> str:
    return f"{n} attractor{'' if n == '1' else 's'}"


def noun_count_bars(counts: Document, title: str) -> Panel:
    """Return a group of bars for each number of intervening nouns; what is rare is counted together.

    One table has a bar for each number of attractors, of several each has one.
    """
    rows = counts.records
    together = rows.assign(**{_NOUNS: rows[_NOUNS].clip(upper=_MOST_NOUNS)})
    of = _ATTRACTORS if rows[_TABLE].nunique() == 1 else _TABLE
    if of == _ATTRACTORS:
        together[of] = together[of].clip(upper=_MOST_ATTRACTORS)
    ticks = _numbers(together[_NOUNS].max(), _MOST_NOUNS)
    names = _numbers(together[_ATTRACTORS].max(), _MOST_ATTRACTORS)
    lines = []
    for index, (value, own) in enumerate(together.groupby(of, sort=of == _ATTRACTORS)):
        sums = own.groupby(_NOUNS)[_COUNT].sum()
        name = str(value) if of == _TABLE else _attractors(names[int(str(value))])
        lines.append(Series(index, name, (sums.index + 1).tolist(), sums.astype(float).tolist()))
    examples = Axis("examples (log scale)", (0.8, None), log_from=0)  # a single one stands above the axis
    return Panel(title, lines, Axis("intervening nouns"), examples, ticks)


def _numbers(last: int, most: int) -> list[str]:
    """Name the numbers from 0 to the last, which holds all that are larger if it is the most there is."""
    return [f"{n} or more" if n == most else str(n) for n in range(last + 1)]


_COUNTS = (
    Field("Gold", ("n_gold",), format_count),
    Field("Parsed", ("n_parsed",), format_count),
)
_EXAMPLE_NOTES = (
    "Gold examples count by the attractors in the gold tree, parsed examples by those in the parsed tree.",
    "Precision: share of parsed examples that are also gold. Recall: share of gold examples that were found.",
    "F1: harmonic mean of precision and recall. All three are truncated to 3 decimals.",
)


def found_examples(rows: pd.DataFrame, gold: str, parsed: str) -> Document:
    """Tabulate how good the examples of a parse are (`tseval.analysis.breakdowns.compare_examples`)."""
    number = Field("Same number", ("n_same_number", "n_found"), lambda pair: f"{pair[0]:,} of {pair[1]:,}")
    equal, alike = (
        Field("Equal", ("n_equal",), format_count),
        "the same subject, number and number of attractors",
    )
    rows = rows.assign(label=rows["n_attractors"].astype("string").fillna("all"))
    keys = (Field("Attractors", ("label",), align="left"), *_COUNTS)
    grids = [
        Grid.of([*keys, *_measures("verb"), number], rows, f"Verbs of {parsed} against {gold}"),
        Grid.of([*keys, equal, *_measures("equal")], rows, f"With {alike}"),
    ]
    rows = rows.drop(columns="label")
    about = {"analysis": "compare", "gold": gold, "parsed": parsed}
    notes = [
        *_EXAMPLE_NOTES,
        f"{confidence_percent()} intervals are clustered by sentence, because examples of one sentence are "
        "not independent.",
    ]
    return Document(grids, rows, {**about, "rows": rows, "notes": notes}, notes, ())


def _measures(what: str) -> list[Field]:
    fields = []
    for measure in ("precision", "recall"):
        name = f"{measure}_{what}"
        fields += [
            Field(measure.capitalize(), (name,), format_share),
            Field(INTERVAL_HEADING, (f"{name}_low", f"{name}_high"), format_interval),
        ]
    return [*fields, Field("F1", (f"f1_{what}",), format_share)]
