"""What people get right, read from a small table, to stand beside models."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.accuracy import (
    ROW,
    as_names,
    cut,
    estimate_means,
    exact_accuracy,
    in_table_order,
    mean,
    means,
    rank_models,
    rank_rows,
)
from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.effects import EFFECT
from tseval.boards.printed import (
    MOST_DECIMALS,
    Human,
    RowKey,
    check_decimals,
    check_printed,
    check_printed_rows,
)
from tseval.errors import BoardError, RunError, SuiteError, plain, reason, suggest
from tseval.formats import ContentError, checked, is_count, read_json, read_table
from tseval.report.document import RUN_DECIMALS, share, spread_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.analysis.accuracy import Answers, Mean, Ranking
    from tseval.analysis.differences import RankSets
    from tseval.formats import Json
    from tseval.runs import Run


Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A model in a table.

    Attributes:
        heading: Name of the model, plain text, made distinct where two models share it.
        origin: Name of the run's directory or of the board, plain text.
        suite: Name of the suite.
        score: `sentence`, `critical`, `ending` or `mean`.
        rows: One row per row of the table: `dependency`, `phenomenon`, `construction`, `contrast`,
            features, `n_items`; for a run all that `tseval.analysis.accuracy.count` gives; for a published
            model `printed`, and the `spread` between seeds where it is a mean over several.
        decimals: Decimals a published accuracy is cut to; None for a run.
        digest: The suite's digest; None for a published model.
        complete: Whether the whole suite was scored.
        signature: The run's signature; None for a published model.
        perplexity: Validation perplexity as printed, None where it is not known.
        parameters: Number of parameters as printed, None where it is not known.
        notes: What a reader must know about this column.
        too_long: Contrasts that are undecidable because the model does not read sentences of such length.
        warnings: What a run says of how its numbers came about.
        answers: What a run got right, item by item, over `rows`; None for a published model.
        sample: How the items of a part were drawn, where they were.
        spread: Of a published mean over seeds, a set of rows to the spread between seeds of its mean.
    """

    heading: str
    origin: str
    suite: str
    score: str
    rows: pd.DataFrame
    decimals: int | None
    digest: str | None
    complete: bool
    signature: str | None
    perplexity: str | None
    parameters: str | None
    notes: tuple[str, ...] = ()
    too_long: int = 0
    warnings: tuple[str, ...] = ()
    answers: Answers | None = None
    sample: str | None = None
    spread: Mapping[str, str] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether the values stand in a paper rather than in a run."""
        return self.decimals is not None

    def exact(self, by: Sequence[str]) -> dict[Key, Fraction | None]:
        """Map each row's key to its exact accuracy, None where there is none."""
        values = self._printed_values() if self.published else exact_accuracy(self.rows)
        return dict(zip(self.keys(by), values, strict=True))

    def ranked_by(self, by: Sequence[str]) -> dict[Key, Fraction | None]:
        """Map each row's key to what it is ranked by: the correct share of all its items.

        Undecidable items are wrong here, so that no model gains by not knowing words. What a paper counts
        stands in its accuracies.
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

    def printed(self, by: Sequence[str]) -> dict[Key, str | None]:
        """Map each row's key to the published accuracy as printed; empty for a run."""
        return dict(zip(self.keys(by), self.rows["printed"], strict=True)) if self.published else {}

    def _printed_values(self) -> list[Fraction | None]:
        return [None if text is None else Fraction(text) for text in self.rows["printed"]]

    def shown(self, by: Sequence[str]) -> dict[Key, str | None]:
        """Map each row's key to what readers see of a published accuracy; of a mean, with its spread."""
        printed = self.printed(by)
        spreads = self.rows["spread"] if printed else ()
        return {
            key: text if text is None or spread is None else spread_beside(text, spread)
            for (key, text), spread in zip(printed.items(), spreads, strict=True)
        }

    def keys(self, by: Sequence[str]) -> list[Key]:
        """Identify the rows, missing values as None."""
        columns = (self.rows[name].tolist() for name in (*ROW, *by))
        return [tuple(None if pd.isna(cell) else cell for cell in row) for row in zip(*columns, strict=True)]


def column_of(run: Run, by: Sequence[str] = ()) -> Column:
    """Make a column from a run.

    Raises:
        SuiteError: The run's suite has no such feature, or its sentences have ratings, and no accuracy.
    """
    rows, answers = run.tally(by)
    return replace(description_of(run), rows=rows, answers=answers)


