"""`tseval expand`: print the items of a suite, or write them to a file."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, TextIO, cast

import click

from tseval.cli.groups import Command
from tseval.cli.names import CASE, SUITE
from tseval.cli.options import COLUMNS_OPTION, COUNT, output_option, text_option
from tseval.cli.progress import busy, progress_bar
from tseval.files import write_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tseval.items import Case


_LONG = 200_000  # smallest number of items for which a progress bar is shown


@click.command(cls=Command, help="Print the items of a suite, or write them to a file.")
@click.argument("suite", type=SUITE)
@click.option(
    "--case",
    "cases",
    type=CASE,
    multiple=True,
    metavar="NAME",
    help="Use only the case (part of the suite) with this name. Repeatable (default: all cases).",
)
@click.option("--format", "format_", type=click.Choice(["tsv", "jsonl", "parquet"]), default="tsv",
              show_default=True,
              help="Format of the items: tsv, jsonl or parquet. A tsv has the column case, and one column "
                   "for each kind of sentence, such as grammatical and ungrammatical. For formal languages, "
                   "it also has one column for each feature.",
)  # fmt: skip
@click.option(
    "--no-header", is_flag=True, help="Leave out the first line, with the column names, of --format tsv."
)
@click.option(
    "--limit", type=COUNT, metavar="N", help="Print only the first N items of each case (default: all items)."
)
@click.option(
    "--sample",
    type=COUNT,
    metavar="N",
    help="Print only N random items of each case, in their order in the suite (default: all items).",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed for the items that --sample draws."
)
@COLUMNS_OPTION
@text_option(None, of="the printed sentences")
@output_option("the items")
@click.option("--quiet", is_flag=True, help="Do not show a progress bar.")
def expand_command(
    suite: str, cases: tuple[str, ...], format_: str, no_header: bool, limit: int | None, sample: int | None,
    seed: int, columns: dict[str, str] | None, text: str | None, output: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Write out the items of SUITE, a bundled name or a path."""
    if format_ == "parquet" and output is None:
        raise click.UsageError(
            "--format parquet writes a binary file, which a terminal cannot show. Add -o FILE.parquet."
        )

    from tseval.suites import stream_cases, terminator_of, writing_of
    from tseval.suites.writing_items import write_items

    notes: list[str] = []
    labels: list[str] = []
    with busy(f"reading {suite}", quiet):
        n_items, blocks = stream_cases(
            suite, cases=cases, limit=limit, sample=sample, seed=seed, columns=columns, notes=notes,
            labels=labels,
        )  # fmt: skip
        if text == "natural":
            rules, terminator = writing_of(suite)
            blocks = (case.written(rules, terminator) for case in blocks)
        elif text is not None:
            mark = terminator_of(suite)
            blocks = (case.ended(mark) for case in blocks)
    header = None if no_header else labels
    for note in () if quiet else notes:
        click.echo(f"{suite}: {note}", err=True)
    if n_items >= _LONG:
        blocks = _with_progress(blocks, n_items, quiet)
    screen = sys.stdout  # a progress bar replaces sys.stdout later
    if output is not None:
        write_output(output, lambda stream: write_items(blocks, format_, stream, header))
    elif screen.isatty():
        write_items(blocks, format_, cast("IO[bytes]", _Decoded(screen)), header)
    else:
        write_items(blocks, format_, screen.buffer, header)
        screen.buffer.flush()


class _Decoded:
    """A binary file that writes to a terminal as text, so that control characters are escaped there."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen

    def write(self, rows: bytes | memoryview) -> int:
        """Write whole lines."""
        return self._screen.write(bytes(rows).decode())


def _with_progress(blocks: Iterable[Case], n_items: int, quiet: bool) -> Iterator[Case]:
    n_done = 0
    with progress_bar("items", quiet) as progress:
        for case in blocks:
            yield case
            n_done += case.n_items
            if progress:
                progress(n_done, n_items)
