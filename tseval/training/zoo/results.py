"""The board of a zoo: what it is over, and its table, one column per architecture."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from tseval.boards import BOARD_FILES_FORMAT, Definition
from tseval.boards.folder import accuracies
from tseval.report.opened import open_runs
from tseval.report.seeds import seeds_table
from tseval.report.table import column_of
from tseval.runs import read_run
from tseval.training.zoo import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.document import Document
    from tseval.report.table import Board
    from tseval.runs import Manifest, Run
    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe

PAPER = "bhatt2020"


def sources_of(entries: Sequence[ZooModel], recipe: Recipe) -> list[Run | Board]:
    """Give what a table of a zoo is made from: the runs, or with several seeds the board of their means."""
    runs = runs_of(entries)
    if all(len(several) == 1 for several in runs.values()):
        return [run for several in runs.values() for run in several]
    manifest = next(iter(runs.values()))[0].manifest
    columns = {arch: [column_of(run) for run in several] for arch, several in runs.items()}
    return [accuracies("zoo", define(entries, recipe, manifest), columns)]


def seeds_of_zoo(entries: Sequence[ZooModel]) -> Document | None:
    """Tabulate means over seeds with spread and interval; None where every architecture has one seed."""
    groups = in_architectures(entries)
    if all(len(several) == 1 for several in groups.values()):
        return None
    opened = open_runs([str(entry.run) for several in groups.values() for entry in several])
    names = iter(opened.verdicts)
    return seeds_table(opened, {arch: [next(names) for _ in several] for arch, several in groups.items()})


def runs_of(entries: Sequence[ZooModel]) -> dict[str, list[Run]]:
    """Read the runs of finished models, by architecture."""
    groups = in_architectures(entries)
    return {arch: [read_run(entry.run) for entry in several] for arch, several in groups.items()}


def in_architectures(entries: Sequence[ZooModel]) -> dict[str, list[ZooModel]]:
    """Put the models of a zoo under their architectures."""
    groups: dict[str, list[ZooModel]] = {}
    for entry in entries:
        groups.setdefault(entry.arch, []).append(entry)
    return groups


def define(entries: Sequence[ZooModel], recipe: Recipe, manifest: Manifest) -> Definition:
    """Say what the board of a zoo is over: the suite that its runs were scored on.

    Args:
        entries: The models, in the order of the columns.
        recipe: How they were trained.
        manifest: Of one of the runs.
    """
    groups = in_architectures(entries)
    several = any(len(own) > 1 for own in groups.values())
    return Definition(
        format=BOARD_FILES_FORMAT,
        title=f"The tseval zoo, recipe {recipe.name}",
        suite=plan.SUITE,
        digest=manifest.suite.digest,
        score=manifest.key.score,  # type: ignore[arg-type] # one of them, in a sound key
        source=f"Trained with tseval {version('tseval')}: {' '.join(recipe.arguments(''))}",
        order=tuple(entry.name for entry in entries),
        seeds={arch: tuple(entry.name for entry in own) for arch, own in groups.items()} if several else {},
        beside=PAPER,
    )
