"""`tseval lint`: check grammars and data sets for mistakes."""

from __future__ import annotations

import sys
from itertools import chain

import click

from tseval.cli.groups import Command
from tseval.cli.model_options import MODEL_ARGS
from tseval.cli.names import MODEL, SUITE
from tseval.cli.options import COLUMNS_OPTION, COUNT
from tseval.cli.progress import busy
from tseval.errors import SuiteError, counted


@click.command(
    cls=Command,
    help="Check grammars and data sets for mistakes.\n"
    "\n"
    "The exit code is 1 if tseval finds a mistake. Notes are not mistakes.",
)
@click.argument("suites", type=SUITE, nargs=-1, required=True, metavar="SUITE...")
@click.option("--vocab", metavar="FILE or MODEL",
              help="Vocabulary in which to look up the words of the suite: a text file with one word per "
                   "line, or a model as for tseval run (default: none). Unknown words are listed with the "
                   "number of pairs that they make undecidable.")  # fmt: skip
@click.option(
    "--model",
    "spec",
    type=MODEL,
    metavar="MODEL",
    help="Model that reads ten items of each suite. tseval prints the model's tokens and marks unknown "
    "words (default: none).",
)
@click.option(
    "--all",
    "name_all",
    is_flag=True,
    help="List all words of the suite that are missing from the vocabulary (default: the first few).",
)
@MODEL_ARGS
@click.option("--sample", type=COUNT, metavar="N",
              help="Check only N random items of each grammar that has more than N (default: all items).",
)  # fmt: skip
@COLUMNS_OPTION
@click.option(
    "--quiet", is_flag=True, help="Do not print the table with the numbers of items and words at the end."
)
def lint_command(
    suites: tuple[str, ...], vocab: str | None, spec: str | None, name_all: bool, model_args: str,
    sample: int | None, columns: dict[str, str] | None, quiet: bool,
) -> None:  # fmt: skip
    """Check each SUITE, a name or a path; exit with 1 if there is anything but notes to report."""
    from tseval.cli.reading import readings
    from tseval.cli.vocabulary import known_words
    from tseval.suites import find_suite
    from tseval.suites.data.folders import is_data
    from tseval.suites.data.roles import refuse_columns
    from tseval.suites.lint import lint, lint_data
    from tseval.suites.overview import write_overview

    if vocab is None and (name_all or (model_args and spec is None)):
        raise SuiteError(
            f"{'--all' if name_all else '--model-args'} is about unknown words, which need a "
            "vocabulary. Add --vocab FILE or --vocab MODEL."
        )
    is_known = None if vocab is None else known_words(vocab, model_args)
    paths = [find_suite(suite) for suite in suites]
    with busy(f"checking {', '.join(suites)}"):
        checked = []
        for path in paths:
            if not is_data(path):
                refuse_columns(path, columns)
            checked.append(
                lint_data(path, is_known, columns, name_all=name_all)
                if is_data(path)
                else lint(path, is_known, sample, name_all=name_all)
            )
    findings = list(chain.from_iterable(checked))
    for finding in findings:
        click.echo(str(finding))
    items = counted(sum(result.n_items for result in checked), "item")
    severe = [finding for finding in findings if finding.severity != "note" and finding.counts]
    weak = "Notes only" if all(finding.severity == "note" for finding in findings) else "Nothing that fails"
    number = counted(len(severe), "finding") if severe else weak if findings else "No findings"
    click.echo(f"{number} in {items}.", err=True)
    for line in () if quiet else write_overview([case for result in checked for case in result.cases]):
        click.echo(line)
    if spec is not None:
        with busy(f"reading {', '.join(suites)}"):
            lines = list(readings(spec, model_args, paths))
        for line in lines:
            click.echo(line)
    if severe:
        sys.exit(1)
