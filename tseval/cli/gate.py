"""`tseval gate`: fail a CI job if a model lost accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.names import RUN
from tseval.cli.options import CONFIDENCE, FILE, FORMAT, JSON_FORMAT, NOTES, VERBOSE
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.report import Format


@click.command("gate", cls=Command)
@click.argument("new", type=RUN, metavar="NEW")
@click.option(
    "--against",
    "old",
    type=RUN,
    required=True,
    metavar="OLD",
    help="Run of the model to compare with, or a folder of runs on several suites.",
)
@click.option(
    "--max-drop",
    type=float,
    default=0.02,
    show_default=True,
    metavar="SHARE",
    help="Largest drop of accuracy that does not matter.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail also if a drop larger than --max-drop cannot be excluded (default: fail only if such a "
    "drop is significant).",
)
@click.option(
    "--rows",
    multiple=True,
    metavar="ROW",
    help="Test only this row, by its name in the table. * stands for any text. Repeatable (default: "
    "all rows).",
)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME",
    help="Test only this suite. Repeatable (default: all suites that both models have runs on).",
)
@FORMAT
@JSON_FORMAT
@click.option("-o", "--out", "output", type=FILE, help="File for the table (default: print).")
@click.option(
    "--junit", type=FILE, metavar="FILE", help="File for JUnit XML, which CI services show (default: none)."
)
@click.option(
    "--summary",
    type=FILE,
    metavar="FILE",
    help="File to which a summary in Markdown is added, such as $GITHUB_STEP_SUMMARY (default: none).",
)
@CONFIDENCE
@NOTES
@VERBOSE
@click.pass_context
def gate_command(
    context: click.Context, new: str, old: str, max_drop: float, strict: bool, rows: tuple[str, ...],
    suites: tuple[str, ...], form: Format, output: Path | None, junit: Path | None, summary: Path | None,
) -> None:  # fmt: skip
    """Fail if a model lost accuracy against an earlier one.

    NEW is the run of the model to judge, or a folder of runs on several suites. The exit code is 0 if there
    is no drop, 1 if there is one, 2 if the command cannot be carried out.
    """
    from tseval.boards.sources import open_items
    from tseval.files import write_text
    from tseval.report.gate import as_junit, as_summary, gate

    with busy("reading runs"):
        verdicts = gate(
            open_items([new]), open_items([old]), max_drop=max_drop, rows=rows, suites=suites, strict=strict
        )
    print_or_write(verdicts.document, form, output)
    if junit is not None:
        write_text(junit, as_junit(verdicts))
    if summary is not None:
        old_text = summary.read_text("utf-8") if summary.is_file() else ""
        write_text(summary, old_text + as_summary(verdicts))
    click.echo(verdicts.verdict, err=True)
    context.exit(0 if verdicts.passed else 1)
