"""`tseval table`: print runs and published boards side by side."""

from __future__ import annotations

from pathlib import Path

import click

from tseval.cli.options import BY, FILE
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy
from tseval.report import FORMATS, Format, build_table, open_sources
from tseval.runs import runs_below


@click.command("table")
@click.argument("sources", nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="md", show_default=True)
@BY
@click.option("-o", "output", type=FILE, help="Write to a file.")
def command(sources: tuple[str, ...], form: Format, by: tuple[str, ...], output: Path | None) -> None:
    """Print runs and published boards side by side, with ranks.

    RUN_OR_BOARD is a run directory, a folder that holds some, a board's folder, or the name of a
    board that comes with tseval (bhatt2020).
    """
    for path in (path for name in sources for path in runs_below(Path(name))[1]):
        click.echo(f"{path}: not finished, left out", err=True)
    with busy("reading runs"):
        table = build_table(open_sources(sources), by)
    print_or_write(table, form, output)
