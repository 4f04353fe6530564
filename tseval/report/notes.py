"""Notes below a table, the most important first."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.intervals import LEVEL, confidence_level, confidence_percent
from tseval.analysis.measures import EFFECT
from tseval.questions.inflection import EW
from tseval.report.columns import Column, printed_decimals
from tseval.report.numbers import RUN_DECIMALS, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from tseval.analysis.ranks import RankSets
    from tseval.report.table import Table


LOW_COVERAGE = Fraction(9, 10)
NATURAL = "text:natural"  # in the signatures of runs whose sentences were written as natural text
FIRST_UNSCORED = "first_token:unscored"  # in the signatures of models without a start symbol


def notes_of(table: Table) -> Iterator[str]:
    """Yield notes that are necessary to understand a table, one sentence each, most important first."""
    columns = table.columns
    runs = [column for column in columns if not column.published]
    if not all(column.complete for column in columns):
        yield "Only a part of the suite was scored: these are not results on the whole suite."
    yield from dict.fromkeys(sample_note(column.sample) for column in columns if column.sample)
    if len({column.score for column in columns}) > 1:
        modes = ", ".join(f"{column.heading}: {column.score}" for column in columns)
        yield f"The columns are scored by different methods ({modes}), so ranks do not compare models alone."
    yield from forms_note(runs)
    for column in runs:
        yield from _coverage(column)
        yield from _counted(column, alone=len(columns) == 1)
    if len(columns) == 1 or table.ranking is not None:  # tables with published models have no intervals
        yield from _intervals(runs)
    if len(columns) == 1 and any(any(run.rows["clusters"]) for run in runs):
        yield "Eff. items: effective sample size, the number of independent items with the same precision."
    if len(columns) == 1 and EFFECT[0] in columns[0].rows:
        yield (
            "Effect: in bits, mean over items of the surprisal that a prediction expects to be higher, minus "
            "the one that it expects to be lower."
        )
    if len(columns) == 1 and EW in columns[0].rows:
        yield (
            "EW: share of the lemmas whose right form is more probable. MW: share of the probability of all "
            "their forms that right forms have. Both: mean over contexts; intervals generalise to other "
            "words in the contexts and to other lemmas."
        )
    yield from _ranks(table, runs)
    yield from _left_out(table)
    if table.unsplit is not None and len(table.unsplit.rows) < len(table.rows):
        yield "Means and ranks count each part of a row, not whole rows."
    yield from _digits(table, runs)
    # The table of a single run does not print the facts that these notes explain.
    noted = (*columns, *table.humans) if len(columns) > 1 or not runs else table.humans
    yield from dict.fromkeys(note for column in noted for note in column.notes)


def forms_note(runs: Sequence[Column]) -> Iterator[str]:
    """Yield a note on the runs that read natural text, if other runs did not."""
    natural = [run.heading for run in runs if NATURAL in (run.signature or "").split("|")]
    if tokens := [run.heading for run in runs if natural and run.heading not in natural]:
        yield (
            f"{', '.join(natural)} read natural text and {', '.join(tokens)} read tokens, so differences may "
            "come from the form of the text."
        )


def sample_note(sample: str) -> str:
    """Return a note on how a sample of items was drawn, in the words of the manifest."""
    return f"The items are a random sample: {sample}."


def _digits(table: Table, runs: Sequence[Column]) -> Iterator[str]:
    if len(table.columns) > len(runs) > 0:
        decimals = printed_decimals(table.columns)
        yield (
            f"Published accuracies have {decimals} decimals, so accuracies of runs are truncated, not "
            f"rounded, to {decimals} decimals before ranking."
        )
    elif runs:
        ranked = "; ranks use exact counts" if len(runs) > 1 else ""
        yield f"Accuracies are truncated, not rounded, to {RUN_DECIMALS} decimals{ranked}."


def _counted(run: Column, *, alone: bool) -> Iterator[str]:
    """Yield notes on how ties and undecidable items are counted."""
    n_items, n_tied, undecidable = (
        int(run.rows[name].sum()) for name in ("n_items", "n_tied", "n_undecidable")
    )
    ranked = "" if alone or not undecidable else ", wrong in ranks"
    if run.share_of_1 is not None:
        yield (
            f"{run.heading}: {n_tied:,} of {n_items:,} pairs are undecided by order (counted as wrong), "
            f"{undecidable:,} have no answer (not counted in accuracy{ranked})."
        )
        yield (
            f"{run.heading}: {format_share(run.share_of_1)} of the answers are 1. Without a preference for a "
            "position the share is 0.5."
        )
    elif n_tied or undecidable:
        yield (
            f"{run.heading}: {n_tied:,} of {n_items:,} contrasts are ties (counted as wrong), "
            f"{undecidable:,} are undecidable (not counted in accuracy{ranked})."
        )
    if run.too_long:
        reason = "have a sentence longer than the model's context"
        yield f"{run.heading}: {run.too_long:,} of the undecidable contrasts {reason}."
    yield from (f"{run.heading}: {warning.rstrip('.')}." for warning in run.warnings)


def _coverage(run: Column) -> Iterator[str]:
    """Yield a warning for a model with a low share of decidable contrasts."""
    if not is_low(run):
        return
    percent = floor(100 * (run.coverage or Fraction(0)))
    low = f"{run.heading}: low coverage, only {percent}% of the contrasts can be decided"
    if FIRST_UNSCORED in (run.signature or ""):
        yield f"{low}: first tokens are not scored without a start token (--model-args bos=TOKEN)."
    else:
        yield f"{low}: do not compare its accuracy with models that decide more."


def is_low(column: Column) -> bool:
    """Return whether a model decides so few contrasts that its accuracies say little."""
    return column.coverage is not None and column.coverage < LOW_COVERAGE


def _intervals(runs: Sequence[Column]) -> Iterator[str]:
    """Yield notes on the clusters of intervals, and on runs without clusters."""
    drawn = dict.fromkeys(name for run in runs for of_row in run.rows["clusters"] for name in of_row)
    fixed = dict.fromkeys(name for run in runs for of_row in run.rows["fixed"] for name in of_row)
    if drawn:
        yield (
            f"{_intervals_at_level()} generalise to other words of the same kind (clustered by lexicon "
            f"entry: {', '.join(drawn)})."
        )
    yield from inferred_note(run.inferred for run in runs)
    yield from uneven_note(run.rows for run in runs)
    if fixed:
        mark = "† " if len(runs) == 1 and drawn else ""  # without random factors, nothing is marked
        yield (
            f"{mark}Fewer than {FEWEST_LEVELS} different entries in a row ({', '.join(fixed)}): the interval "
            "does not generalise beyond these words."
        )
    unknown = [run for run in runs if run.answers is not None and not run.answers.factors.names]
    if unknown:
        prefix = "" if len(runs) == 1 else f"{', '.join(run.heading for run in unknown)}: "
        yield (
            f"{prefix}the run names no lexical factors, so its intervals treat items as independent, and are "
            "too narrow if items share words."
        )


def inferred_note(factors: Iterable[str | None]) -> Iterator[str]:
    """Yield a note on an inferred factor, and on how to switch it off."""
    for name in dict.fromkeys(name for name in factors if name):
        yield (
            f"The data name no lexical factors, so items whose sentences differ in the same words form one "
            f"cluster ({name}); --cluster none treats items as independent."
        )


def _intervals_at_level() -> str:
    """Return the first words of a note on intervals, with the level if it is not the default."""
    return "Intervals" if confidence_level() == LEVEL else f"{confidence_percent()} intervals"


def measured_at_default(note: str) -> str:
    """Add the default level to a note on error rates simulated at it, if another level is used."""
    return note if confidence_level() == LEVEL else f"At {LEVEL:.0%} confidence, {note[0].lower()}{note[1:]}"


def uneven_note(frames: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Yield a note on error rates if few entries dominate a factor, which reduces degrees of freedom."""
    present = (frame[["df", "clusters"]].dropna() for frame in frames if "df" in frame)
    rows = (row for known_rows in present for row in known_rows.itertuples(index=False, name=None))
    if any(levels and df < (min(levels.values()) - 1) / 2 for df, levels in rows):
        yield measured_at_default(
            "Few words have most of the items of a row, so error rates may be 7% instead of 5%, mainly near "
            "accuracies of 0.05 and 0.9."
        )


