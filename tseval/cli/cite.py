"""`tseval cite`: write BibTeX, a paragraph on methods and a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.names import RUN
from tseval.cli.options import CONFIDENCE, FILE
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from pathlib import Path

PAPER_FILES = ("references.bib", "methods.tex", "table.tex")


@click.command("cite", cls=Command)
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--intervals", is_flag=True, help="Add the confidence interval of each accuracy to the LaTeX table."
)
@CONFIDENCE
@click.option("-o", "--out", "output", type=FILE, metavar="DIR",
              help=f"Folder for the files {', '.join(PAPER_FILES)} (default: print them).")  # fmt: skip
def cite_command(runs: tuple[str, ...], intervals: bool, output: Path | None) -> None:
    """Write BibTeX, a paragraph on methods and a LaTeX table for a paper.

    The BibTeX entries cite the software, the suite and the methods of the runs. The paragraph states the
    settings of the runs. The LaTeX code needs the packages natbib,
    booktabs and tabularx.
    """
    from tseval.boards.sources import open_runs
    from tseval.files import write_text
    from tseval.report.paper import write_up

    with busy("reading runs"):
        paper = write_up(open_runs(runs), intervals=intervals)
    if output is None:
        click.echo(str(paper), nl=False)
        return
    output.mkdir(parents=True, exist_ok=True)
    for name, text in zip(PAPER_FILES, (paper.references, paper.methods, paper.table), strict=True):
        write_text(output / name, text)
        click.echo(output / name, err=True)
