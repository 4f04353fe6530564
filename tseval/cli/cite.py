"""`tseval cite`: write BibTeX, a paragraph on methods and a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.grouping import GROUP_OPTIONS, grouped, read_groups
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
@GROUP_OPTIONS
@CONFIDENCE
@click.option("-o", "--out", "output", type=FILE, metavar="DIR",
              help=f"Folder for the files {', '.join(PAPER_FILES)} (default: print them).")  # fmt: skip
def cite_command(
    runs: tuple[str, ...], intervals: bool, group: bool, group_by: str | None, output: Path | None
) -> None:
    """Write BibTeX, a paragraph on methods and a LaTeX table for a paper.

    The BibTeX entries cite the software, the suite and the methods of the runs. The paragraph states the
    settings of the runs. The LaTeX code needs the packages natbib, booktabs and tabularx. If the runs are on
    several suites, each suite has a paragraph and a table. Before these tables, there is a table with the
    mean accuracy on each suite.
    """
    from tseval.boards.sources import open_items
    from tseval.files import write_text
    from tseval.report.opened import for_analysis
    from tseval.report.paper_suites import write_up_suites
    from tseval.report.suite_tables import by_suite

    names, grouping = read_groups(runs, group=group, group_by=group_by)
    with busy("reading runs"):
        suites = {}
        for suite, members in by_suite(open_items(names)).items():
            opened = for_analysis(members)
            noted, groups = grouped(opened, grouping) if grouping else (opened, None)
            suites[suite] = noted, groups, members
        paper = write_up_suites(suites, intervals=intervals)
    if output is None:
        click.echo(str(paper), nl=False)
        return
    output.mkdir(parents=True, exist_ok=True)
    for name, text in zip(PAPER_FILES, (paper.references, paper.methods, paper.table), strict=True):
        write_text(output / name, text)
        click.echo(output / name, err=True)
