"""The influence of single words on results, as tables and panels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.intervals import confidence_percent
from tseval.analysis.robustness import (
    FEWEST_ITEMS,
    ITEMS,
    MOST_ENTRIES,
    Robustness,
    by_factor,
    frequencies,
    robustness,
)
from tseval.analysis.rows import ROW
from tseval.errors import RunError
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.layout import headed, row_labels
from tseval.report.numbers import NONE, NOT_ROUNDED, format_count, format_interval, format_n_eff, format_share
from tseval.report.opened import INTERVAL, RunSet, analysis_document, stacked
from tseval.report.panels import Axis, Panel, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


# The most words of a panel. If there are more, those with the lowest and the highest accuracy are drawn.
MOST_DRAWN = 30
_OF_A_ROW = (
    Field("Items", ("n_items",), format_count),
    Field("Accuracy", ("accuracy",), format_share),
    INTERVAL,
    Field("Eff. items", ("n_eff",), format_n_eff),
    Field("Limited by", ("limit", "share", "n_entries"), lambda one: _limit(*one), "left"),
    Field("Smallest difference", ("smallest_difference",), format_share),
)
_OF_A_FACTOR = (
    Field("Entries", ("n_entries",), format_count),
    Field("Lowest", ("lowest_accuracy", "lowest"), lambda one: f"{format_share(one[0])} {one[1]}", "left"),
    Field("Highest", ("highest_accuracy", "highest"), lambda one: f"{format_share(one[0])} {one[1]}", "left"),
    Field("Without one", ("without_low", "without_high"), format_interval),
    Field("Decided by", ("decides",), lambda words: ", ".join(words) or NONE, "left"),
)
_FREQUENCY = Field("Frequency", ("rho",), lambda rho: f"{rho:+.2f}")
_NOTES = (
    "Eff. items: effective sample size, the number of independent items with the same precision.",
    "Limited by: the factor with the largest share of the variance, or single items.",
    "Smallest difference: the difference between two models that these items detect with 80% power.",
    "Without one: the range of the row's accuracy if one entry is left out.",
    "Decided by: entries without which the interval of the row would move onto or off chance (0.5).",
    f"Fixed: fewer than {FEWEST_LEVELS} entries, so the interval does not generalise beyond these words.",
    "The smallest difference assumes that the models fail at different words; otherwise it is smaller.",
)


def analyse_words(opened: RunSet, counts: Mapping[str, int] | None = None) -> Document:
    """Return the limit of each row and the influence of single words; `counts` are word frequencies."""
    results = {name: robustness(verdicts) for name, verdicts in opened.verdicts.items()}
    if all(result.entries.empty for result in results.values()):
        raise RunError(
            "these runs do not state which words their items share, so tseval cannot analyse single "
            "words.\n"
            "  Score the suite again. For a data set, name the columns with such words: tseval run "
            "--cluster COLUMN"
        )
    if counts is not None:
        for name, result in results.items():
            frequency = frequencies(result.entries["entry"], counts)
            results[name] = replace(result, entries=result.entries.assign(frequency=frequency))
    factors = {name: by_factor(result.entries) for name, result in results.items()}
    grids, notes = [], [_advice(name, result) for name, result in results.items()] + list(_NOTES)
    notes.append(
        f"Accuracies are {NOT_ROUNDED}; {confidence_percent()} intervals are clustered by lexicon entry."
    )
    for name, result in results.items():
        grids += [_rows(f"{name} on {opened.suite}", result), _words(f"Single words, {name}", factors[name])]
    if counts is not None:
        notes.append("Frequency: Spearman's correlation of the accuracy of an entry with its frequency.")
    if n_left_out := max(result.n_passed_over for result in results.values()):
        notes.append(
            f"{format_count(n_left_out)} entries are left out: they have fewer than {FEWEST_ITEMS} items, "
            f"or are not among the {MOST_ENTRIES} largest of their row."
        )
    entries = stacked({name: result.entries for name, result in results.items()})
    document = analysis_document(opened, "robustness", entries, grids, notes)
    limits = stacked({name: result.rows for name, result in results.items()})
    return replace(document, content={**document.content, "limits": limits, "factors": stacked(factors)})


def _rows(title: str, result: Robustness) -> Grid:
    keys = result.rows[[*ROW]].itertuples(index=False, name=None)
    columns = (field.values(result.rows) for field in _OF_A_ROW)
    lines = map(Line, zip(row_labels(result.rows[[*ROW]]), *columns, strict=True))
    return Grid((Field(title, align="left"), *_OF_A_ROW), [*headed(zip(keys, lines, strict=True))])


def _words(title: str, factors: pd.DataFrame) -> Grid:
    fields = _OF_A_FACTOR if factors["rho"].isna().all() else (*_OF_A_FACTOR, _FREQUENCY)
    columns = [field.values(factors) for field in fields]
    lines: list[Line] = []
    # Constructions of different phenomena may have the same name.
    named = zip(factors["phenomenon"], row_labels(factors[list(ROW)]), strict=True)
    labels = [f"{phenomenon}: {label}" for phenomenon, label in named]
    for index, (label, factor, *cells) in enumerate(zip(labels, factors["factor"], *columns, strict=True)):
        if index == 0 or label != labels[index - 1]:
            lines.append(Line((label,), "group"))
        fixed = "" if factors["n_entries"].iloc[index] >= FEWEST_LEVELS else " (fixed)"
        lines.append(Line((f"{factor}{fixed}", *cells)))
    return Grid((Field(title, align="left"), *fields), lines)


def _limit(limit: str | None, part: float, n_entries: int | None) -> str:
    if limit is None or isinstance(limit, float):
        return NONE
    return f"{limit}, {part:.0%}" if limit == ITEMS else f"{limit} ({n_entries} entries), {part:.0%}"


def _advice(name: str, result: Robustness) -> str:
    """Return a note on which items or words would make intervals narrower."""
    limits = result.rows["limit"].dropna().value_counts()
    words = limits.drop(ITEMS, errors="ignore")
    if words.empty:
        return f"{name}: single items limit the intervals, so more items would narrow the intervals."
    rows = ", ".join(f"{factor} in {n}" for factor, n in words.items())
    return (
        f"{name}: words limit the intervals of {words.sum()} of {limits.sum()} rows ({rows}), so add other "
        "words for these factors, not more items of the same words."
    )


def word_panels(analysis: Document) -> list[Panel]:
    """Return panels of accuracy by entry: all factors of a single row, else the factor with most range."""
    entries = analysis.records
    models = list(entries["model"].unique())
    rows = entries.groupby(list(ROW), sort=False, dropna=False)
    labels = row_labels(entries[list(ROW)])
    panels = []
    for _, row in rows:
        label, phenomenon = labels[row.index[0]], row["phenomenon"].iloc[0]
        factors = list(row.groupby("factor", sort=False))
        if len(rows) > 1:
            factors = [max(factors, key=lambda pair: _range_of(pair[1]["accuracy"]))]
        panels += [
            _panel((label, f"{phenomenon}, by {factor}"), rows_of_factor, models)
            for factor, rows_of_factor in factors
        ]
    return panels


def _range_of(values: pd.Series) -> float:
    return float(values.max() - values.min())


def _panel(title: tuple[str, str], entries: pd.DataFrame, models: Sequence[str]) -> Panel:
    """Return a panel of entries, sorted by the first model's accuracy; of too many, both ends."""
    first = entries[entries["model"] == entries["model"].iloc[0]].sort_values("accuracy", kind="stable")
    words = [str(word) for word in first["entry"]]
    if len(words) > MOST_DRAWN:
        title = (title[0], f"{title[1]}: lowest and highest of {len(words)}")
        words = words[: MOST_DRAWN // 2] + words[-(MOST_DRAWN // 2) :]
    drawn = entries[entries["entry"].isin(words)]
    placed = drawn.assign(place=[1 + words.index(str(word)) for word in drawn["entry"]])
    series = lines_of(placed, "place", "accuracy", models)
    return Panel(title[0], series, y=Axis("accuracy", (0, 1)), words=words, subtitle=title[1])
