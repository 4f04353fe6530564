"""The table of a zoo: one column per architecture, the mean over its seeds."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from importlib.metadata import version
from statistics import fmean
from typing import TYPE_CHECKING

from tseval.analysis.ranks import cut
from tseval.report.boards import BOARD_FORMAT, Board, BoardModel, BoardRow
from tseval.report.columns import Column, column_of, refuse_unlike
from tseval.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.checked import Json
    from tseval.report.columns import Key
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
    means = {arch: _mean_accuracy(several) for arch, several in columns.items()}
    rows = zip(first.keys(()), first.rows["n_items"], strict=True)
    return Board(
        name=name,
        title=f"The tseval zoo, recipe {recipe.name}",
        source=f"Trained with tseval {version('tseval')}: {' '.join(recipe.arguments(''))}",
        suite=first.suite,
        score=first.score,
        decimals=DECIMALS,
        models=tuple(
            BoardModel(arch, _mean_perplexity(several), several[0].parameters)
            for arch, several in columns.items()
        ),
        rows=tuple(_row(key, n_items, means) for key, n_items in rows),
        notes=tuple(_notes(columns)),
    )


def _mean_accuracy(columns: Sequence[Column]) -> dict[Key, Fraction | None]:
    """Average each row's exact accuracy over seeds; None where a seed has none."""
    exact = [column.exact(()) for column in columns]
    return {key: _mean([one[key] for one in exact]) for key in exact[0]}


def _mean(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known) if len(known) == len(values) else None


def _row(key: Key, n_items: int, means: Mapping[str, Mapping[Key, Fraction | None]]) -> BoardRow:
    dependency, phenomenon, construction, contrast = key
    accuracy = {arch: mean[key] for arch, mean in means.items()}
    return BoardRow(
        dependency=None if dependency is None else str(dependency),
        phenomenon=str(phenomenon),
        construction=str(construction),
        contrast=str(contrast),
        n_items=int(n_items),
        accuracy={
            arch: f"{float(cut(value, DECIMALS)):.{DECIMALS}f}"
            for arch, value in accuracy.items()
            if value is not None
        },
    )


def _mean_perplexity(columns: Sequence[Column]) -> str | None:
    known = [float(column.perplexity) for column in columns if column.perplexity is not None]
    return f"{fmean(known):.2f}" if len(known) == len(columns) else None


def _notes(columns: Mapping[str, Sequence[Column]]) -> list[str]:
    """Say what a reader must know: seeds, ties, undecidable items."""
    notes = ["Parameters of recurrent models count the recurrent core only."]
    seeds = {len(several) for several in columns.values()}
    if seeds != {1}:
        counts = ", ".join(f"{arch} {len(several)}" for arch, several in columns.items())
        notes.append(f"Accuracies and perplexities are means over seeds: {counts}.")
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
    return {"format": BOARD_FORMAT, **asdict(board)}
