"""The table of a zoo: one column per architecture, the mean over its seeds with the spread between them."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from importlib.metadata import version
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from tseval.analysis.means import row_sets
from tseval.analysis.ranks import cut
from tseval.report.analyses import open_runs
from tseval.report.boards import BOARD_FORMAT, Board, BoardModel, BoardRow
from tseval.report.columns import Column, column_of, refuse_unlike
from tseval.report.seeds import seeds_table
from tseval.report.shown import spread_beside
from tseval.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.checked import Json
    from tseval.report.columns import Key
    from tseval.report.document import Document
    from tseval.runs import Run
    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe

DECIMALS = 3


def sources_of(entries: Sequence[ZooModel], recipe: Recipe) -> list[Run | Board]:
    """Give what a table of a zoo is made from: the runs, or with several seeds the board of their means."""
    runs = runs_of(entries)
    if all(len(several) == 1 for several in runs.values()):
        return [run for several in runs.values() for run in several]
    return [make_board(entries, recipe, "zoo")]


def seeds_of_zoo(entries: Sequence[ZooModel]) -> Document | None:
    """Tabulate means over seeds with spread and interval; None where every architecture has one seed."""
    groups: dict[str, list[ZooModel]] = {}
    for entry in entries:
        groups.setdefault(entry.arch, []).append(entry)
    if all(len(several) == 1 for several in groups.values()):
        return None
    opened = open_runs([str(entry.run) for several in groups.values() for entry in several])
    names = iter(opened.verdicts)
    return seeds_table(opened, {arch: [next(names) for _ in several] for arch, several in groups.items()})


def runs_of(entries: Sequence[ZooModel]) -> dict[str, list[Run]]:
    """Read the runs of finished models, by architecture."""
    runs: dict[str, list[Run]] = {}
    for entry in entries:
        runs.setdefault(entry.arch, []).append(read_run(entry.run))
    return runs


def make_board(entries: Sequence[ZooModel], recipe: Recipe, name: str) -> Board:
    """Put finished models into a board, one column per architecture.

    Args:
        entries: The models, in the order of the columns.
        recipe: How they were trained.
        name: The board's short name.

    Raises:
        RunError: A run cannot be read, or the runs are over different items.
    """
    columns = {arch: [column_of(run) for run in runs] for arch, runs in runs_of(entries).items()}
    refuse_unlike([column for several in columns.values() for column in several])
    first = next(iter(columns.values()))[0]
    exact = {arch: [column.exact(()) for column in several] for arch, several in columns.items()}
    rows = zip(first.keys(()), first.rows["n_items"], strict=True)
    return Board(
        name=name,
        title=f"The tseval zoo, recipe {recipe.name}",
        source=f"Trained with tseval {version('tseval')}: {' '.join(recipe.arguments(''))}",
        suite=first.suite,
        score=first.score,
        decimals=DECIMALS,
        models=tuple(
            BoardModel(arch, _mean_perplexity(several), several[0].parameters, _spread_of_means(several))
            for arch, several in columns.items()
        ),
        rows=tuple(_row(key, n_items, exact) for key, n_items in rows),
        notes=tuple(_notes(columns)),
    )


def _row(key: Key, n_items: int, exact: Mapping[str, Sequence[Mapping[Key, Fraction | None]]]) -> BoardRow:
    """Average the exact accuracies of one row over seeds; where a seed has none there is no mean."""
    dependency, phenomenon, construction, contrast = key
    seeds = {arch: _known([one[key] for one in several]) for arch, several in exact.items()}
    return BoardRow(
        dependency=None if dependency is None else str(dependency),
        phenomenon=str(phenomenon),
        construction=str(construction),
        contrast=str(contrast),
        n_items=int(n_items),
        accuracy={arch: _printed(sum(own, Fraction(0)) / len(own)) for arch, own in seeds.items() if own},
        spread={arch: _printed(_spread(own)) for arch, own in seeds.items() if len(own) > 1},
    )


def _spread_of_means(columns: Sequence[Column]) -> dict[str, str]:
    """Give the spread between seeds of the mean accuracy over each set of rows that a table averages."""
    keys = columns[0].keys(())
    exact = [column.exact(()) for column in columns]
    spreads = {}
    for over, rows in row_sets(columns[0].rows):
        own = [_known([one[keys[row]] for row in rows]) for one in exact]
        if len(own) > 1 and all(own):
            spreads[over] = _printed(_spread([sum(values, Fraction(0)) / len(values) for values in own]))
    return spreads


def _known(values: Sequence[Fraction | None]) -> list[Fraction]:
    """Give the values, or none where one is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _spread(values: Sequence[Fraction]) -> Fraction:
    return Fraction(stdev(map(float, values)))


def _printed(value: Fraction) -> str:
    return f"{float(cut(value, DECIMALS)):.{DECIMALS}f}"


def _mean_perplexity(columns: Sequence[Column]) -> str | None:
    known = [float(column.perplexity) for column in columns if column.perplexity is not None]
    if len(known) < len(columns):
        return None
    mean = f"{fmean(known):.2f}"
    return mean if len(known) == 1 else spread_beside(mean, f"{stdev(known):.2f}")


def _notes(columns: Mapping[str, Sequence[Column]]) -> list[str]:
    """Say what a reader must know: seeds, ties, undecidable items."""
    notes = ["Parameters of recurrent models count the recurrent core only."]
    seeds = {len(several) for several in columns.values()}
    if seeds != {1}:
        counts = ", ".join(f"{arch} {len(several)}" for arch, several in columns.items())
        notes.append(
            f"Accuracies and perplexities are means over seeds: {counts}. ± is the standard deviation "
            "between seeds."
        )
    for column in (column for several in columns.values() for column in several):
        tied, undecidable = (int(column.rows[name].sum()) for name in ("n_tied", "n_undecidable"))
        if tied or undecidable:
            notes.append(
                f"{column.heading}: {tied:,} contrasts are ties, counted as wrong, and {undecidable:,} are "
                "undecidable, left out of accuracy."
            )
    return notes


def board_content(board: Board) -> dict[str, Json]:
    """Give a board as its file holds it."""
    content = asdict(board)
    for part in (*content["models"], *content["rows"]):
        if not part["spread"]:  # of one seed there is none
            del part["spread"]
    return {"format": BOARD_FORMAT, **content}
