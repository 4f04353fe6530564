"""The notes below a table: what a reader must know to read its numbers right."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tseval.analysis.effects import EFFECT
from tseval.analysis.inference.factors import FEWEST_LEVELS
from tseval.report.columns import printed_decimals
from tseval.report.shown import RUN_DECIMALS, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.analysis.inference.rank_sets import RankSets
    from tseval.report.columns import Column
    from tseval.report.table import Table

LOW_COVERAGE = Fraction(9, 10)


def notes_of(table: Table) -> Iterator[str]:
    """Say what a reader must know, one sentence or two each."""
    columns = table.columns
    runs = [column for column in columns if not column.published]
    yield from _digits(table, runs)
    for column in runs:
        yield from _counted(column, alone=len(columns) == 1)
    if len(columns) == 1 and EFFECT[0] in columns[0].rows:
        yield (
            "Effect: the mean over items of what a prediction says is greater less what it says is smaller, "
            "in bits of surprisal."
        )
    if len(columns) == 1 or table.ranking is not None:  # beside a board none is printed
        yield from _intervals(runs)
    yield from _ranks(table, runs)
    if table.unsplit is not None and len(table.unsplit.rows) < len(table.rows):
        yield "Means and ranks are over the parts of rows, not over whole rows."
    yield from _left_out(table)
    if not all(column.complete for column in columns):
        yield "Only a part of the suite was scored: these are not results on the suite."
    yield from dict.fromkeys(drawn_note(column.sample) for column in columns if column.sample)
    if len({column.score for column in columns}) > 1:
        modes = ", ".join(f"{column.heading}: {column.score}" for column in columns)
        yield f"The columns are scored in different ways ({modes}), so ranks do not compare models alone."
    # A run alone prints none of the facts that notes of models explain.
    told = (*columns, *table.humans) if len(columns) > 1 or not runs else table.humans
    yield from dict.fromkeys(note for column in told for note in column.notes)


def drawn_note(sample: str) -> str:
    """Say how the items of a part were drawn, as the manifest has it."""
    return f"Items were drawn at random: {sample}."


def _digits(table: Table, runs: Sequence[Column]) -> Iterator[str]:
    if len(table.columns) > len(runs) > 0:
        decimals = printed_decimals(table.columns)
        yield (
            f"Published accuracies are cut to {decimals} decimals, so those of the runs are cut alike, "
            "not rounded, before they are ranked."
        )
    elif runs:
        ranked = "; ranks compare exact counts" if len(runs) > 1 else ""
        yield f"Accuracies are cut to {RUN_DECIMALS} decimals, not rounded{ranked}."


def _counted(run: Column, *, alone: bool) -> Iterator[str]:
    """Say how the verdicts of a run are counted that are neither right nor wrong."""
    n_items, tied, undecidable = (
        int(run.rows[name].sum()) for name in ("n_items", "n_tied", "n_undecidable")
    )
    if tied or undecidable:
        ranked = "" if alone or not undecidable else " and wrong in ranks"
        yield (
            f"{run.heading}: of {n_items:,} contrasts {tied:,} are ties, counted as wrong, and "
            f"{undecidable:,} are undecidable, left out of accuracy{ranked}."
        )
    if run.too_long:
        longer = "have a sentence longer than the model reads"
        yield f"{run.heading}: {run.too_long:,} of the undecidable {longer}."
    if is_low(run):
        yield (
            f"{run.heading}: low coverage. It decides only {share(run.coverage or Fraction(0))} of the "
            "contrasts, so its accuracies are over other items than those of models that know the words."
        )
    yield from (f"{run.heading}: {warning.rstrip('.')}." for warning in run.warnings)


def is_low(column: Column) -> bool:
    """Tell whether a model decides so little that its accuracies say little."""
    return column.coverage is not None and column.coverage < LOW_COVERAGE


def _intervals(runs: Sequence[Column]) -> Iterator[str]:
    """Say what intervals are clustered by, and of which runs they are not."""
    drawn = dict.fromkeys(name for run in runs for of_row in run.rows["clusters"] for name in of_row)
    fixed = dict.fromkeys(name for run in runs for of_row in run.rows["fixed"] for name in of_row)
    if drawn:
        yield (
            "Intervals are for other words of the same kind: items are clustered by lexicon entry "
            f"({', '.join(drawn)})."
        )
    if fixed:
        yield (f"Not drawn but fixed, with fewer than {FEWEST_LEVELS} entries in a row: {', '.join(fixed)}.")
    unknown = [run for run in runs if run.answers is not None and not run.answers.factors.names]
    if unknown:
        of = "" if len(runs) == 1 else f"{', '.join(run.heading for run in unknown)}: "
        yield (
            f"{of}items independent, as the run names no lexical factors; where items share words, its "
            "intervals are too narrow."
        )


def _ranks(table: Table, runs: Sequence[Column]) -> Iterator[str]:
    """Say what the ranks in brackets are, which models they do not tell apart, or why there are none."""
    if table.ranking is None:
        if runs and len(table.columns) > 1:
            yield "Ranks have no intervals: of published accuracies it is not known which items were right."
        return
    yield ("In brackets: the ranks that the models may have, all of them right together with 95% confidence.")
    yield from not_told_apart(table.ranking.overall, [column.heading for column in table.columns])


def not_told_apart(ranks: RankSets, names: Sequence[str]) -> Iterator[str]:
    """Say which models are not told apart, if any."""
    if groups := [", ".join(names[place] for place in group) for group in ranks.tied()]:
        yield f"Not told apart by their mean accuracies: {'; '.join(groups)}."


def _left_out(table: Table) -> Iterator[str]:
    """Say which rows are left out of means and ranks, and which models have none of their own."""
    n_all, n_rows = len(table.rows), len(table.ranks)
    if n_rows < n_all:
        yield f"{n_all - n_rows} of {n_all} rows lack a value and are left out of means and ranks."
    accuracy = table.accuracy.loc[table.ranks.index]
    for column in table.columns:
        lacking = sum(value is None for value in accuracy[column.heading])
        if lacking and table.ranks[column.heading].isna().any():
            yield f"{column.heading}: no value in {lacking} of {n_rows} rows, so no mean and no mean rank."
        elif lacking:
            yield f"{column.heading}: nothing decidable in {lacking} of {n_rows} rows, so no mean accuracy."