def description_of(run: Run) -> Column:
    """Make the column of a run without any rows."""
    model, suite = run.manifest.model, run.manifest.suite
    perplexity = model.details.get("validation_perplexity")
    core = model.details.get("core_parameters")
    return Column(
        heading=plain(model.name),
        origin=plain(run.name),
        suite=suite.name,
        score=run.manifest.key.score,
        rows=pd.DataFrame(),
        decimals=None,
        digest=suite.digest,
        complete=suite.complete,
        signature=run.manifest.signature,
        perplexity=_decimal(perplexity),
        parameters=_millions(model.details.get("parameters") if core is None else core),
        notes=() if core is None else ("Parameters of recurrent models count the recurrent core only.",),
        too_long=run.manifest.counts.too_long,
        warnings=tuple(plain(warning) for warning in run.manifest.warnings),
        sample=suite.sample,
    )


def columns_of(board: Board, by: Sequence[str] = ()) -> list[Column]:
    """Make a column from each model of a board.

    Raises:
        BoardError: A breakdown is asked for; a board has no items to break down.
    """
    if by:
        raise BoardError(
            f"{board.name} is a published board: it has rows but no items, so it cannot be broken down "
            f"by {by[0]!r}.\n  Leave out the board, or --by."
        )
    return [
        Column(
            heading=plain(model.name),
            origin=plain(board.name),
            suite=board.suite,
            score=board.score,
            rows=pd.DataFrame(
                [
                    (
                        *(getattr(row, name) for name in ROW),
                        row.n_items,
                        row.accuracy.get(model.name),
                        row.spread.get(model.name),
                    )
                    for row in board.rows
                ],
                columns=[*ROW, "n_items", "printed", "spread"],
                dtype=object,
            ),
            decimals=board.decimals,
            digest=None,
            complete=True,
            signature=None,
            perplexity=model.validation_perplexity,
            parameters=model.parameters,
            notes=(f"Published: {board.title}. {board.source}", *board.notes),
            spread=model.spread,
        )
        for model in board.models
    ]


def human_of(board: Board) -> Column | None:
    """Make a column of what people get right, if a board has it: it stands beside models, without ranks."""
    human = board.human
    if human is None:
        return None
    printed = {row.key: row.accuracy for row in human.rows}
    rows = [(*row.key, None, printed.get(row.key), None) for row in board.rows]
    return Column(
        heading=plain(human.name),
        origin=plain(board.name),
        suite=board.suite,
        score=board.score,
        rows=pd.DataFrame(rows, columns=[*ROW, "n_items", "printed", "spread"], dtype=object),
        decimals=board.decimals,
        digest=None,
        complete=True,
        signature=None,
        perplexity=None,
        parameters=None,
        notes=(f"{human.name}: {human.source}",),
    )


def distinct_headings(columns: Sequence[Column]) -> list[Column]:
    """Give every column a heading of its own: equal names get their origin, then a number."""
    shared = Counter(column.heading for column in columns)
    named = [
        replace(column, heading=f"{column.heading} ({column.origin})")
        if shared[column.heading] > 1
        else column
        for column in columns
    ]
    seen: Counter[str] = Counter()
    for i, column in enumerate(named):
        seen[column.heading] += 1
        if seen[column.heading] > 1:
            named[i] = replace(column, heading=f"{column.heading} #{seen[column.heading]}")
    return named


def refuse_unlike(columns: Sequence[Column]) -> None:
    """Refuse columns that were not scored on the same items: their rows mean different things.

    Raises:
        RunError: Names both columns and what differs.
    """
    first = next((column for column in columns if not column.published), columns[0])
    for column in columns:
        if column.suite != first.suite or (column.digest or first.digest) != first.digest:
            raise RunError(
                f"{_described(first)} and {_described(column)} are over different items, so one table "
                "cannot hold both.\n  Score both on the same suite with the same --limit or none."
            )
        if column.published:
            _refuse_other_counts(column, first)


def _refuse_other_counts(published: Column, run: Column) -> None:
    """Hold a run to the item counts behind a published table; a `--limit` fails here."""
    counts = dict(zip(published.keys(()), published.rows["n_items"], strict=True))
    for key, n_items in zip(run.keys(()), run.rows["n_items"], strict=True):
        if counts.get(key, n_items) != n_items:
            raise RunError(
                f"{run.origin} has {n_items:,} items in {key[2]!r} where {published.origin} has "
                f"{counts[key]:,}, so one table cannot hold both.\n"
                "  Score the whole suite, without --limit, or leave out the board."
            )


