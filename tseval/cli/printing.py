"""Print documents and tables, which fit into the width of a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from tseval.cli.terminal import drawable, width_of
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report import Format
    from tseval.report.document import Document
    from tseval.report.suite_tables import SuiteTables
    from tseval.report.table import Table
    from tseval.report.writers.terminal import Screen


# Keys of click's `Context.meta`:
ALL_NOTES = f"{__name__}.notes"  # whether all notes of a table are printed
WHOLE = f"{__name__}.whole"  # whether complete signatures are printed

_WARNED = f"{__name__}.warned"  # the lines that `warn_once` has printed


def screen_of(stream: TextIO) -> Screen | None:
    """Return the width and the abilities of a terminal, or None if the stream has no known width."""
    from tseval.report.writers.terminal import Screen

    if (width := width_of(stream)) is None:
        return None
    styled = "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"
    return Screen(width, styled, whole=click.get_current_context().meta.get(WHOLE, False))


def print_table(
    rows: Sequence[Sequence[str]], headings: Sequence[str], align: Sequence[str] | None = None
) -> None:
    """Print rows as a table, which fits into the width of a terminal."""
    from tseval.report.writers.terminal import fitted

    click.echo(fitted(rows, headings, align or ["left"] * len(headings), width_of(sys.stdout)))


def print_hanging(text: str, indent: int) -> None:
    """Print lines. On a terminal, long lines are broken, and their rest is indented (by `indent` at most)."""
    from textwrap import fill

    if (width := width_of(sys.stdout)) is not None:
        lines = (
            fill(line, width, subsequent_indent=" " * min(indent, 2 * width // 3))
            for line in text.split("\n")
        )
        text = "\n".join(lines)
    click.echo(text)


def warn_once(message: str) -> None:
    """Print a line on standard error, unless the command has printed it already (for another suite)."""
    printed = click.get_current_context().meta.setdefault(_WARNED, set())
    if message not in printed:
        printed.add(message)
        click.echo(message, err=True)


def print_or_write(
    content: Document | Table | SuiteTables, form: Format = "md", output: Path | None = None
) -> list[str]:
    """Print a document, or write it to a file. Without a chosen format, a terminal gets a fitted table.

    Returns:
        The notes that were printed; none if a file was written.
    """
    from tseval.files import write_text
    from tseval.report import render
    from tseval.report.rendering import printed_notes
    from tseval.runs.directory import RUN_FILES
    from tseval.runs.manifest import NAME as MANIFEST

    if output is None:
        by_itself = (
            click.get_current_context().get_parameter_source("form") is not ParameterSource.COMMANDLINE
        )
        screen = screen_of(sys.stdout) if form == "md" and by_itself else None
        few_notes = form == "md" and not click.get_current_context().meta.get(ALL_NOTES, True)
        text = render(content, form, screen, few_notes=few_notes)
        if screen is None:
            click.echo(text, nl=False)
        else:
            print(text, end="", file=drawable(sys.stdout), flush=True)  # control characters are escaped
        return printed_notes(content, few_notes=few_notes)
    if (output.parent / MANIFEST).is_file() and output.name in {MANIFEST, *RUN_FILES}:
        raise RunError(
            f"-o {output}: tseval would overwrite this file, which belongs to a run.\n"
            "  Choose another file with -o."
        )
    write_text(output, render(content, form))
    return []
