"""The columns of a table: runs, published boards, and human accuracy."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.counts import N_ANSWERS, N_ONES, exact_accuracy
from tseval.analysis.rows import ROW
from tseval.errors import BoardError, RunError, counted, plain
from tseval.report.numbers import spread_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.analysis.correctness import Correctness
    from tseval.formats import Json
    from tseval.report.published import Board
    from tseval.runs import Run
    from tseval.runs.manifest import Manifest


Key = tuple[object, ...]
PRINTED = [*ROW, "n_items", "printed", "spread"]


@dataclass(frozen=True, slots=True)
class Column:
    """A model in a table.

    The rows of a run have the columns of `tseval.analysis.counts.count`. The rows of a published model have
    accuracies as `printed`, and their `spread` if they are means over seeds. A published model has the number
    of decimals to which they are truncated, but no digest and no answers. The attribute `spread` has the
    spread between seeds of the mean over a set of rows.
    """

    heading: str
    origin: str
    suite: str
    score: str
    rows: pd.DataFrame
    decimals: int | None = None
    digest: str | None = None
    complete: bool = True
    signature: str | None = None
    perplexity: str | None = None
    parameters: str | None = None
    n_parameters: int | None = None  # the exact number, if known
    notes: tuple[str, ...] = ()
    too_long: int = 0
    warnings: tuple[str, ...] = ()
    answers: Correctness | None = None
    sample: str | None = None
    inferred: str | None = None
    spread: Mapping[str, str] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether the values are from a paper, not from a run."""
        return self.decimals is not None

    def exact(self, by: Sequence[str]) -> dict[Key, Fraction | None]:
        """Map each row's key to its exact accuracy; None if it has none."""
        if not self.published:
            return dict(zip(self.keys(by), exact_accuracy(self.rows), strict=True))
        texts = self.printed(by).items()
        return {key: None if text is None else Fraction(text) for key, text in texts}

    def ranked_by(self, by: Sequence[str]) -> dict[Key, Fraction | None]:
        """Map each row's key to the value for ranks: the correct share of all its items.

        Undecidable items count as wrong here, so that a model does not gain by not knowing words. For
        published models it is the published accuracy.
        """
        if self.published:
            return self.exact(by)
        shares = zip(self.rows["n_correct"], self.rows["n_items"], strict=True)
        return dict(zip(self.keys(by), (Fraction(int(k), int(n)) for k, n in shares), strict=True))

    @property
    def coverage(self) -> Fraction | None:
        """The decidable share of all contrasts; None for a published model."""
        if self.published:
            return None
        return 1 - Fraction(int(self.rows["n_undecidable"].sum()), int(self.rows["n_items"].sum()))

    @property
    def share_of_1(self) -> Fraction | None:
        """Share of the answer 1 among all answers, 1/2 without a bias; None if there are no answers."""
        if N_ANSWERS not in self.rows or not self.rows[N_ANSWERS].sum():
            return None
        return Fraction(int(self.rows[N_ONES].sum()), int(self.rows[N_ANSWERS].sum()))

    def printed(self, by: Sequence[str]) -> dict[Key, str | None]:
        """Map each row's key to the published accuracy as printed; empty for a run."""
        return dict(zip(self.keys(by), self.rows["printed"], strict=True)) if self.published else {}

    def shown(self, by: Sequence[str]) -> dict[Key, str | None]:
        """Map each row's key to the displayed published accuracy, with its spread if it is a mean."""
        printed = self.printed(by)
        spreads = self.rows["spread"] if printed else ()
        return {
            key: text if text is None or spread is None else spread_beside(text, spread)
            for (key, text), spread in zip(printed.items(), spreads, strict=True)
        }

    def keys(self, by: Sequence[str]) -> list[Key]:
        """Return the keys of the rows, with None for missing values."""
        columns = (self.rows[name].tolist() for name in (*ROW, *by))
        return [tuple(None if pd.isna(cell) else cell for cell in row) for row in zip(*columns, strict=True)]


def column_of(run: Run, by: Sequence[str] = ()) -> Column:
    """Return the column of a run."""
    rows, answers = run.tally(by)
    return replace(description_of(run), rows=rows, answers=answers)


def description_of(run: Run) -> Column:
    """Return the column of a run without any rows."""
    model, suite = run.manifest.model, run.manifest.suite
    perplexity = model.details.get("validation_perplexity")
    core = model.details.get("core_parameters")
    count = model.details.get("parameters") if core is None else core
    return Column(
        heading=plain(heading_of(run.manifest)),
        origin=plain(run.name),
        suite=suite.name,
        score=run.manifest.key.score,
        rows=pd.DataFrame(),
        digest=suite.digest,
        complete=suite.complete,
        signature=run.manifest.signature,
        perplexity=_decimal(perplexity),
        parameters=_millions(count),
        n_parameters=count if isinstance(count, int) and _millions(count) is not None else None,
        notes=()
        if core is None
        else ("Parameters of recurrent models are those of the recurrent layers only.",),
        too_long=run.manifest.counts.too_long,
        warnings=tuple(plain(warning) for warning in run.manifest.warnings),
        sample=suite.sample,
        inferred=suite.inferred,
    )


