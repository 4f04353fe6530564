"""`tseval table`: print the accuracies of runs and leaderboards side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

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
    SEEDS_TOGETHER,
    VERBOSE,
)
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy
from tseval.cli.trainings import trainings_of_runs

if TYPE_CHECKING:
    from tseval.report import Format, Table
    from tseval.report.document import Document
    from tseval.runs import Clock


@click.command("table", cls=Command)
@click.argument("sources", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@FORMAT
@JSON_FORMAT
@BY
@click.option("--against", metavar="MODEL",
              help="Print how much the other models differ from MODEL, the name of a model or the folder "
                   "of a run. With --group, MODEL is the name of an architecture (default: print "
                   "accuracies).")  # fmt: skip
@MARGIN_OPTION
@SEEDS_TOGETHER
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
@CONFIDENCE
@NOTES
@VERBOSE
@click.pass_context
def table_command(
    context: click.Context, sources: tuple[str, ...], form: Format, by: tuple[str, ...],
    against: str | None, margin: float, group: bool, over: Clock | None, human: Path | None,
    output: Path | None,
) -> None:  # fmt: skip
    """Print the accuracies of runs and leaderboards side by side, with ranks.

    RUN_OR_BOARD is the folder of a run, a folder with several runs, the folder of a leaderboard, or the
    name of a leaderboard that comes with tseval (bhatt2020).
    """
    if against is None and context.get_parameter_source("margin") is not ParameterSource.DEFAULT:
        raise click.UsageError(
            "--margin is about differences between models, which only --against "
            "prints. Add --against MODEL, or leave out --margin."
        )
    if over is not None and (group or against is not None):
        raise click.UsageError(
            "--over cannot be combined with --group or --against. Leave out --over, or "
            "leave out --group and --against."
        )
    if human is not None and (group or by or over is not None or against is not None):
        raise click.UsageError(
            "--human cannot be combined with --by, --group, --against or --over. Leave out these options, "
            "or leave out --human."
        )
    from tseval.boards.sources import open_against, open_runs, open_sources
    from tseval.report import document_of
    from tseval.runs import runs_below

    for path in (path for name in sources for path in runs_below(Path(name))[1]):
        click.echo(
            f"{path}: tseval leaves this run out, because it is not finished. To finish the run, repeat "
            f"its command with --resume --out {path}",
            err=True,
        )
    with busy("reading runs"):
        if against is not None:
            from tseval.report.analyses.differences import differences_table

            document: Document | Table = differences_table(
                *open_against(sources, against), by, margin, grouped=group
            )
        elif over is not None:
            from tseval.report.analyses.trajectory import over_steps

            opened = open_runs(sources)
            document = over_steps(opened, trainings_of_runs(opened, over, by), over)
        elif group:
            from tseval.report.analyses.seeds import seeds_of, seeds_table

            opened = open_runs(sources)
            document = seeds_table(opened, seeds_of(opened), by)
        else:
            document = document_of(open_sources(sources, items=bool(by)), by, human)
    print_or_write(document, form, output)
