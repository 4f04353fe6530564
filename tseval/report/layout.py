"""The layout of a table as a document: sections, groups, a line per row, then means and facts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from tseval.analysis.counts import COUNTS, N_ANSWERS, N_HALF_KNOWN, N_ONES, SHARE_OF_1, decidable
from tseval.analysis.inflection import INFLECTED
from tseval.analysis.intervals import confidence_level
from tseval.analysis.measures import EFFECT
from tseval.analysis.rows import ROW, SECTIONS
from tseval.questions.inflection import N_LEMMAS
from tseval.report.columns import number_of
from tseval.report.document import INTERVAL_HEADING, Document, Field, Grid, Line, interval_heading
from tseval.report.notes import is_low
from tseval.report.numbers import (
    NONE,
    format_count,
    format_difference,
    format_interval,
    format_mean_rank,
    format_n_eff,
    format_rank_set,
    format_share,
    spread_beside,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tseval.analysis.comparisons import RowsAndMeans
    from tseval.analysis.means import Mean
    from tseval.report.columns import Column, Key
    from tseval.report.table import Table

    CellsOf = Callable[[Table], list[list[object]]]


RANK_LABEL = "Rank by mean accuracy"
RANK_OF_ONE_ROW = "Rank by accuracy"
MEAN_HEADING = Line(("Mean accuracy, each row counted once",), "section")
EFF_ITEMS = Field("Eff. items", ("n_eff", "fixed"), lambda one: format_n_eff(one[0], fixed=bool(one[1])))
# Columns of each row of a run in CSV and JSON, and also in the printed table of a single run.
OF_A_RUN = (
    Field("Items", ("n_items",), format_count),
    EFF_ITEMS,
    Field("Accuracy", ("accuracy",), format_share),
    Field(INTERVAL_HEADING, ("low", "high"), format_interval),
    Field("Ties", ("n_tied",), format_count),
    Field("Undecidable", ("n_undecidable",), format_count),
)
# The last column, if the model knows one form only of some pairs.
HALF_KNOWN = Field("Half known", (N_HALF_KNOWN,), format_count)
# Columns after accuracy, for a run that compares regions.
EFFECTS = (
    Field("Effect (bits)", ("effect",), format_difference),
    Field(INTERVAL_HEADING, ("effect_low", "effect_high"), format_interval),
)
# The last columns for a prompt model: ties, undecidable pairs, and how often it answered 1.
ASKED = (
    Field("Undecided by order", ("n_tied",), format_count),
    Field("No answer", ("n_undecidable",), format_count),
    Field("Share of answer 1", (SHARE_OF_1,), format_share),
)
# Columns after accuracy, for a run that compares all verbs of a list.
INFLECTION = (
    Field("EW", ("ew",), format_share),
    Field(INTERVAL_HEADING, ("ew_low", "ew_high"), format_interval),
    Field("MW", ("mw",), format_share),
    Field(INTERVAL_HEADING, ("mw_low", "mw_high"), format_interval),
    Field("Lemmas", (N_LEMMAS,), format_count),
)
FACTORS = ["clusters", "fixed"]
_OF_A_ROW = [name for field in OF_A_RUN for name in field.names if name not in FACTORS]
RECORDED = dict.fromkeys([*COUNTS, *_OF_A_ROW, "se", "df"])
SPREAD = "spread"  # only for means over seeds
OF_RANKS = ("rank", "rank_low", "rank_high")


def records_of(table: Table) -> pd.DataFrame:
    """Tabulate the rows of all models, then human accuracies.

    If accuracies are means over seeds, `spread` is the standard deviation between seeds. If a model knows one
    form only of some pairs, `n_half_known` counts these.
    """
    of_models = [recorded(table, index) for index in range(len(table.columns))]
    of_people = [_recorded_human(table, human) for human in table.humans]
    rows = pd.concat([*of_models, *of_people], ignore_index=True)
    rows = rows if rows[N_HALF_KNOWN].fillna(0).any() else rows.drop(columns=N_HALF_KNOWN)
    return rows if rows[SPREAD].notna().any() else rows.drop(columns=SPREAD)


def recorded(table: Table, index: int) -> pd.DataFrame:
    """Tabulate the rows of a column: counts, accuracy with interval, ranks.

    A published model has no counts but `n_items`.
    """
    column = table.columns[index]
    rows = column.rows.astype(object)
    if column.published:
        rows["accuracy"] = _floats(rows["printed"])
        rows[SPREAD] = _floats(rows[SPREAD])
        coverage = None
    else:
        coverage = (decidable(column.rows) / column.rows["n_items"]).astype(object)
        rows[N_HALF_KNOWN] = rows.get(N_HALF_KNOWN, 0)
    optional = (*EFFECT, *INFLECTED, N_LEMMAS, N_ONES, N_ANSWERS, SHARE_OF_1)
    bits = [name for name in optional if name in rows]
    rows = rows.reindex(columns=[*ROW, *table.by, *RECORDED, *bits, N_HALF_KNOWN, *FACTORS, SPREAD])
    ranks = _ranks(table, index)
    for name in OF_RANKS:
        rows[name] = pd.Series([ranks[key][name] for key in column.keys(table.by)], dtype=object)
    rows["coverage"] = coverage
    rows.insert(0, "model", column.heading)
    return rows


def _floats(printed: Iterable[str | None]) -> list[float | None]:
    return [None if value is None else float(value) for value in printed]


def _recorded_human(table: Table, human: Column) -> pd.DataFrame:
    """Tabulate human accuracies, row by row; other columns of models are empty."""
    rows = human.rows.astype(object)
    rows["accuracy"] = [None if value is None else float(value) for value in human.exact(table.by).values()]
    names = [*ROW, *table.by, *RECORDED, N_HALF_KNOWN, *FACTORS, SPREAD, *OF_RANKS, "coverage"]
    rows = rows.reindex(columns=names)
    rows.insert(0, "model", human.heading)
    return rows[rows["accuracy"].notna()]


def human_mean(table: Table, human: Column, over: Mean) -> Fraction | None:
    """Average human accuracies over a set of rows; None if one of them is unknown."""
    exact = human.exact(table.by)
    keys = table.rows.loc[[*over.rows]].itertuples(index=False, name=None)
    values = [value for key in keys if (value := exact.get(key)) is not None]
    return sum(values, Fraction(0)) / over.n_rows if len(values) == over.n_rows else None


def _ranks(table: Table, number: int) -> dict[tuple[object, ...], dict[str, int | None]]:
    """Return the rank of a model in every row, with its best and worst possible rank."""
    of_rows = () if table.ranking is None else table.ranking.of_rows
    ranks = table.ranks[table.columns[number].heading].reindex(table.rows.index)
    ranks_by_key = {}
    for row, key in enumerate(table.rows.itertuples(index=False, name=None)):
        rank = None if pd.isna(ranks.iloc[row]) else int(ranks.iloc[row])
        low, high = (of_rows[row].low[number], of_rows[row].high[number]) if of_rows else (None, None)
        ranks_by_key[key] = {"rank": rank, "rank_low": low, "rank_high": high}
    return ranks_by_key


def content_of(table: Table, rows: pd.DataFrame) -> dict[str, object]:
    """Return the content of the JSON format."""
    content: dict[str, object] = {
        "by": table.by,
        "confidence_level": confidence_level(),
        "columns": [_about(column) for column in table.columns],
        "rows": rows,
        "means": [_mean(table, mean) for mean in table.means],
        "ranking": _ranking(table),
        "notes": table.notes,
    }
    people = [  # humans are not models, so they are listed apart
        {
            "model": human.heading,
            "origin": human.origin,
            "means": [
                {"over": over_rows.over, "accuracy": human_mean(table, human, over_rows)}
                for over_rows in table.means
            ],
        }
        for human in table.humans
    ]
    return {**content, "humans": people} if people else content


def _mean(table: Table, mean: Mean) -> dict[str, object]:
    def of_each(name: str) -> dict[str, object]:
        return _by_model(table, [getattr(of_column, name, None) for of_column in mean.estimates])

    spreads = [column.spread.get(mean.over) for column in table.columns]
    has_spread = any(spread is not None for spread in spreads)
    return {
        "over": mean.over,
        "n_rows": mean.n_rows,
        "accuracy": _by_model(table, mean.accuracy),
        **({SPREAD: _by_model(table, _floats(spreads))} if has_spread else {}),
        "rank": _by_model(table, mean.rank),
        "se": of_each("se"),
        "low": of_each("low"),
        "high": of_each("high"),
    }


def _ranking(table: Table) -> dict[str, object] | None:
    """Return ranks by mean accuracy, intervals of mean ranks, and groups without significant differences."""
    ranked = table.ranking
    if ranked is None:
        return None
    headings = [column.heading for column in table.columns]
    return {
        "rank": _by_model(table, [None if rank is None else int(rank) for rank in table.overall]),
        "rank_low": _by_model(table, ranked.overall.low),
        "rank_high": _by_model(table, ranked.overall.high),
        "mean_rank_low": _by_model(table, ranked.low.tolist()),
        "mean_rank_high": _by_model(table, ranked.high.tolist()),
        "tied": [[headings[model] for model in group] for group in ranked.overall.tied()],
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
        **({"share_of_1": column.share_of_1} if column.share_of_1 is not None else {}),
        "signature": column.signature,
        "validation_perplexity": column.perplexity,
        "parameters": number_of(column.parameters) if column.n_parameters is None else column.n_parameters,
    }


def _by_model(table: Table, values: Iterable[object]) -> dict[str, object]:
    return {column.heading: value for column, value in zip(table.columns, values, strict=True)}


def lay_out(table: Table) -> Document:
    """Return the document of a table.

    A single run has all columns of its rows. Several models have a column of accuracies each, then ranks.
    """
    run = table.columns[0]
    is_single = len(table.columns) == 1 and not run.published
    rows = records_of(table)
    return Document(
        grids=(_single(table, run) if is_single else grid_of_columns(table),),
        records=rows.drop(columns=FACTORS),  # a CSV cell has a single value
        content=content_of(table, rows),
        notes=table.notes,
        signatures=[
            (column.heading, column.signature) for column in table.columns if column.signature is not None
        ],
    )


def row_labels(rows: pd.DataFrame) -> list[str]:
    """Return the label of every row: construction, contrast if it has several, values of features."""
    keys = list(rows.itertuples(index=False, name=None))
    contrasts = Counter(key[:3] for key in {key[:4] for key in keys})
    labels = []
    for dependency, phenomenon, construction, contrast, *values in keys:
        label = str(construction)
        if contrasts[dependency, phenomenon, construction] > 1:
            label += f" ({contrast.replace(' > ', ' vs. ')})"
        features = zip(rows.columns[4:], values, strict=True)
        labels.append(", ".join([label, *(f"{name} {NONE if v is None else v}" for name, v in features)]))
    return labels


def _single(table: Table, run: Column) -> Grid:
    """Return the grid of a single run: all columns of its rows, then its mean accuracies."""
    assert run.keys(table.by) == list(table.rows.itertuples(index=False, name=None))
    # For independent items, the effective sample size is the number of items.
    shown_fields = [field for field in OF_A_RUN if field is not EFF_ITEMS or any(run.rows["clusters"])]
    if EFFECTS[0].names[0] in run.rows:
        shown_fields[-2:-2] = EFFECTS  # before ties
    if INFLECTION[0].names[0] in run.rows:
        shown_fields[-2:-2] = INFLECTION
    if SHARE_OF_1 in run.rows:
        shown_fields[-2:] = ASKED
    if N_HALF_KNOWN in run.rows:
        shown_fields.append(HALF_KNOWN)

    people = [Field(human.heading, show=format_share) for human in table.humans]

    def cells_of(part: Table) -> list[list[object]]:
        rows = part.columns[0].rows.assign(accuracy=part.accuracy[run.heading])
        return [
            *(field.values(rows) for field in shown_fields),
            *(_of_people(part, human) for human in part.humans),
        ]

    lines = [*_body(table, cells_of), MEAN_HEADING]
    for mean in table.means:
        (of_mean,) = mean.estimates
        ends = None if of_mean is None else (of_mean.low, of_mean.high)
        by_field: dict[tuple[str, ...], object] = {("accuracy",): mean.accuracy[0], ("low", "high"): ends}
        if mean is table.means[-1]:
            by_field[SHARE_OF_1,] = run.share_of_1
        of_people = (human_mean(table, human, mean) for human in table.humans)
        cells = (by_field.get(field.names, "") for field in shown_fields)
        lines.append(Line((_over(table, mean.over), *cells, *of_people)))
    return Grid((Field(f"{run.heading} on {run.suite}", align="left"), *shown_fields, *people), lines)


def shows_means(table: Table) -> bool:
    """Return whether a table of several models has means; a board with a single row has none."""
    return not table.of_board or len(table.rows) > 1


def grid_of_columns(table: Table) -> Grid:
    """Return the grid of several models: accuracies, then mean accuracies and mean ranks over sets of rows.

    Without a breakdown it has a line for each row, then two for each of `table.means`, then facts, with
    section and group headings. Human accuracies are columns after the models, for accuracies only.
    """
    show = partial(format_share, decimals=table.decimals)
    fields = [Field(column.heading, show=show) for column in (*table.columns, *table.humans)]

    def cells_of(part: Table) -> list[list[object]]:
        people = (_of_people(part, human) for human in part.humans)
        return [*(_accuracies(part, column) for column in part.columns), *people]

    lines = [*_body(table, cells_of)]
    if shows_means(table):
        lines.append(MEAN_HEADING)
        for mean in table.means:
            of_people = (human_mean(table, human, mean) for human in table.humans)
            lines.append(Line((_over(table, mean.over), *_means(table, mean), *of_people)))
    lines += _ranks_and_facts(table)  # shorter lines, because humans have no ranks
    return Grid((Field(table.columns[0].suite, align="left"), *fields), lines)


def _ranks_and_facts(table: Table) -> Iterator[Line]:
    if shows_means(table):
        yield Line(("Mean rank, 1 is best",), "section")
        *parts, whole_table = table.means
        for mean in parts:
            yield Line((mean.over, *mean.rank), show=format_mean_rank)
        yield Line(("Mean arithmetic rank", *whole_table.rank), show=format_mean_rank)
    else:
        yield Line(("Rank and facts",), "section")
    yield from _ranking_lines(table)
    coverages = [
        None
        if column.coverage is None
        else format_share(column.coverage) + (" (low)" if is_low(column) else "")
        for column in table.columns
    ]
    if any(column.coverage not in (None, 1) for column in table.columns):
        yield Line(("Coverage (share decided)", *coverages))
    shares = [column.share_of_1 for column in table.columns]
    if any(share is not None for share in shares):
        yield Line(("Share of answer 1", *shares))
    perplexities = [column.perplexity or None for column in table.columns]
    parameters = [column.parameters or None for column in table.columns]
    for label, facts in (("Validation perplexity", perplexities), ("Parameters", parameters)):
        if any(facts):
            yield Line((label, *facts))


def _of_people(table: Table, human: Column) -> list[object]:
    exact = human.exact(table.by)
    return [exact.get(key) for key in table.rows.itertuples(index=False, name=None)]


def _ranking_lines(table: Table) -> list[Line]:
    """Return lines with intervals of mean ranks, and with possible ranks by mean accuracy."""
    if table.ranking is None:
        return []
    ranked = table.ranking
    ends = zip(ranked.low.tolist(), ranked.high.tolist(), strict=True)
    sets = zip(table.overall, ranked.overall.low, ranked.overall.high, strict=True)
    ranks = (None if rank is None else format_rank_set(rank, low, high) for rank, low, high in sets)
    if not shows_means(table):
        return [Line((RANK_OF_ONE_ROW, *ranks))]
    return [
        Line((interval_heading(), *ends), show=partial(format_interval, decimals=2)),
        Line((RANK_LABEL, *ranks)),
    ]


def _body(table: Table, cells_of: CellsOf) -> Iterator[Line]:
    """Return the rows with headings; a row that is split is also shown unsplit, before its parts."""
    rows = _lines_of_rows(table, cells_of)
    n_parts = Counter(key for key, _ in rows)
    unsplit_lines = {} if table.unsplit is None else dict(_lines_of_rows(table.unsplit, cells_of))

    lines: list[tuple[Key, Line]] = []
    for key, line in rows:
        whole_row = unsplit_lines.pop(key, None)
        if whole_row is not None and n_parts[key] > 1:
            lines.append((key, whole_row))
        lines.append((key, line))
    return headed(lines)


def headed(lines: Iterable[tuple[Key, Line]]) -> Iterator[Line]:
    """Yield lines with a section heading for each dependency, and a group heading for each phenomenon."""
    section = group = None
    for (dependency, phenomenon, *_), line in lines:
        if dependency != section and dependency is not None:
            yield Line((SECTIONS.get(str(dependency), str(dependency)),), "section")
        if (dependency, phenomenon) != group:
            yield Line((str(phenomenon),), "group")
        section, group = dependency, (dependency, phenomenon)
        yield line


def rows_and_means(
    values: RowsAndMeans[Any],
    cells_of: Callable[[pd.DataFrame, Mapping[Any, pd.DataFrame]], list[list[object]]],
    heading: Line = MEAN_HEADING,
) -> list[Line]:
    """Lay out rows with headings, then the means over sets of rows; `cells_of` gives the cells of a part."""
    rows = values.rows.drop(columns=["accuracy", SPREAD], errors="ignore")
    of_rows, of_means = (cells_of(*part) for part in values.parts)
    lines = map(Line, zip(row_labels(rows), *of_rows, strict=True))
    *parts, n_rows = values.means["n_rows"]
    labels = [*values.means["over"][: len(parts)], _all_rows(n_rows)]
    body = headed(zip(rows.itertuples(index=False, name=None), lines, strict=True))
    return [*body, heading, *map(Line, zip(labels, *of_means, strict=True))]


def labelled(heads: pd.DataFrame, frame: pd.DataFrame, **labels: str | int) -> pd.DataFrame:
    """Return rows with columns of labels first, then the keys of the rows, then their values."""
    rows = heads.join(frame).astype(object)
    for index, (name, label) in enumerate(labels.items()):
        rows.insert(index, name, label)
    return rows


def _all_rows(n_rows: int) -> str:
    return "The one row" if n_rows == 1 else f"All {n_rows} rows"


def in_full(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate frames with different columns; whole numbers stay whole next to missing values."""
    rows = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    return rows.where(rows.notna(), None)


def _lines_of_rows(table: Table, cells_of: CellsOf) -> list[tuple[Key, Line]]:
    keys = table.rows[[*ROW]].itertuples(index=False, name=None)
    columns = zip(row_labels(table.rows), *cells_of(table), strict=True)
    return [(key, Line(cells)) for key, cells in zip(keys, columns, strict=True)]


def _accuracies(table: Table, column: Column) -> list[object]:
    """Return the accuracies of a column; published ones as they were printed."""
    printed = column.shown(table.by)
    keys = table.rows.itertuples(index=False, name=None)
    return [
        printed.get(key) or value for key, value in zip(keys, table.accuracy[column.heading], strict=True)
    ]


def _means(table: Table, mean: Mean) -> list[object]:
    """Return the mean accuracies over a set of rows; means over seeds with their spread."""
    cells: list[object] = []
    for column, value in zip(table.columns, mean.accuracy, strict=True):
        spread = column.spread.get(mean.over)
        text = None if value is None or spread is None else format_share(value, table.decimals)
        cells.append(value if text is None or spread is None else spread_beside(text, spread))
    return cells


def _over(table: Table, over: str) -> str:
    last = table.means[-1]
    return over if over != last.over else _all_rows(last.n_rows)
