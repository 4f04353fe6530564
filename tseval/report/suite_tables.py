"""Tables of several suites: a block for each suite, after a summary of their means."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from tseval.analysis.intervals import confidence_level, confidence_percent
from tseval.errors import plain
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.groups import stem_of_folder
from tseval.report.layout import in_full, lay_out
from tseval.report.numbers import (
    NONE,
    RUN_DECIMALS,
    format_count,
    format_difference,
    format_interval,
    format_share,
    spread_beside,
)
from tseval.report.opened import INTERVAL
from tseval.report.published import Board
from tseval.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from tseval.runs import Run


@dataclass(frozen=True, slots=True)
class SuiteTables:
    """A document for each suite, in the order of the user's runs, and a summary of all."""

    summary: Document | None
    of_suites: Mapping[str, Document]

    def _repr_html_(self) -> str:
        documents = [*([self.summary] if self.summary else []), *self.of_suites.values()]
        return "".join(document._repr_html_() for document in documents)

    @property
    def records(self) -> pd.DataFrame:
        """The records of all suites for CSV, with `suite` as the first column."""
        return in_full(
            document.records.drop(columns="suite", errors="ignore").pipe(_with_suite, suite)
            for suite, document in self.of_suites.items()
        )

    @property
    def content(self) -> dict[str, object]:
        """The content for JSON: the summary, and `tables`, a list with the content of each suite."""
        tables = [{"suite": suite, **document.content} for suite, document in self.of_suites.items()]
        return {**({"summary": self.summary.content} if self.summary else {}), "tables": tables}


def _with_suite(records: pd.DataFrame, suite: str) -> pd.DataFrame:
    """Return records with the name of their suite as the first column."""
    records = records.copy()
    records.insert(0, "suite", suite)
    return records


Source = TypeVar("Source", "Run", "Run | Board")


