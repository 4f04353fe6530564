"""Print a table or an analysis, or write it to a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tseval.cli.terminal import width_of
from tseval.errors import RunError
from tseval.files import write_text
from tseval.report.render import render
from tseval.runs.directory import RUN_FILES
from tseval.runs.manifest import NAME as MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tseval.report.document import Document
    from tseval.report.render import Format
    from tseval.report.table import Table


def print_or_write(told: Document | Table, form: Format = "md", output: Path | None = None) -> None:
    """Print for whoever reads, on a terminal in tables that it is wide enough for; or write to a file.

    Raises:
        RunError: The file is one of those that a run consists of.
    """
    if output is None:
        click.echo(render(told, form, width_of(sys.stdout)), nl=False)
    else:
        if (output.parent / MANIFEST).is_file() and output.name in {MANIFEST, *RUN_FILES}:
            raise RunError(f"{output} is a file of the run there.\n  Write elsewhere with -o.")
        write_text(output, render(told, form))


def say_without_moment(runs: Iterable[str], over: str) -> None:
    """Name the runs that a trajectory leaves out, on standard error."""
    for run in runs:
        click.echo(f"{run}: not known at which {over} of a training its model was, left out", err=True)
