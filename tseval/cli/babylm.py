"""`tseval babylm`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.model_options import model_options, open_chosen, read_arguments, say_warnings
from tseval.cli.options import FILE, QUIET
from tseval.cli.progress import busy, progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.babylm import TaskResult


@click.command()
@model_options
@click.option("--data", type=FILE, required=True,
              help="The folder full_eval or fast_eval of BabyLM's evaluation data.")  # fmt: skip
@click.option("--out", type=FILE, default=Path("results"), show_default=True,
              help="Folder for the predictions, laid out as BabyLM's pipeline has it.")  # fmt: skip
@QUIET
@click.pass_context
def babylm_command(
    context: click.Context, spec: str, model_args: str, device: str, data: Path, out: Path, quiet: bool
) -> None:
    """Score BabyLM's zero-shot tasks, and write the predictions that its pipeline collects.

    A folder that is missing is named, and the exit code is then 1.
    """
    from tseval.babylm import (
        PIPELINE_OPTIONS,
        load_tasks,
        plan_tasks,
        results_folder,
        score_task,
        write_summary,
    )

    with busy(f"reading {data}", quiet):
        tasks, missing = load_tasks(data)
    options = PIPELINE_OPTIONS.get(spec.partition(":")[0], {}) | read_arguments(model_args)
    model = open_chosen(
        spec, ",".join(f"{key}={value}" for key, value in options.items()), device, quiet=quiet
    )
    where = results_folder(out, spec, options.get("revision", "main"))
    results: dict[str, TaskResult] = {}
    for planned in plan_tasks(model, tasks, where):
        folder = planned.loaded.folder
        with progress_bar(f"{model.card.name} on {folder}", quiet) as progress:
            results[folder] = score_task(planned, progress)
    write_summary(model, results, where)
    if not quiet:
        click.echo(_table(results))
        click.echo(str(where), err=True)
    say_warnings(model)
    for folder, result in results.items():
        if 100 * result.n_tied > result.n_items:
            said = (
                f"{folder}: {result.n_tied:,} of {result.n_items:,} items are ties, which count as right here"
            )
            click.echo(f"warning: {said}", err=True)
    for name in missing:
        click.echo(f"missing: {data / name}: no predictions were made of it", err=True)
    if (data / "reading").is_dir():
        click.echo(
            f"left out: {data / 'reading'}: BabyLM's own pipeline scores it (docs/babylm.md)", err=True
        )
    if missing:
        context.exit(1)


def _table(results: Mapping[str, TaskResult]) -> str:
    from tabulate import tabulate

    from tseval.report.document import NONE, share, whole

    rows = [
        (
            folder,
            whole(result.n_items),
            result.measure,
            NONE if result.score is None else share(result.score),
            whole(result.n_tied),
        )
        for folder, result in results.items()
    ]
    headings, align = (
        ("Task", "Items", "Measure", "Score", "Ties"),
        ("left", "right", "left", "right", "right"),
    )
    return tabulate(rows, headings, tablefmt="pipe", colalign=align, disable_numparse=True)