def by_suite(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """Group runs and boards by the name of their suite, in order of first appearance."""
    of_suites: dict[str, list[Source]] = {}
    for source in sources:
        of_suites.setdefault(suite_of_source(source), []).append(source)
    return of_suites


def suite_of_source(source: Run | Board) -> str:
    """Return the name of the suite of a run or a board."""
    return source.suite if isinstance(source, Board) else source.manifest.suite.name


def names_across_suites(of_suites: Mapping[str, Sequence[Run | Board]]) -> dict[str, list[str]]:
    """Return the name of each model in the summary, for each suite in the order of the columns.

    A model has the same name on all suites. Different models with one name get the folders of their runs.
    """
    models = {
        suite: [model for source in sources for model in _models_of(source, suite)]
        for suite, sources in of_suites.items()
    }
    # Only if a suite has two runs of a model, such as in two precisions, do folders distinguish them.
    counts = Counter((suite, *model[:2]) for suite, entries in models.items() for model in entries)
    repeated = {key[1:] for key, n in counts.items() if n > 1}
    folder_of: dict[tuple[str, ...], str] = {}
    for *model, folder in (model for entries in models.values() for model in entries):
        folder_of.setdefault((*model, folder) if tuple(model) in repeated else tuple(model), folder)
    shared, n_uses = Counter(key[0] for key in folder_of), Counter[str]()
    names = {}
    for key, folder in folder_of.items():
        name = f"{key[0]} ({folder})" if shared[key[0]] > 1 else key[0]
        n_uses[name] += 1
        names[key] = name if n_uses[name] == 1 else f"{name} #{n_uses[name]}"
    return {
        suite: [names.get(model[:2]) or names[model] for model in entries]
        for suite, entries in models.items()
    }


def _models_of(source: Run | Board, suite: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, weights and folder of each model of a source."""
    if isinstance(source, Board):
        yield from (
            (plain(model.name), f"published in {source.name}", source.name) for model in source.models
        )
        return
    card = source.manifest.model
    yield plain(card.name), card.fingerprint, stem_of_folder(str(source.path or source.name), suite)


def summary_of_tables(
    blocks: Mapping[str, Document | Table], names: Mapping[str, Sequence[str]]
) -> Document | None:
    """Return the mean of each model over the rows of each suite, a row for each suite.

    An analysis without means over rows has no summary.

    Args:
        blocks: The table or the analysis of each suite.
        names: For each suite the names of its models in the summary, in the order of its columns.
    """
    parts = []
    for suite, block in blocks.items():
        means = _means_of_table(block) if isinstance(block, Table) else _means_of_records(block.records)
        of_suite = dict(zip(_headings(block), names[suite], strict=False))
        means["model"] = [of_suite.get(str(model), model) for model in means["model"]]
        means.insert(0, "suite", suite)
        parts.append(means)
    rows = in_full(parts)
    return None if rows.empty else _summary(rows, list(blocks))


def tables_of(
    blocks: Mapping[str, Document | Table], of_suites: Mapping[str, Sequence[Run | Board]]
) -> Document | Table | SuiteTables:
    """Return the block of a single suite unchanged, and those of several suites after a summary.

    Args:
        blocks: The table or the analysis of each suite.
        of_suites: Their runs and boards, in the order of the columns.
    """
    if len(blocks) == 1:
        (block,) = blocks.values()
        return block
    # An analysis has a column for each run; only tables have columns for boards.
    columns = {
        suite: [source for source in of_suites[suite]
                if isinstance(block, Table) or not isinstance(source, Board)]
        for suite, block in blocks.items()
    }  # fmt: skip
    documents = {
        suite: block if isinstance(block, Document) else lay_out(block) for suite, block in blocks.items()
    }
    return SuiteTables(summary_of_tables(blocks, names_across_suites(columns)), documents)


def _headings(block: Document | Table) -> list[str]:
    if isinstance(block, Table):
        return [column.heading for column in block.columns]
    return [name for name, _ in block.signatures]


def _means_of_table(table: Table) -> pd.DataFrame:
    """Return the means over all rows of a table, with their intervals if there are any."""
    mean = table.means[-1]
    rows = [
        {
            "model": column.heading,
            "n_rows": mean.n_rows,
            "accuracy": accuracy,
            "spread": column.spread.get(mean.over),
            "low": None if estimate is None else estimate.low,
            "high": None if estimate is None else estimate.high,
            "decimals": table.decimals,
        }
        for column, accuracy, estimate in zip(table.columns, mean.accuracy, mean.estimates, strict=True)
    ]
    return pd.DataFrame(rows, dtype=object)


def _means_of_records(records: pd.DataFrame) -> pd.DataFrame:
    """Return the means over all rows from the records of an analysis, if it has them."""
    columns = ["model", "n_rows", "accuracy", "difference", "spread", "low", "high"]
    if "training" in records:  # each checkpoint is a column
        clock = records.columns[1]
        names = [f"{name}, {clock} {moment:,}" for name, moment in records[["training", clock]].to_numpy()]
        records = records.assign(model=names)
    rows = records[records["over"].eq("All rows")] if "over" in records else records.iloc[:0]
    return rows.astype(object).reindex(columns=columns).reset_index(drop=True)


def _summary(rows: pd.DataFrame, suites: Sequence[str]) -> Document:
    """Lay out means with a row for each suite and a column for each model."""
    value = "difference" if "difference" in rows and rows["difference"].notna().any() else "accuracy"
    models = list(dict.fromkeys(rows["model"]))
    cells = {(row["suite"], row["model"]): row for row in rows.to_dict("records")}
    fields = [Field("Suite", align="left"), Field("Rows")]
    # Published models have no intervals.
    with_intervals = {row["model"] for row in cells.values() if not pd.isna(row["low"])}
    for model in models:
        fields += [Field(str(model)), *([replace(INTERVAL, joined=True)] if model in with_intervals else [])]
    lines = []
    for suite in suites:
        n_rows = next((row["n_rows"] for (name, _), row in cells.items() if name == suite), None)
        texts = [
            text
            for model in models
            for text in _texts(cells.get((suite, model)), value)[: 2 if model in with_intervals else 1]
        ]
        lines.append(Line((suite, NONE if n_rows is None else format_count(int(n_rows)), *texts)))
    without_means = [suite for suite in suites if not any(name == suite for name, _ in cells)]
    missing = {
        suite: [str(model) for model in models if (suite, model) not in cells]
        for suite in suites
        if suite not in without_means
    }
    title = "Differences of mean accuracies" if value == "difference" else "Mean accuracies"
    notes = [
        f"{title} over the rows of each suite, each row counted once, with {confidence_percent()} intervals; "
        "truncated, not rounded."
    ]
    notes += [
        f"An empty cell: there are no accuracies of {', '.join(names)} on {suite}."
        for suite, names in missing.items()
        if names
    ]
    notes += [f"{suite} has no mean accuracies; its table is below." for suite in without_means]
    if any(pd.isna(row[value]) for row in cells.values()):
        notes.append("A dash: some row of the suite has no value for this model, so there is no mean.")
    rows = rows.drop(columns="decimals", errors="ignore").dropna(axis="columns", how="all")
    content = {
        "analysis": "suites",
        "confidence_level": confidence_level(),
        "suites": list(suites),
        "rows": rows,
        "notes": notes,
    }
    return Document([Grid(fields, lines, "All suites")], rows, content, notes, [])


def _texts(row: Mapping[Hashable, object] | None, value: str) -> tuple[str, str]:
    """Return the text of a mean and of its interval; empty if the model has no run on the suite."""
    if row is None:
        return "", ""
    mean = row[value]
    if pd.isna(mean):  # type: ignore[call-overload]
        return NONE, NONE
    decimals = RUN_DECIMALS if pd.isna(row.get("decimals")) else int(row["decimals"])  # type: ignore[call-overload]
    text = format_difference(float(mean)) if value == "difference" else format_share(mean, decimals)  # type: ignore[arg-type]
    spread, low, high = row.get("spread"), row.get("low"), row.get("high")
    if spread is not None and not pd.isna(spread):  # type: ignore[call-overload]
        text = spread_beside(text, spread if isinstance(spread, str) else format_share(float(spread)))  # type: ignore[arg-type]
    has_interval = low is not None and not pd.isna(low)  # type: ignore[call-overload]
    return text, format_interval((float(low), float(high))) if has_interval else ""  # type: ignore[arg-type]
