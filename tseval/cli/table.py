"""`tseval table`: print the accuracies of runs and leaderboards side by side."""

from __future__ import annotations

from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tseval.cli.coverage import REQUIRE_COVERAGE, exit_if_undecided
from tseval.cli.grouping import GROUP_OPTIONS, grouped, read_groups
from tseval.cli.groups import Command
from tseval.cli.names import RUN
from tseval.cli.options import (
    BY,
    CLOCK_NAMES,
    CONFIDENCE,
    FILE,
    FORMAT,
    JSON_FORMAT,
    MARGIN_OPTION,
    NOTES,
    VERBOSE,
)
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy
from tseval.cli.trainings import trainings_of_runs
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report import Format, Table
    from tseval.report.document import Document
    from tseval.report.groups import Grouping
    from tseval.report.published import Board
    from tseval.report.suite_tables import SuiteTables
    from tseval.runs import Clock, Run


@click.command("table", cls=Command)
@click.argument("sources", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@FORMAT
@JSON_FORMAT
@BY
@click.option("--against", metavar="MODEL",
              help="Print how much the other models differ from MODEL, the name of a model or the folder "
                   "of a run. With groups, MODEL is the name of a group (default: print "
                   "accuracies).")  # fmt: skip
@MARGIN_OPTION
@GROUP_OPTIONS
@click.option("--over", type=CLOCK_NAMES,
              help="Print one column for each checkpoint of a training, in the order of its training "
                   "step, tokens or epoch (default: one column for each model).")  # fmt: skip
@click.option("--human", type=FILE, metavar="FILE",
              help="File with human accuracies, which tseval prints in a separate column. It is a table "
                   "with the columns case and accuracy, and n (number of answers) if you know it "
                   "(default: none).",
)  # fmt: skip
@click.option(
    "-o", "--out", "output", type=FILE, help="File in which to write the output (default: print it)."
)
@REQUIRE_COVERAGE
@CONFIDENCE
@NOTES
@VERBOSE
@click.pass_context
def table_command(
    context: click.Context, sources: tuple[str, ...], form: Format, by: tuple[str, ...],
    against: str | None, margin: float, group: bool, group_by: str | None, over: Clock | None,
    human: Path | None, output: Path | None, require_coverage: float | None,
) -> None:  # fmt: skip
    """Print the accuracies of runs and leaderboards side by side, with ranks.

    RUN_OR_BOARD is the folder of a run, a folder with several runs, the folder of a leaderboard, or the
    name of a leaderboard that comes with tseval (bhatt2020). Write GROUP=RUN to print the mean over the
    runs of a group, such as small=runs/lstm-1 small=runs/lstm-2. If the runs are on several suites, tseval
    prints a table for each suite, below a table with the means of all suites.
    """
    if against is None and context.get_parameter_source("margin") is not ParameterSource.DEFAULT:
        raise click.UsageError(
            "--margin is about differences between models, which only --against "
            "prints. Add --against MODEL, or leave out --margin."
        )
    names, grouping = read_groups(sources, group=group, group_by=group_by)
    if over is not None and (grouping or against is not None):
        raise click.UsageError(
            "--over cannot be combined with --group, --group-by, GROUP=RUN or --against. Leave out --over, "
            "or leave out the others."
        )
    if human is not None and (grouping or by or over is not None or against is not None):
        raise click.UsageError(
            "--human cannot be combined with --by, --group, --against or --over. Leave out these options, "
            "or leave out --human."
        )
    from tseval.boards.sources import open_items, open_sources
    from tseval.report.suite_tables import by_suite, tables_of
    from tseval.runs import runs_below

    for path in (path for name in names for path in runs_below(Path(name))[1]):
        click.echo(
            f"{path}: tseval leaves this run out, because it is not finished. To finish the run, repeat "
            f"its command with --resume --out {path}",
            err=True,
        )
    with busy("reading runs"):
        if against is not None:
            of_suites, content = _differences(names, against, by, margin, grouping)
        else:
            with_items = bool(by) or bool(grouping)
            opened: Sequence[Run | Board] = (
                open_items(names) if over is not None else open_sources(names, items=with_items)
            )
            of_suites = by_suite(opened)
            if human is not None and len(of_suites) > 1:
                raise RunError(
                    f"--human {human}: human accuracies are of one suite, but the command names runs on "
                    f"{len(of_suites)} suites: {', '.join(of_suites)}.\n  Name runs on one suite."
                )
            content = tables_of(
                {suite: _block(members, by, over, human, grouping) for suite, members in of_suites.items()},
                of_suites,
            )
    print_or_write(content, form, output)
    exit_if_undecided(
        (
            member.manifest
            for members in of_suites.values()
            for member in members
            if hasattr(member, "manifest")
        ),
        require_coverage,
    )


def _block(
    members: Sequence[Run | Board], by: tuple[str, ...], over: Clock | None, human: Path | None,
    grouping: Grouping,
) -> Document | Table:  # fmt: skip
    """Return the table of one suite."""
    from tseval.report import document_of
    from tseval.report.opened import for_analysis
    from tseval.report.published import Board

    runs = [member for member in members if not isinstance(member, Board)]
    if over is not None:
        from tseval.report.analyses.trajectory import over_steps

        opened = for_analysis(runs)
        return over_steps(opened, trainings_of_runs(opened, over, by), over)
    if not grouping or not runs:
        return document_of(members, by, human)
    from tseval.report.analyses.published_beside import published_columns
    from tseval.report.analyses.seeds import seeds_table

    opened, groups = grouped(for_analysis(runs), grouping)
    boards = [member for member in members if isinstance(member, Board)]
    return seeds_table(opened, groups, by, published_columns(boards, runs, list(groups)))


def _differences(
    names: Sequence[str], against: str, by: tuple[str, ...], margin: float, grouping: Grouping
) -> tuple[Mapping[str, Sequence[Run | Board]], Document | Table | SuiteTables]:
    """Return the runs of each suite, and tables of the differences from the model `against`."""
    from tseval.boards.sources import open_items, open_references
    from tseval.report.analyses.differences import differences_table, is_comparable
    from tseval.report.groups import stem_of_folder
    from tseval.report.opened import for_analysis
    from tseval.report.suite_tables import by_suite, tables_of

    references = open_references(against)
    paths = {realpath(str(run.path)) for run in references}
    runs = [run for run in open_items(names) if realpath(str(run.path)) not in paths]
    wanted = {_model_of(run) for run in references}
    stems = {stem_of_folder(str(run.path), run.manifest.suite.name) for run in references}
    of_suites = by_suite([*references, *runs])
    blocks = {}
    for suite, members in of_suites.items():
        # The reference run is put first, so that its group is first for all names of models. On
        # another suite, it is the run of the same model. If there are several, their folder name decides.
        members.sort(
            key=lambda run: (
                realpath(str(run.path)) not in paths,
                _model_of(run) not in wanted,
                stem_of_folder(str(run.path), run.manifest.suite.name) not in stems,
            )
        )
        opened, groups = grouped(for_analysis(members), grouping)
        model = None if _model_of(members[0]) in wanted else against
        if len(of_suites) > 1 and not is_comparable(model, groups):
            click.echo(
                f"warning: {suite}: tseval compares nothing on this suite, because {against} or another "
                "model has no run on it",
                err=True,
            )
            continue
        blocks[suite] = differences_table(opened, model, by, margin, groups if grouping else None)
    if not blocks:
        raise RunError(
            f"--against {against}: there is no suite with runs of both {against} and another model.\n"
            "  Name runs of both models on one suite."
        )
    return of_suites, tables_of(blocks, of_suites)


def _model_of(run: Run) -> tuple[str, str]:
    """Return the name and the fingerprint of the model of a run, which identify it."""
    return run.manifest.model.name, run.manifest.model.fingerprint
