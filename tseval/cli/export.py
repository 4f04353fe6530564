"""`tseval export`: write suites and runs for other tools."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote

import click

from tseval.cli.groups import Group
from tseval.cli.names import RUN, SUITE
from tseval.cli.options import COLUMNS_OPTION, COUNT, FILE, QUIET, text_option
from tseval.cli.progress import busy
from tseval.files import write_output


@click.group(cls=Group, purposes={"Suites": ("lm-eval",), "Runs": ("glmm", "eee")})
def export_command() -> None:
    """Export suites and runs to other tools: lm-eval, R, Every Eval Ever."""


@export_command.command("lm-eval")
@click.argument("suite", type=SUITE)
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Folder in which to write the task files of lm-eval.",
)
@click.option(
    "--limit",
    type=COUNT,
    metavar="N",
    help="Use only the first N items of each case of the suite (default: all items).",
)
@click.option(
    "--tokenise",
    is_flag=True,
    help="Split punctuation and clitics off the words of data "
    'sets ("can\'t help himself." becomes "ca n\'t help himself .").',
)
@COLUMNS_OPTION
@text_option("natural", of="a grammar's sentences (data sets stay unchanged)")
@QUIET
def lm_eval(
    suite: str, output: Path, limit: int | None, tokenise: bool, columns: dict[str, str] | None, text: str,
    quiet: bool,
) -> None:  # fmt: skip
    """Write a suite as a group of tasks for lm-eval: one task for each row of the suite's table."""
    from tseval.report.exports.lm_eval import write_tasks
    from tseval.suites import load_suite

    with busy(f"writing {suite}", quiet):
        loaded = load_suite(suite, limit=limit, tokenise=tokenise, columns=columns)
        if text != "natural":
            loaded = replace(loaded, writing=None)
        group, *tasks = write_tasks(loaded, output)
    if not quiet:
        click.echo(f"{output}: {group}, {len(tasks)} tasks", err=True)
        click.echo(f"lm_eval --include_path {quote(str(output))} --tasks {group} ...", err=True)


@export_command.command("glmm")
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--out", "output", type=click.Path(path_type=Path, dir_okay=False), required=True,
              metavar="FILE.csv", help="CSV file for the verdicts (right, wrong or undecidable), one row "
                                       "for each model and item.")  # fmt: skip
@QUIET
def glmm(runs: tuple[str, ...], output: Path, quiet: bool) -> None:
    """Write the verdicts of runs to a CSV file, and print R code that fits a mixed model (lme4) to them."""
    from tseval.boards.sources import open_runs
    from tseval.report.exports.mixed_models import in_r, mixed_model, write_verdicts

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
@click.option("-o", "--out", "output", type=FILE, metavar="FILE.json|DIR",
              help="File for the record, or a folder in which tseval arranges the records as Every Eval "
                   "Ever stores them (default: print the record).",
)  # fmt: skip
@click.option(
    "--model-id",
    metavar="DEVELOPER/NAME",
    help="Name of the model on the hub that hosts it, such as openai-community/gpt2 (default: the name in "
    "the run).",
)
@click.option(
    "--organisation",
    default="unknown",
    show_default=True,
    help="Name of the organisation that scored the model.",
)
@click.option("--relationship", default="other", show_default=True,
              type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
              help="Relationship between the organisation that scored the model and its developer: "
                   "first_party (the same), third_party, collaborative or other.")  # fmt: skip
@click.option("--availability", type=click.Choice(["open_weights", "closed_weights", "unknown"]),
              default="unknown", show_default=True,
              help="Availability of the model's weights to everyone: open_weights, closed_weights or "
                   "unknown.")  # fmt: skip
@QUIET
def eee(run: Path, output: Path | None, quiet: bool, **facts: str | None) -> None:  # fmt: skip
    """Write runs as records in the format of Every Eval Ever, a public store of evaluations.

    RUN is the folder of a run, of an entry of a leaderboard, or of a whole leaderboard.
    """
    from tseval.boards.sources import entries_with_ids, open_run
    from tseval.report.exports.every_eval_ever import Submission, make_record, write_record
    from tseval.runs import DEFINITION

    submission = Submission(**facts)  # type: ignore[arg-type] # click holds them to their choices
    named = [(run, submission)]
    if (run / DEFINITION).is_file():
        if output is None or output.suffix == ".json" or submission.model_id is not None:
            raise click.UsageError(
                f"{run} is a leaderboard, whose entries become several records. Name a folder with -o, and "
                "leave out --model-id."
            )
        named = [(folder, replace(submission, model_id=name)) for folder, name in entries_with_ids(run)]
    notes: dict[str, None] = {}
    written: list[Path] = []
    for path, submitted in named:
        with busy(f"reading {path}", quiet):
            record = make_record(open_run(path), path, submitted)
        notes |= dict.fromkeys(record.notes)
        if output is None:
            click.echo(str(record), nl=False)
        else:
            written.append(write_record(record, output))
    for line in () if quiet else (*notes, *written):
        click.echo(line, err=True)
