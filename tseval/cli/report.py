"""`tseval report`: write a web page about runs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from tseval.cli.grouping import GROUP_OPTIONS, grouped, read_groups
from tseval.cli.groups import Command
from tseval.cli.names import RUN, SUITE
from tseval.cli.options import CONFIDENCE, FILE
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from pathlib import Path


@click.command("report", cls=Command)
@click.argument("sources", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option(
    "-o",
    "--out",
    "output",
    type=FILE,
    required=True,
    help="File in which to write the page, such as page.html.",
)
@click.option(
    "--suite",
    type=SUITE,
    help="Name or path of the suite that the models were scored on (default: the name in the runs).",
)
@click.option("--title", help="Title at the top of the page (default: the name of the suite).")
@GROUP_OPTIONS
@CONFIDENCE
def report_command(
    sources: tuple[str, ...], output: Path, suite: str | None, title: str | None, group: bool,
    group_by: str | None,
) -> None:  # fmt: skip
    """Write a web page about runs: table of accuracies, comparisons of two models, single items.

    RUN_OR_BOARD is a folder with one or several runs, the folder of a leaderboard, or the name of a
    leaderboard that comes with tseval. The page is a single file, which opens in any browser without a
    network. If the runs are on several suites, the page begins with a table of the means, and each suite has
    its own part below. Checkpoints of one training are in the order of their steps, with the curve of the
    training.
    """
    from tseval.web import write_report

    names, grouping = read_groups(sources, group=group, group_by=group_by)
    options = ["--group"] * group + ([] if group_by is None else ["--group-by", group_by])
    with busy("reading runs"):
        reason = write_report(
            names,
            output,
            suite,
            title,
            group_runs=(lambda opened: grouped(opened, grouping)) if grouping else None,
            command=shlex.join(["tseval", "table", *sources, *options]),
        )
    if reason is not None:
        click.echo(
            f"{output}: tseval wrote this page, but the page does not list the items. The reason is: "
            f"{reason}. To add the items, name the suite with --suite.",
            err=True,
        )
    else:
        click.echo(output, err=True)
