"""`tseval lint`: check grammars."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(help="Check grammars.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option(
    "--vocab",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Report words missing here: a text file with one word per line, or a checkpoint.",
)
def command(suites: tuple[str, ...], vocab: Path | None) -> None:
    """Check each SUITE, a bundled name or a path; exit with 1 if there is anything to report."""
    from tseval.grammar.lint import lint, read_vocabulary
    from tseval.suites import find_suite

    vocabulary = None if vocab is None else read_vocabulary(vocab)
    findings = [finding for suite in suites for finding in lint(find_suite(suite), vocabulary)]
    for finding in findings:
        click.echo(str(finding))
    if findings:
        sys.exit(1)
    click.echo("No findings.", err=True)
