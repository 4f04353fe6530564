"""`tseval report`: the page of one's own runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.options import FILE
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from pathlib import Path


@click.command("report")
@click.argument("sources", nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option("-o", "output", type=FILE, required=True, help="The page, one file: page.html.")
@click.option("--suite", help="Where the suite of the runs is; else the name that they state.")
@click.option("--title", help="Of the page.")
def report_command(sources: tuple[str, ...], output: Path, suite: str | None, title: str | None) -> None:
    """Write runs as a web page: the table, any two models compared, single items.

    RUN_OR_BOARD is as for tseval table. The page is one file that holds everything: it opens in any browser
    and asks no network for anything.
    """
    from tseval.pages import write_report

    with busy("reading runs"):
        lacking = write_report(sources, output, suite, title)
    if lacking is not None:
        click.echo(f"{output}: no items: {lacking}. Name the suite with --suite.", err=True)
