"""`tseval data`: make data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.options import FILE
from tseval.errors import SuiteError

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def command() -> None:
    """Make data sets from treebanks and published files."""


@command.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE",
              help="The examples, .parquet, .tsv or .tsv.gz.")  # fmt: skip
@click.option("--source", metavar="NAME", help="What the column source says.  [default: name of each file]")
@click.option("--train", type=click.FloatRange(0, 100), default=80.0, show_default=True, metavar="PERCENT",
              help="Documents for training.")  # fmt: skip
@click.option("--valid", type=click.FloatRange(0, 100), default=10.0, show_default=True, metavar="PERCENT",
              help="Documents for validation; the rest is for testing.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print warnings and errors only.")
def agreement(
    files: tuple[Path, ...], output: Path, source: str | None, train: float, valid: float, quiet: bool
) -> None:
    """Find verbs that agree with a noun, and write them as a table of examples.

    FILE is a treebank in CoNLL-U, the table of Linzen et al. 2016, or a NAME.text with NAME.gold beside it;
    all may be compressed (.gz).
    """
    from tseval.suites.agreement.conversion import convert
    from tseval.suites.agreement.examples import EXAMPLE_ENDINGS, write_examples
    from tseval.suites.agreement.splitting import Shares
    from tseval.suites.agreement.summary import summarise, warnings_about

    if not output.name.endswith(EXAMPLE_ENDINGS):
        raise SuiteError(f"{output}: the name of a table of examples ends in {', '.join(EXAMPLE_ENDINGS)}")
    if output.exists():
        raise SuiteError(f"{output}: exists already. Choose another -o, or remove it.")
    if not output.absolute().parent.is_dir():
        raise SuiteError(f"{output.parent}: no such folder")
    if train + valid > 100:
        raise click.UsageError(f"--train {train:g} and --valid {valid:g} are more than 100 percent.")
    shares = Shares(train, valid)
    table, tally = convert(files, shares, source)
    write_examples(table, output)
    for warning in warnings_about(table, shares):
        click.echo(f"Warning: {warning}", err=True)
    if not quiet:
        click.echo(f"{summarise(table, tally)}\n")
        click.echo(output, err=True)