def _ranks(table: Table, runs: Sequence[Column]) -> Iterator[str]:
    """Yield notes on the ranks in brackets and on similar models, or on why there are no intervals."""
    if table.ranking is None:
        if runs and len(table.columns) > 1:
            reason = "published accuracies do not say which items were right"
            if len(runs) == len(table.columns):
                reason = "the runs have different numbers of contexts for each item"
            yield f"Ranks have no intervals, because {reason}."
        return
    yield (
        f"In brackets: the possible ranks of each model, with {confidence_percent()} confidence for all "
        "models together."
    )
    if not table.of_board or len(table.rows) > 1:
        yield (
            "Intervals of mean ranks are reliable only if models are far apart; ranks in brackets always are."
        )
    yield from indistinct_models(table.ranking.overall, [column.heading for column in table.columns])


MOST_GROUPS = 20


def indistinct_models(ranks: RankSets, names: Sequence[str]) -> Iterator[str]:
    """Yield a note on models without significant differences; for too many groups, only their number."""
    groups = [", ".join(names[index] for index in group) for group in ranks.tied()]
    if len(groups) > MOST_GROUPS:
        yield f"No clear difference in mean accuracy within {len(groups)} groups: see the ranks in brackets."
    elif groups:
        yield f"No clear difference in mean accuracy: {'; '.join(groups)}."


def _left_out(table: Table) -> Iterator[str]:
    n_all, n_rows = len(table.rows), len(table.ranks)
    if n_rows < n_all:
        yield f"{n_all - n_rows} of {n_all} rows have a missing value, and do not count in means and ranks."
    accuracy = table.accuracy.loc[table.ranks.index]
    for column in table.columns:
        n_missing = sum(value is None for value in accuracy[column.heading])
        if n_missing and table.ranks[column.heading].isna().any():
            yield f"{column.heading}: no value in {n_missing} of {n_rows} rows, so no mean and no mean rank."
        elif n_missing:
            yield f"{column.heading}: no decidable item in {n_missing} of {n_rows} rows, so no mean accuracy."