def _described(column: Column) -> str:
    return f"{column.origin} ({column.suite}" + (
        f"@{column.digest[:8]})" if column.digest else ", published)"
    )


def _decimal(value: Json) -> str | None:
    """Print a perplexity, where a manifest has one."""
    if not isinstance(value, int | float) or _is_endless(value):
        return None
    return f"{value:.2f}"


def _millions(count: Json) -> str | None:
    """Print a number of parameters as papers do: 1402950 as 1.4M."""
    if not isinstance(count, int) or isinstance(count, bool) or _is_endless(count):
        return None
    return f"{count / 1e6:.3g}M" if count >= 1000 else str(count)


def _is_endless(value: float) -> bool:
    """Tell a whole number that is no measure of anything, and that no float can hold."""
    return isinstance(value, int) and value.bit_length() > 64


def printed_decimals(columns: Sequence[Column]) -> int | None:
    """Give the decimals that published accuracies are cut to, None without a published column."""
    return min((column.decimals for column in columns if column.decimals is not None), default=None)


def feature_means(
    rows: pd.DataFrame, accuracy: pd.DataFrame, ranked: pd.DataFrame, by: Sequence[str]
) -> Iterator[Mean]:
    """Average the rows that have one value of a feature, each row counting once, as all means do.

    A feature that has one value only is left out, as its mean is the mean over all rows.

    Args:
        rows: The table's rows, with the features; missing where the items lack one.
        accuracy: One row per table row, one column per model, `Fraction` or None.
        ranked: What models are ranked by, likewise.
        by: The features. With several, the mean for a value of one is over all values of the others.
    """
    for name in by:
        values = rows[name].dropna().sort_values().unique()
        for value in values if len(values) > 1 else ():
            own = rows.index[rows[name] == value]
            *_, whole = means(rows.loc[own], accuracy.loc[own], ranked.loc[own])
            yield replace(whole, over=f"{name} {value}")


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


BOARD_FORMAT = 1
BUNDLED_BOARDS = Path(__file__).parents[1] / "leaderboards"


