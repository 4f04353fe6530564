"""`tseval table`: print runs and published boards side by side, or how runs differ from one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tseval.cli.options import BY, FILE, MARGIN_OPTION
from tseval.cli.printing import print_or_write, say_without_moment
from tseval.cli.progress import busy
from tseval.report import FORMATS, Format, Table, open_sources, told_of
from tseval.report.opened import open_runs
from tseval.runs import CLOCKS, runs_below

if TYPE_CHECKING:
    from tseval.report.document import Document
    from tseval.runs import Clock


@click.command("table")
@click.argument("sources", nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="md", show_default=True)
@BY
@click.option(
    "--against",
    metavar="MODEL",
    help="Print differences from this model: its name or its run; with --group, from this architecture.",
)
@MARGIN_OPTION
@click.option(
    "--group", is_flag=True, help="Average the seeds of each architecture, with the spread between them."
)
@click.option("--over", type=click.Choice(CLOCKS),
              help="A column for each step of a training that the models are checkpoints of.")  # fmt: skip
@click.option("--human", type=FILE, metavar="FILE",
              help="What people get right, beside the models: a table of case,accuracy or case,accuracy,n.",
)  # fmt: skip
@click.option("-o", "output", type=FILE, help="Write to a file.")
@click.pass_context
def table_command(
    context: click.Context, sources: tuple[str, ...], form: Format, by: tuple[str, ...],
    against: str | None, margin: float, group: bool, over: Clock | None, human: Path | None,
    output: Path | None,
) -> None:  # fmt: skip
    """Print runs and published boards side by side, with ranks.

    RUN_OR_BOARD is a run directory, a folder that holds some, a board's folder, or the name of a
    board that comes with tseval (bhatt2020).
    """
    if against is None and context.get_parameter_source("margin") is not ParameterSource.DEFAULT:
        raise click.UsageError("--margin is for differences: name a model with --against.")
    if over is not None and (group or against is not None):
        raise click.UsageError("--over stands alone: leave out --group and --against.")
    if human is not None and (group or by or over is not None or against is not None):
        raise click.UsageError("--human stands alone: leave out --by, --group, --against and --over.")
    for path in (path for name in sources for path in runs_below(Path(name))[1]):
        click.echo(f"{path}: not finished, left out", err=True)
    with busy("reading runs"):
        if against is not None:
            from tseval.report.comparisons import differences_table

            told: Document | Table = differences_table(sources, against, by, margin, grouped=group)
        elif over is not None:
            told = _over(sources, over, by)
        elif group:
            from tseval.report.seeds import seeds_of, seeds_table

            opened = open_runs(sources)
            told = seeds_table(opened, seeds_of(opened), by)
        else:
            told = told_of(open_sources(sources, items=bool(by)), by, human)
    print_or_write(told, form, output)


def _over(sources: tuple[str, ...], over: Clock, by: tuple[str, ...]) -> Document:
    from tseval.report.trajectories import find_trainings, over_steps

    opened = open_runs(sources)
    trainings, left_out = find_trainings(opened, over, by)
    say_without_moment(left_out, over)
    return over_steps(opened, trainings, over)
