"""`tseval export`: suites and runs for other tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shlex import quote

import click

from tseval.cli.options import COLUMNS_OPTION, COUNT, FILE, QUIET
from tseval.cli.progress import busy
from tseval.files import write_output


@click.group()
def export_command() -> None:
    """Write suites and runs for other tools."""


@export_command.command("lm-eval")
@click.argument("suite")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR"
)
@click.option("--limit", type=COUNT, metavar="N", help="Only the first N items of each case.")
@click.option("--tokenise", is_flag=True, help="Split punctuation and clitics off the words of data.")
@COLUMNS_OPTION
@QUIET
def lm_eval(
    suite: str, output: Path, limit: int | None, tokenise: bool, columns: dict[str, str] | None, quiet: bool
) -> None:
    """Write SUITE as tasks of lm-eval: a group, and a task for each row of the table."""
    from tseval.lm_eval_tasks import write_tasks
    from tseval.suites import load_suite

    with busy(f"writing {suite}", quiet):
        loaded = load_suite(suite, limit=limit, tokenise=tokenise, columns=columns)
        group, *tasks = write_tasks(loaded, output)
    if not quiet:
        click.echo(f"{output}: {group}, {len(tasks)} tasks", err=True)
        click.echo(f"lm_eval --include_path {quote(str(output))} --tasks {group} ...", err=True)


@export_command.command("glmm")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE.csv"
)
@QUIET
def glmm(runs: tuple[str, ...], output: Path, quiet: bool) -> None:
    """Write the verdicts of RUNs as one table, and print the mixed model for it in R (lme4)."""
    from tseval.report.exports import in_r, mixed_model, write_verdicts
    from tseval.report.opened import open_runs

    with busy("writing verdicts", quiet):
        opened = open_runs(runs)
        model = mixed_model(opened)
        write_output(output, partial(write_verdicts, opened))
    click.echo(in_r(model, str(output)), nl=False)
    if quiet:
        return
    for note in (*opened.notes, *model.notes):
        click.echo(note, err=True)
    click.echo(f"{output}: {model.n_verdicts:,} verdicts", err=True)


@export_command.command("eee")
@click.argument("run", type=FILE)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE.json|DIR",
    help="A file, or a folder in which the record gets the place that it has in the store.",
)
@click.option("--model-id", metavar="DEVELOPER/NAME", help="What the model's hub calls it.")
@click.option("--organisation", default="unknown", show_default=True, help="Who ran it.")
@click.option(
    "--relationship",
    type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
    default="other",
    show_default=True,
    help="Of these to the model's developer.",
)
@click.option(
    "--availability",
    type=click.Choice(["open_weights", "closed_weights", "unknown"]),
    default="unknown",
    show_default=True,
    help="Of the model's weights.",
)
@QUIET
def eee(run: Path, output: Path | None, quiet: bool, **said: str | None) -> None:  # fmt: skip
    """Write a RUN, or an entry of a board, as a record of Every Eval Ever."""
    from tseval.report.exports import Submission, make_record, write_record

    submission = Submission(**said)  # type: ignore[arg-type] # click holds them to their choices
    with busy(f"reading {run}", quiet):
        record = make_record(run, submission)
    if output is None:
        click.echo(str(record), nl=False)
    else:
        written = write_record(record, output)
    if quiet:
        return
    for note in record.notes:
        click.echo(note, err=True)
    if output is not None:
        click.echo(written, err=True)
