"""`tseval expand`: write out the items of a suite."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tseval.cli.options import COLUMNS_OPTION, COUNT, FILE
from tseval.cli.progress import busy, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tseval.items import Case

_LONG = 200_000  # items, from which on a bar is worth showing


@click.command(help="Write out the items of a suite.")
@click.argument("suite")
@click.option("--case", "cases", multiple=True, metavar="NAME", help="Only this case; may be repeated.")
@click.option("--format", "format_", type=click.Choice(["tsv", "jsonl", "parquet"]), default="tsv",
              show_default=True,
              help="tsv: the case, then the sentences in label order (and the features of strings of "
                   "formal languages), without a header.")  # fmt: skip
@click.option("--limit", type=COUNT, metavar="N", help="The first N items.")
@click.option("--sample", type=COUNT, metavar="N", help="N items drawn uniformly, in order.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of --sample.")
@COLUMNS_OPTION
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Default: print.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def expand_command(
    suite: str, cases: tuple[str, ...], format_: str, limit: int | None, sample: int | None, seed: int,
    columns: dict[str, str] | None, output: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Write out the items of SUITE, a bundled name or a path."""
    if format_ == "parquet" and output is None:
        raise click.UsageError("--format parquet writes a file: add -o FILE.")

    from tseval.files import write_output
    from tseval.suites import stream_cases
    from tseval.suites.grammar import write_items

    with busy(f"reading {suite}", quiet):
        n_items, blocks = stream_cases(
            suite, cases=cases, limit=limit, sample=sample, seed=seed, columns=columns
        )
    if n_items >= _LONG:
        blocks = _with_progress(blocks, n_items, quiet)
    if output is None:
        write_items(blocks, format_, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        write_output(output, lambda out: write_items(blocks, format_, out))


def _with_progress(blocks: Iterable[Case], n_items: int, quiet: bool) -> Iterator[Case]:
    """Show a bar while the blocks are made and written."""
    done = 0
    with progress_bar("items", quiet) as progress:
        for case in blocks:
            yield case
            done += case.n_items
            if progress:
                progress(done, n_items)