def heading_of(manifest: Manifest) -> str:
    """Return the printed name of a model, with the context: `lstm after 100 words (same)`."""
    context = manifest.suite.context
    if context is None:
        return manifest.model.name
    return f"{manifest.model.name} after {counted(context.words, 'word')} ({context.source})"


def columns_of(board: Board, by: Sequence[str] = ()) -> list[Column]:
    """Return a column for each model of a board."""
    if by:
        raise BoardError(
            f"{board.name} has published accuracies without single items, so tseval cannot split its rows "
            f"by {by[0]!r}.\n"
            f"  Leave out {board.name}, or leave out --by."
        )
    notes = (f"Published: {board.title}. {board.source}", *board.notes)
    columns = []
    for model in board.models:
        cells = [
            (*row.key, row.n_items, row.accuracy.get(model.name), row.spread.get(model.name))
            for row in board.rows
        ]
        column = replace(
            _printed_column(board, model.name, cells, notes),
            perplexity=model.validation_perplexity,
            parameters=model.parameters,
            spread=model.spread,
        )
        columns.append(column)
    return columns


def _printed_column(
    board: Board, name: str, rows: Sequence[tuple[object, ...]], notes: tuple[str, ...]
) -> Column:
    return Column(
        heading=plain(name),
        origin=plain(board.name),
        suite=board.suite,
        score=board.score,
        rows=pd.DataFrame(rows, columns=PRINTED, dtype=object),
        decimals=board.decimals,
        notes=notes,
    )


def human_of(board: Board) -> Column | None:
    """Return the column of human accuracy, if a board has it; it is shown with models, without ranks."""
    human = board.human
    if human is None:
        return None
    printed = {row.key: row.accuracy for row in human.rows}
    rows = [(*row.key, None, printed.get(row.key), None) for row in board.rows]
    return _printed_column(board, human.name, rows, (f"{human.name}: {human.source}",))


def distinct_headings(columns: Sequence[Column]) -> list[Column]:
    """Return columns with unique headings: equal names get their origin, then a number."""
    shared = Counter(column.heading for column in columns)
    named = [
        replace(column, heading=f"{column.heading} ({column.origin})")
        if shared[column.heading] > 1
        else column
        for column in columns
    ]
    counts: Counter[str] = Counter()
    for i, column in enumerate(named):
        counts[column.heading] += 1
        if counts[column.heading] > 1:
            named[i] = replace(column, heading=f"{column.heading} #{counts[column.heading]}")
    return named


def refuse_unlike(columns: Sequence[Column]) -> None:
    """Raise an error for columns that were not scored on the same items."""
    first = next((column for column in columns if not column.published), columns[0])
    for column in columns:
        if column.suite != first.suite or (column.digest or first.digest) != first.digest:
            raise RunError(
                f"{_described(first)} and {_described(column)} have different items, so one table cannot "
                "compare them.\n"
                "  Score both models on the same suite, with the same options such as --limit."
            )
        if column.published:
            _refuse_other_counts(column, first)


def _refuse_other_counts(published: Column, run: Column) -> None:
    """Check a run against the item counts of a published table; a run with `--limit` fails."""
    counts = dict(zip(published.keys(()), published.rows["n_items"], strict=True))
    for key, n_items in zip(run.keys(()), run.rows["n_items"], strict=True):
        if counts.get(key, n_items) != n_items:
            raise RunError(
                f"{run.origin} has {n_items:,} items in {key[2]!r}, but {published.origin} has "
                f"{counts[key]:,}, so one table cannot compare them.\n"
                f"  Score the whole suite, without --limit, or leave out {published.origin}."
            )


def _described(column: Column) -> str:
    return f"{column.origin} ({column.suite}" + (
        f"@{column.digest[:8]})" if column.digest else ", published)"
    )


def _decimal(value: Json) -> str | None:
    if not isinstance(value, int | float) or _is_endless(value):
        return None
    return f"{value:.2f}"


def _millions(count: Json) -> str | None:
    """Format a number of parameters as papers do: 1402950 as 1.4M."""
    if not isinstance(count, int) or isinstance(count, bool) or _is_endless(count):
        return None
    return f"{count / 1e6:.3g}M" if count >= 1000 else str(count)


def number_of(parameters: str | None) -> int | str | None:
    """Parse a printed number of parameters, such as `0.55M`; other text is returned unchanged."""
    match = re.fullmatch(r"([\d.,]+)\s*([KMB]?)", parameters or "", re.IGNORECASE)
    if match is None:
        return parameters
    try:
        return round(
            float(match[1].replace(",", "")) * {"": 1, "K": 1e3, "M": 1e6, "B": 1e9}[match[2].upper()]
        )
    except ValueError:
        return parameters


def _is_endless(value: float) -> bool:
    """Return whether an integer is too large for a real count, and possibly for a float."""
    return isinstance(value, int) and value.bit_length() > 64


def printed_decimals(columns: Sequence[Column]) -> int | None:
    """Return the decimals that published accuracies are truncated to; None without a published column."""
    return min((column.decimals for column in columns if column.decimals is not None), default=None)
