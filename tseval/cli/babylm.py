"""`tseval babylm`: score the zero-shot tasks of BabyLM and write predictions for its pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.model_options import model_options, open_chosen, read_arguments, say_warnings
from tseval.cli.options import FILE, QUIET
from tseval.cli.progress import busy, progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.babylm import TaskResult


@click.command(cls=Command)
@model_options
@click.option("--data", type=FILE, required=True,
              help="Path of the folder full_eval or fast_eval, a part of the evaluation data of BabyLM.",
)  # fmt: skip
@click.option("-o", "--out", type=FILE, default=Path("results"), show_default=True,
              help="Folder for the predictions. Inside, tseval makes the subfolders that the BabyLM "
                   "pipeline expects.")  # fmt: skip
@QUIET
@click.pass_context
def babylm_command(
    context: click.Context, spec: str, model_args: str, device: str, data: Path, out: Path, quiet: bool
) -> None:
    """Score the zero-shot tasks of BabyLM and write predictions for its pipeline.

    If the folder of a task is missing from --data, tseval scores the other tasks, names the missing
    folder and exits with code 1.
    """
    from tseval import babylm

    with busy(f"reading {data}", quiet):
        tasks, missing = babylm.load_tasks(data)
    options = babylm.PIPELINE_OPTIONS.get(spec.partition(":")[0], {}) | read_arguments(model_args)
    arguments = ",".join(f"{key}={value}" for key, value in options.items())
    model = open_chosen(spec, arguments, device, quiet=quiet)
    folder_of_results = babylm.results_folder(out, spec, options.get("revision", "main"))
    results: dict[str, TaskResult] = {}
    for planned in babylm.plan_tasks(model, tasks, folder_of_results):
        folder = planned.loaded.folder
        with progress_bar(f"{model.card.name} on {folder}", quiet) as progress:
            results[folder] = babylm.score_task(planned, progress)
    babylm.write_summary(model, results, folder_of_results)
    if not quiet:
        click.echo(_table(results))
        click.echo(str(folder_of_results), err=True)
    say_warnings(model)
    for folder, result in results.items():
        if 100 * result.n_tied > result.n_items:
            message = (
                f"{folder}: {result.n_tied:,} of {result.n_items:,} items are ties, which BabyLM counts as "
                "right"
            )
            click.echo(f"warning: {message}", err=True)
    for name in missing:
        click.echo(
            f"missing: the folder {data / name} does not exist, so tseval wrote no predictions for this task",
            err=True,
        )
    if (data / "reading").is_dir():
        click.echo(
            f"left out: {data / 'reading'}: tseval does not score this task, because the pipeline of "
            "BabyLM scores it itself (docs/babylm.md)",
            err=True,
        )
    if missing:
        context.exit(1)


def _table(results: Mapping[str, TaskResult]) -> str:
    from tabulate import tabulate

    from tseval.report.numbers import NONE, format_count, format_share

    rows = []
    for folder, result in results.items():
        score = NONE if result.score is None else format_share(result.score)
        ties = format_count(result.n_tied)
        rows.append((folder, format_count(result.n_items), result.measure, score, ties))
    headings, align = (
        ["Task", "Items", "Measure", "Score", "Ties"],
        ("left", "right", "left", "right", "right"),
    )
    return tabulate(rows, headings, tablefmt="pipe", colalign=align, disable_numparse=True)
