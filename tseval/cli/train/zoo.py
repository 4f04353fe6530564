"""`tseval train zoo`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tseval.cli.options import COUNT, FILE
from tseval.cli.progress import busy
from tseval.cli.watching import ended_in_order, say_progress, watching
from tseval.errors import TrainingError, TsevalError, shortened
from tseval.models.cells import CELLS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report.table import Board
    from tseval.runs import Run
    from tseval.sweeps import UnitState
    from tseval.training.zoo import Recipe, ZooModel


@click.command("zoo")
@click.option("--corpus", "texts", type=FILE, required=True,
              help="Folder with train.txt.gz and valid.txt.gz.")  # fmt: skip
@click.option("--train", "more_texts", type=FILE, multiple=True,
              help="More training text, after the corpus's own, whose words it adds none to.")  # fmt: skip
@click.option("--out", type=FILE, required=True, help="Folder of the zoo: models, runs and logs.")
@click.option("--recipe", "recipe_name", default="paper", show_default=True,
              help="paper, wide, cpu, small, or a YAML file.")  # fmt: skip
@click.option("--arch", "archs", type=click.Choice(list(CELLS)), multiple=True,
              help="Only this architecture; may be repeated.")  # fmt: skip
@click.option("--seeds", type=COUNT,
              help="Models of each architecture; else as the recipe says.")  # fmt: skip
@click.option("--jobs", type=COUNT,
              help="Models made at a time; else one on each core, or one on a GPU.")  # fmt: skip
@click.option("--beside", multiple=True, metavar="BOARD", help="A board to print beside the zoo (bhatt2020).")
@click.option(
    "--publish",
    "target",
    type=FILE,
    help="Also write a board to this folder: tables and evidence, no weights.",
)
@click.option("--extend", is_flag=True,
              help="Keep the models that this folder has, made elsewhere in the same way.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print the table and errors only.")
def zoo_command(
    texts: Path, more_texts: tuple[Path, ...], out: Path, recipe_name: str, archs: tuple[str, ...],
    seeds: int | None, jobs: int | None, beside: tuple[str, ...], target: Path | None, extend: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Train every architecture on the same text, score each on Marvin & Linzen, print the ranked table.

    The same command goes on where an earlier one was stopped; what is finished is not done again.
    """
    from tseval.report import open_sources
    from tseval.training.zoo import (
        alone,
        check_target,
        make,
        models_to_keep,
        plan,
        publish,
        read_corpus,
        read_recipe,
        settle,
    )

    # What can be wrong is said before hours are spent.
    recipe = read_recipe(recipe_name)
    chosen = [arch for arch in CELLS if not archs or arch in archs]
    _check_options(recipe, chosen)
    boards = open_sources(beside)
    if target is not None:
        check_target(target)
    elif extend:
        raise click.UsageError("--extend is for the folder of --publish: name that too.")
    with busy("reading texts", quiet):
        corpus = read_corpus(texts, more_texts)
    entries = plan(recipe, chosen, seeds, out)
    if target is not None and extend:
        own = [entry.name for entry in entries if entry.finished()]
        kept = {model.name for model in models_to_keep(target, recipe, own, corpus.digests.values())}
        entries = [entry for entry in entries if entry.name not in kept]
        if not entries:
            _print_published(target, boards)
            return
    with alone(out), ended_in_order(out), watching(quiet, _say) as watch:
        settle(out, corpus, entries)
        models = make(out, entries, corpus, jobs or _default_jobs(), watch)
    failed = [model for model in models if model.failed is not None]
    done = [model.entry for model in models if model.failed is None]
    complete = target is not None and not failed
    if done and not (extend and complete):
        _print_models(done, recipe, boards, quiet=quiet)
    if target is not None and complete:
        with busy(f"publishing to {target}", quiet):
            publish(target, recipe, done, extend=extend)
        if extend:
            _print_published(target, boards)
    for model in failed:
        said = shortened(f"tseval: {model.entry.name} failed: {model.failed}\n  See {model.entry.log}.")
        click.echo(said, err=True)
    if failed:
        if target is not None:
            said = f"tseval: nothing was published to {target}: the zoo is not complete"
            click.echo(shortened(said), err=True)
        raise click.exceptions.Exit(1)


def _print_models(
    done: Sequence[ZooModel], recipe: Recipe, boards: Sequence[Run | Board], *, quiet: bool
) -> None:
    """Print the table of models, and with several seeds the one of their means with intervals."""
    from tseval.cli.printing import print_or_write
    from tseval.report import build_table
    from tseval.training.zoo import seeds_of_zoo, sources_of

    with busy("reading runs", quiet):
        table, of_seeds = build_table([*sources_of(done, recipe), *boards]), seeds_of_zoo(done)
    print_or_write(table)
    if of_seeds is not None:
        click.echo()
        print_or_write(of_seeds)


def _print_published(target: Path, boards: Sequence[Run | Board]) -> None:
    """Print the table of a published zoo."""
    from tseval.cli.printing import print_or_write
    from tseval.report import build_table, open_sources

    print_or_write(build_table([*open_sources([str(target)]), *boards]))


def _check_options(recipe: Recipe, archs: Sequence[str]) -> None:
    """Hold a recipe's options to what `tseval train lm` takes."""
    from tseval.cli.train.language_model import lm
    from tseval.cli.train.options import chosen_settings, chosen_sizes

    for arch in archs:
        files = ["--train", "train.txt.gz", "--valid", "valid.txt.gz", "--out", "model.pt"]
        try:
            context = lm.make_context("lm", ["--arch", arch, *files, *recipe.arguments(arch)])
            chosen_settings(context)
            chosen_sizes(context, vocabulary=1)
        except (click.UsageError, TsevalError) as error:
            said = error.format_message() if isinstance(error, click.UsageError) else error
            raise TrainingError(f"recipe {recipe.name}, {arch}: {said}") from None


def _default_jobs() -> int:
    from tseval.scoring.numerics import accelerator

    return os.cpu_count() or 1 if accelerator() is None else 1


def _say(state: UnitState) -> str:
    """Say how far a model is: the last line of its log, and when it is done its perplexity."""
    record = state.record
    if record.stage == "done":
        from tseval.runs import read_run

        details = read_run(state.unit.run).manifest.model.details
        return f"validation perplexity {details['validation_perplexity']:.2f}"
    return say_progress(state)