@dataclass(frozen=True, slots=True)
class BoardModel:
    """A model of the board; perplexity and parameters as printed, None where the paper gives none.

    For a mean over seeds, `spread` maps a set of rows (`All rows`) to the standard deviation between seeds of
    the mean over it, as printed.
    """

    name: str
    validation_perplexity: str | None = None
    parameters: str | None = None
    spread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row of the published table.

    Attributes:
        dependency: `short`, `long` or None.
        phenomenon: As the suite names it.
        construction: As the suite names it.
        contrast: `grammatical > intrusive`, for example.
        n_items: Number of items behind the row.
        accuracy: Model name to the fraction as printed; a model without a value is absent.
        spread: Name of each model whose accuracy is a mean over seeds to the standard deviation between them,
            as printed.
    """

    dependency: str | None
    phenomenon: str
    construction: str
    contrast: str
    n_items: int
    accuracy: Mapping[str, str]
    spread: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> RowKey:
        """What tells the row from others."""
        return self.dependency, self.phenomenon, self.construction, self.contrast


@dataclass(frozen=True, slots=True)
class Board:
    """A published table.

    Attributes:
        name: Short name, the folder's.
        title: As a reader would cite it.
        source: Full reference.
        suite: Name of the suite the models were scored on.
        score: How sentences were scored: `sentence`, `critical`, `ending` or `mean`.
        decimals: Decimals the accuracies are cut to (not rounded).
        models: In the order of the columns.
        rows: In the order of the table.
        notes: What a reader must know about the printed values.
        human: What people get right, where it is known.
    """

    name: str
    title: str
    source: str
    suite: str
    score: str
    decimals: int
    models: tuple[BoardModel, ...]
    rows: tuple[BoardRow, ...]
    notes: tuple[str, ...]
    human: Human | None = None


def bundled_boards() -> list[str]:
    """Name the boards that come with tseval."""
    return sorted(path.parent.name for path in BUNDLED_BOARDS.glob("*/board.json"))


def read_board(path: Path) -> Board:
    """Read a board's file, or the `board.json` of a folder.

    Raises:
        BoardError: The file cannot be read or does not hold a board; names file and field.
    """
    file = path / "board.json" if path.is_dir() else path
    try:
        content = read_json(file)
        version = checked(content, _Version).format
        if version != BOARD_FORMAT:
            raise ContentError(f"is {version}, but this tseval reads format {BOARD_FORMAT}", "format")
        board = checked(content, Board)
        _check_texts(board)
        _check_models(board)
        _check_rows(board)
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return board


@dataclass(frozen=True, slots=True)
class _Version:
    format: int


def board_text(board: Board) -> str:
    """Give the text of `board.json`."""
    content = asdict(board)
    for part in (*content["models"], *content["rows"]):
        if not part["spread"]:  # of one seed there is none
            del part["spread"]
    if board.human is None:
        del content["human"]
    return json.dumps({"format": BOARD_FORMAT, **content}, indent=1) + "\n"


def _check_texts(board: Board) -> None:
    """Refuse half a character: JSON can write one, and no table can hold it."""
    try:
        json.dumps(asdict(board), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ContentError("has half a character in a text", "the file") from None


def _check_models(board: Board) -> None:
    check_decimals(board.decimals)
    for i, model in enumerate(board.models):
        for over, printed in model.spread.items():
            check_printed(printed, board.decimals, f"models[{i}].spread.{over}")
    names = {model.name for model in board.models}
    if not names or len(names) < len(board.models):
        raise ContentError("should name each model once, and at least one", "models")


def _check_rows(board: Board) -> None:
    models = {model.name for model in board.models}
    seen = set()
    for i, row in enumerate(board.rows):
        for what, values in (("accuracy", row.accuracy), ("spread", row.spread)):
            for name, printed in values.items():
                where = f"rows[{i}].{what}.{name}"
                if name not in models:
                    raise ContentError("is not one of the board's models", where)
                check_printed(printed, board.decimals, where)
        if row.key in seen:
            raise ContentError("repeats an earlier row", f"rows[{i}]")
        seen.add(row.key)
    if board.human is not None:
        check_printed_rows(board.human.rows, seen, MOST_DECIMALS, "human.rows")


@dataclass(frozen=True, slots=True)
class Table:
    """Models side by side, ready to print.

    Attributes:
        columns: The models.
        by: Features that the rows are broken down by.
        rows: `dependency`, `phenomenon`, `construction`, `contrast`, then the features, in table order.
        accuracy: What is printed: `Fraction` or None, one row per row, one column per heading.
            Beside a published board a run's accuracy is cut as the board's are.
        ranks: `Fraction` rank per row and heading, 1 is best, None for a model that lacks the row; only the
            rows that the table defines: those that every published board in it lists, or all.
        overall: Rank of every model by its mean over these rows, None where it lacks one.
        ranking: The ranks that models may have, and how sure mean ranks are; None where that is not known.
        means: Mean accuracy and mean rank over sets of rows: dependencies, phenomena, values of features, and
            all rows last.
        notes: What a reader must know, one sentence or two each.
        humans: What people get right, for reading alone: it takes no part in ranks.
        unsplit: The same without a breakdown, for a table that has one.
    """

    columns: tuple[Column, ...]
    by: tuple[str, ...]
    rows: pd.DataFrame
    accuracy: pd.DataFrame
    ranks: pd.DataFrame
    overall: tuple[Fraction | None, ...]
    ranking: Ranking | None
    means: tuple[Mean, ...]
    notes: tuple[str, ...]
    humans: tuple[Column, ...] = ()
    unsplit: Table | None = None

    @property
    def decimals(self) -> int:
        """Decimals to which accuracies are cut where people read them."""
        return printed_decimals(self.columns) or RUN_DECIMALS


def build_table(
    sources: Sequence[Run | Board | Column], by: str | Sequence[str] = (), humans: Sequence[Column] = ()
) -> Table:
    """Put runs and published boards side by side.

    Args:
        sources: Runs and boards, in the order of the columns; in place of a run its column,
            where that is made already, in a table without a breakdown.
        by: Feature or features to break the rows down by.
        humans: What people get right, besides what boards know of that; of a table without a breakdown.

    Raises:
        RunError: The sources are over different items.
        SuiteError: A run's suite has no such feature.
        BoardError: A board cannot be broken down.
    """
    by = as_names(by)
    table = _infer(_compare(sources, by, humans))
    table = replace(table, unsplit=_compare(sources, ()) if by else None)
    return replace(table, notes=tuple(notes_of(table)))


def _compare(
    sources: Sequence[Run | Board | Column], by: tuple[str, ...], humans: Sequence[Column] = ()
) -> Table:
    """Put accuracies and ranks side by side; how sure they are stays open."""
    columns: list[Column] = []
    for source in sources:
        if isinstance(source, Board):
            columns += columns_of(source, by)
        else:
            columns.append(source if isinstance(source, Column) else column_of(source, by))
    refuse_unlike(columns)
    people = [human_of(source) for source in sources if isinstance(source, Board)]
    named = distinct_headings([*columns, *(human for human in people if human is not None), *humans])
    columns, beside = named[: len(columns)], named[len(columns) :]
    rows = _rows(columns, by)
    columns = _over_rows(columns, rows, by)
    accuracy = _frame(columns, rows, {column.heading: column.exact(by) for column in columns})
    ranked = _frame(columns, rows, {column.heading: column.ranked_by(by) for column in columns})
    defined = _defined(columns, rows, by)
    parts = (rows.loc[defined], accuracy.loc[defined], ranked.loc[defined])
    *sets, whole = means(*parts)
    (overall,) = rank_rows(pd.DataFrame([mean(parts[2])], dtype=object)).to_numpy().tolist()
    return Table(
        columns=tuple(columns),
        by=by,
        rows=rows,
        accuracy=accuracy,
        ranks=rank_rows(parts[2]),
        overall=tuple(overall),
        ranking=None,
        means=(*sets, *feature_means(*parts, by), whole),
        notes=(),
        humans=tuple(beside),
    )


def _infer(table: Table) -> Table:
    """Say how sure the mean accuracies and the ranks of runs are."""
    columns = table.columns
    models = [column.answers for column in columns if column.answers is not None]
    found = []
    estimated = estimate_means(models, [one.rows for one in table.means])
    for one, of_runs in zip(table.means, estimated, strict=True):
        runs = iter(of_runs)
        estimates = [None if column.answers is None else next(runs) for column in columns]
        known = zip(one.accuracy, estimates, strict=True)
        found.append(replace(one, estimates=tuple(None if value is None else of for value, of in known)))
    ranking = rank_models(models) if len(models) == len(columns) > 1 else None
    return replace(table, means=tuple(found), ranking=ranking)


def _rows(columns: Sequence[Column], by: Sequence[str]) -> pd.DataFrame:
    """Collect the rows of all columns, each once, in table order."""
    keys = dict.fromkeys(key for column in columns for key in column.keys(by))
    return in_table_order(pd.DataFrame(list(keys), columns=[*ROW, *by], dtype=object), by)


def _over_rows(columns: Sequence[Column], rows: pd.DataFrame, by: Sequence[str]) -> list[Column]:
    """Let what runs got right stand in the rows of the table; what is the same for several is kept once."""
    places = {key: place for place, key in enumerate(rows.itertuples(index=False, name=None))}
    first: Answers | None = None
    found = []
    for column in columns:
        if column.answers is not None:
            place_of = np.array([places[key] for key in column.keys(by)])
            answers = replace(column.answers, rows=place_of[column.answers.rows])
            first = first or answers
            column = replace(column, answers=answers.sharing(first))  # noqa: PLW2901 - the same, over other rows
        found.append(column)
    return found


def _frame(
    columns: Sequence[Column], rows: pd.DataFrame, values: Mapping[str, Mapping[Key, Fraction | None]]
) -> pd.DataFrame:
    """Lay values out as rows and columns of the table, cut as the published ones beside them are."""
    decimals = printed_decimals(columns)
    keys = list(rows.itertuples(index=False, name=None))

    def shown(value: Fraction | None) -> Fraction | None:
        return value if value is None or decimals is None else cut(value, decimals)

    laid = {heading: [shown(of.get(key)) for key in keys] for heading, of in values.items()}
    return pd.DataFrame(laid, dtype=object)


def _defined(columns: Sequence[Column], rows: pd.DataFrame, by: Sequence[str]) -> pd.Index[int]:
    """Find the rows that means and ranks are over: those that all published boards list, or all."""
    listed = [set(column.keys(by)) for column in columns if column.published]
    keys = rows.itertuples(index=False, name=None)
    return rows.index[[all(key in board for board in listed) for key in keys]]


HUMAN = "Human"
_CASE, _CONTRAST, _ACCURACY, _ASKED = "case", "contrast", "accuracy", "n"
_FRACTION = re.compile(r"\d{1,20}(\.\d{0,100})?|\.\d{1,100}")


def read_humans(path: Path, run: Run) -> Column:
    """Read the accuracies of people, case by case, as a column beside a run.

    Args:
        path: A table, `.csv` or `.tsv`, with the columns `case`, `accuracy` (a fraction from 0 to 1) and, if
            they are known, `n`, of how many answers; `contrast`, where a case has several.
        run: Over the same suite.

    Returns:
        A column of the rows of the run. A row of several cases has their mean, weighted by `n` where every
        case has it, else each once.

    Raises:
        SuiteError: A value is wrong, a case is unknown or stands twice, or one of the run's is missing.
    """
    places = _places(run)
    found: dict[tuple[str, str], tuple[Fraction, int | None]] = {}
    for place, row in read_table(path):
        key = _key(place, row, places, complete=run.manifest.suite.complete)
        if key is None:
            continue
        if key in found:
            raise SuiteError(f"{place}: the case {key[0]!r} stands twice.\n  Give it one accuracy.")
        found[key] = _accuracy(place, row), _asked(place, row)
    if missing := [
        " ".join(key) if _is_shared(key[0], places) else key[0] for key in places if key not in found
    ]:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise SuiteError(
            f"{path}: there is no accuracy of the case {missing[0]!r}{more}.\n  Give every case one."
        )
    rows: dict[tuple[object, ...], list[tuple[Fraction, int | None]]] = {}
    for key, of_row in places.items():
        rows.setdefault(of_row, []).append(found[key])
    table = [(*of_row, None, str(_mean(own)), None) for of_row, own in rows.items()]
    return replace(
        description_of(run),
        heading=HUMAN,
        origin=plain(path.name),
        rows=pd.DataFrame(table, columns=[*ROW, "n_items", "printed", "spread"], dtype=object),
        decimals=0,
        digest=None,
        signature=None,
        perplexity=None,
        parameters=None,
        notes=(f"{HUMAN}: {plain(path.name)}.",),
        too_long=0,
        warnings=(),
    )


def _places(run: Run) -> dict[tuple[str, str], tuple[object, ...]]:
    """Say in which row of the table each contrast of each case stands."""
    rows = run.load_verdicts().select([_CASE, *ROW]).group_by([_CASE, *ROW], use_threads=False).aggregate([])
    return {
        (str(row[_CASE]), str(row[_CONTRAST])): tuple(row[name] for name in ROW) for row in rows.to_pylist()
    }


def _is_shared(case: str, places: Mapping[tuple[str, str], object]) -> bool:
    return sum(name == case for name, _ in places) > 1


def _key(
    place: str, row: Mapping[str, str], places: Mapping[tuple[str, str], object], *, complete: bool
) -> tuple[str, str] | None:
    """Find what a row is about; None for a case that only a part of the suite leaves out."""
    for name in (_CASE, _ACCURACY):
        if name not in row:
            raise SuiteError(
                f"{place}: there is no column {name!r}, but {', '.join(map(repr, row))}.\n"
                f"  Write {_CASE},{_ACCURACY} or {_CASE},{_ACCURACY},{_ASKED}."
            )
    case, contrast = row[_CASE].strip(), row.get(_CONTRAST, "").strip()
    contrasts = [other for name, other in places if name == case]
    if not contrasts:
        if not complete:
            return None
        known = dict.fromkeys(name for name, _ in places)
        raise SuiteError(f"{place}: the suite has no case {case!r}.\n  {suggest(case, known, 'Cases')}")
    if contrast not in contrasts and (contrast or len(contrasts) > 1):
        raise SuiteError(
            f"{place}: the case {case!r} has no contrast {contrast!r}.\n"
            f"  Say which in a column {_CONTRAST!r}: {', '.join(contrasts)}."
        )
    return case, contrast or contrasts[0]


def _accuracy(place: str, row: Mapping[str, str]) -> Fraction:
    text = row[_ACCURACY].strip()
    if not _FRACTION.fullmatch(text) or not 0 <= (value := Fraction(text)) <= 1:
        raise SuiteError(
            f"{place}: {_ACCURACY} is {text!r}, which is no fraction from 0 to 1.\n  Write 0.886 for 88.6%."
        )
    return value


def _asked(place: str, row: Mapping[str, str]) -> int | None:
    if _ASKED not in row:
        return None
    if not is_count(text := row[_ASKED].strip()) or int(text) < 1:
        raise SuiteError(f"{place}: {_ASKED} is {text!r}: a number of answers is 1, 2, ...")
    return int(text)


def _mean(cases: list[tuple[Fraction, int | None]]) -> Fraction:
    weights = [1 if n is None else n for _, n in cases]
    total = sum((weight * value for weight, (value, _) in zip(weights, cases, strict=True)), Fraction(0))
    return total / sum(weights)
