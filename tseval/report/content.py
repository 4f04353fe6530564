"""What programs are told of a table: a record for each model and row, means and the ranking."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import COUNTS, ROW, decidable
from tseval.analysis.effects import EFFECT
from tseval.report.document import Field
from tseval.report.shown import difference, interval, share, whole, worth

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tseval.analysis.inference.estimates import Estimate
    from tseval.analysis.means import Mean
    from tseval.report.columns import Column
    from tseval.report.table import Table

WORTH = Field("Worth", ("n_eff",), worth)
# What is told of each row of a run: in csv and json, and, where the run stands alone, to readers too.
OF_A_RUN = (
    Field("Items", ("n_items",), whole),
    WORTH,
    Field("Accuracy", ("accuracy",), share),
    Field("95% interval", ("low", "high"), interval),
    Field("Ties", ("n_tied",), whole),
    Field("Undecidable", ("n_undecidable",), whole),
)
# Likewise, after accuracy, of a run that compares regions.
EFFECTS = (
    Field("Effect (bits)", ("effect",), difference),
    Field("95% interval", ("effect_low", "effect_high"), interval),
)
RECORDED = dict.fromkeys([*COUNTS, *(name for field in OF_A_RUN for name in field.names), "se", "df"])
FACTORS = ["clusters", "fixed"]
SPREAD = "spread"  # of means over seeds alone
OF_RANKS = ("rank", "rank_low", "rank_high")


def records_of(table: Table) -> pd.DataFrame:
    """List the rows of all models, then what people get right.

    Where accuracies are means over seeds, `spread` is the standard deviation between these.
    """
    of_models = [recorded(table, place) for place in range(len(table.columns))]
    of_people = [_recorded_human(table, human) for human in table.humans]
    rows = pd.concat([*of_models, *of_people], ignore_index=True)
    return rows if rows[SPREAD].notna().any() else rows.drop(columns=SPREAD)


def recorded(table: Table, place: int) -> pd.DataFrame:
    """List the rows of a column: counts, accuracy, how sure it is, ranks.

    A published model has no counts but `n_items`.

    Args:
        table: The table.
        place: Which column.
    """
    column = table.columns[place]
    rows = column.rows.astype(object)
    if column.published:
        rows["accuracy"] = _floats(rows["printed"])
        rows[SPREAD] = _floats(rows[SPREAD])
        coverage = None
    else:
        coverage = (decidable(column.rows) / column.rows["n_items"]).astype(object)
    bits = [name for name in EFFECT if name in rows]
    rows = rows.reindex(columns=[*ROW, *table.by, *RECORDED, *bits, *FACTORS, SPREAD])
    ranks = _ranks(table, place)
    for name in OF_RANKS:
        rows[name] = pd.Series([ranks[key][name] for key in column.keys(table.by)], dtype=object)
    rows["coverage"] = coverage
    rows.insert(0, "model", column.heading)
    return rows


def _floats(printed: Iterable[str | None]) -> list[float | None]:
    return [None if value is None else float(value) for value in printed]


def _recorded_human(table: Table, human: Column) -> pd.DataFrame:
    """List what people get right, row by row; of models' records it has the accuracy alone."""
    rows = human.rows.astype(object)
    rows["accuracy"] = [None if value is None else float(value) for value in human.exact(table.by).values()]
    rows = rows.reindex(columns=[*ROW, *table.by, *RECORDED, *FACTORS, SPREAD, *OF_RANKS, "coverage"])
    rows.insert(0, "model", human.heading)
    return rows[rows["accuracy"].notna()]


def human_mean(table: Table, human: Column, over: Mean) -> Fraction | None:
    """Average what people get right over a set of rows; None where one of them is not known."""
    exact = human.exact(table.by)
    keys = table.rows.loc[[*over.rows]].itertuples(index=False, name=None)
    known = [value for key in keys if (value := exact.get(key)) is not None]
    return sum(known, Fraction(0)) / over.n_rows if len(known) == over.n_rows else None


def _ranks(table: Table, place: int) -> dict[tuple[object, ...], dict[str, int | None]]:
    """Give the rank of a model in every row, and between which ranks it may be."""
    of_rows = () if table.ranking is None else table.ranking.of_rows
    ranks = table.ranks[table.columns[place].heading].reindex(table.rows.index)
    found = {}
    for row, key in enumerate(table.rows.itertuples(index=False, name=None)):
        rank = None if pd.isna(ranks.iloc[row]) else int(ranks.iloc[row])
        low, high = (of_rows[row].low[place], of_rows[row].high[place]) if of_rows else (None, None)
        found[key] = {"rank": rank, "rank_low": low, "rank_high": high}
    return found


def content_of(table: Table, rows: pd.DataFrame) -> dict[str, object]:
    """Give what json holds."""
    content: dict[str, object] = {
        "by": table.by,
        "columns": [_about(column) for column in table.columns],
        "rows": rows,
        "means": [_mean(table, mean) for mean in table.means],
        "ranking": _ranking(table),
        "notes": table.notes,
    }
    people = [_about_human(table, human) for human in table.humans]
    return {**content, "humans": people} if people else content


def _about_human(table: Table, human: Column) -> dict[str, object]:
    """Say who is no model among the records, and give the means of their accuracies."""
    means = [{"over": one.over, "accuracy": human_mean(table, human, one)} for one in table.means]
    return {"model": human.heading, "origin": human.origin, "means": means}


def _mean(table: Table, mean: Mean) -> dict[str, object]:
    def of_each(name: str) -> dict[str, object]:
        return _by_model(table, [_known(one, name) for one in mean.estimates])

    spreads = [column.spread.get(mean.over) for column in table.columns]
    known = any(spread is not None for spread in spreads)
    return {
        "over": mean.over,
        "n_rows": mean.n_rows,
        "accuracy": _by_model(table, mean.accuracy),
        **({SPREAD: _by_model(table, _floats(spreads))} if known else {}),
        "rank": _by_model(table, mean.rank),
        "se": of_each("se"),
        "low": of_each("low"),
        "high": of_each("high"),
    }


def _known(estimate: Estimate | None, name: str) -> object:
    return None if estimate is None else getattr(estimate, name)


def _ranking(table: Table) -> dict[str, object] | None:
    """Give ranks by mean accuracy, intervals of mean arithmetic ranks, and who is not told apart."""
    found = table.ranking
    if found is None:
        return None
    headings = [column.heading for column in table.columns]
    return {
        "rank": _by_model(table, [None if rank is None else int(rank) for rank in table.overall]),
        "rank_low": _by_model(table, found.overall.low),
        "rank_high": _by_model(table, found.overall.high),
        "mean_rank_low": _by_model(table, found.low.tolist()),
        "mean_rank_high": _by_model(table, found.high.tolist()),
        "tied": [[headings[model] for model in group] for group in found.overall.tied()],
    }


def _about(column: Column) -> dict[str, object]:
    return {
        "model": column.heading,
        "origin": column.origin,
        "published": column.published,
        "suite": column.suite,
        "suite_digest": column.digest,
        "complete": column.complete,
        "score": column.score,
        "coverage": column.coverage,
        "signature": column.signature,
        "validation_perplexity": column.perplexity,
        "parameters": column.parameters,
    }


def _by_model(table: Table, values: Iterable[object]) -> dict[str, object]:
    """Name the model of each value."""
    return {column.heading: value for column, value in zip(table.columns, values, strict=True)}
