"""`tseval train zoo`: train every architecture, score each, print the ranks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.interrupts import ended_in_order
from tseval.cli.options import COUNT, FILE
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy, say_progress, watching
from tseval.cli.train_lm import lm_command
from tseval.cli.train_options import chosen_settings, chosen_sizes
from tseval.errors import TrainingError, TsevalError, shortened
from tseval.models.cells import CELLS
from tseval.scoring.devices import accelerator
from tseval.training.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report.published import Board
    from tseval.runs import Run
    from tseval.sweeps import UnitState
    from tseval.training.zoo import Recipe, ZooModel


@click.command("zoo", cls=Command)
@click.option("--corpus", "texts", type=FILE, required=True,
              help="Folder with the training text train.txt.gz and the validation text valid.txt.gz.",
)  # fmt: skip
@click.option("--train", "more_texts", type=FILE, multiple=True,
              help="File with more training text, which the models read after train.txt.gz. It adds no "
                   "words to the vocabulary. Repeatable.")  # fmt: skip
@click.option("-o", "--out", type=FILE, required=True, help="Folder in which to save models, runs and logs.")
@click.option("--recipe", "recipe_name", default="paper", show_default=True,
              help="Training settings for all models: the name of a recipe ('paper', 'wide', 'cpu' or "
                   "'small'), or the path of a YAML file.")  # fmt: skip
@click.option("--arch", "archs", type=click.Choice(list(CELLS)), multiple=True,
              help="Train only this architecture. Repeatable (default: all architectures).")  # fmt: skip
@click.option("--seeds", type=COUNT,
              help="Number of models to train of each architecture, each with a different seed (default: the "
                   "number in the recipe).")  # fmt: skip
@click.option("--jobs", type=COUNT,
              help="Number of models to train at the same time (default: one on a GPU; without a GPU, one "
                   "for each core).")  # fmt: skip
@click.option(
    "--beside",
    multiple=True,
    metavar="BOARD",
    help="Leaderboard, such as bhatt2020, whose entries are printed in the same table as the new models. "
    "Repeatable.",
)
@click.option("--publish", "target", type=FILE,
              help="Folder in which to create a leaderboard of the models. It holds their per-token "
                   "scores, but not their weights (default: create none).")  # fmt: skip
@click.option("--extend", is_flag=True,
              help="Keep the other models of the leaderboard in --publish, such as those from another "
                   "machine. All models must have the same recipe and texts.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only the table and errors.")
def zoo_command(
    texts: Path, more_texts: tuple[Path, ...], out: Path, recipe_name: str, archs: tuple[str, ...],
    seeds: int | None, jobs: int | None, beside: tuple[str, ...], target: Path | None, extend: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Train every architecture on the same text, score each on Marvin & Linzen, print the ranks.

    To continue a training that stopped, repeat the same command. It does not train finished models again.
    """
    from tseval.boards.sources import open_sources
    from tseval.training.zoo import alone, make, plan, read_corpus, read_recipe, settle
    from tseval.training.zoo_board import check_target, models_to_keep, publish

    # Errors are reported before hours of training.
    recipe = read_recipe(recipe_name)
    chosen = [arch for arch in CELLS if not archs or arch in archs]
    _check_options(recipe, chosen)
    boards = open_sources(beside)
    if target is not None:
        check_target(target)
    elif extend:
        raise click.UsageError(
            "--extend adds models to a leaderboard, but its folder is missing. Add --publish FOLDER."
        )
    with busy("reading texts", quiet):
        corpus = read_corpus(texts, more_texts)
    entries = plan(recipe, chosen, seeds, out)
    if target is not None and extend:
        names = [entry.name for entry in entries if entry.finished()]
        published = {model.name for model in models_to_keep(target, recipe, names, corpus.digests.values())}
        entries = [entry for entry in entries if entry.name not in published]
        if not entries:
            _print_published(target, boards)
            return
    with alone(out), ended_in_order(out), watching(quiet, _say) as watch:
        settle(out, corpus, entries)
        failed = make(out, entries, corpus, jobs or (1 if accelerator() else os.cpu_count() or 1), watch)
    done = [entry for entry in entries if entry.name not in failed]
    complete = target is not None and not failed
    if done and not (extend and complete):
        _print_models(done, recipe, boards, quiet=quiet)
    if target is not None and complete:
        with busy(f"publishing to {target}", quiet):
            publish(target, recipe, done, extend=extend)
        if extend:
            _print_published(target, boards)
    for entry in entries:
        if entry.name in failed:
            message = shortened(f"tseval: {entry.name} failed: {failed[entry.name]}\n  Log: {entry.log}")
            click.echo(message, err=True)
    if failed:
        if target is not None:
            message = (
                f"tseval: no leaderboard in {target}, because some models failed. To continue, repeat "
                f"the same command."
            )
            click.echo(shortened(message), err=True)
        raise click.exceptions.Exit(1)


def _print_models(
    done: Sequence[ZooModel], recipe: Recipe, boards: Sequence[Run | Board], *, quiet: bool
) -> None:
    from tseval.report import build_table
    from tseval.training.zoo import seeds_of_zoo, sources_of

    with busy("reading runs", quiet):
        table, of_seeds = build_table([*sources_of(done, recipe), *boards]), seeds_of_zoo(done)
    print_or_write(table)
    if of_seeds is not None:
        click.echo()
        print_or_write(of_seeds)


def _print_published(target: Path, boards: Sequence[Run | Board]) -> None:
    from tseval.boards.sources import open_sources
    from tseval.report import build_table

    print_or_write(build_table([*open_sources([str(target)]), *boards]))


def _check_options(recipe: Recipe, archs: Sequence[str]) -> None:
    """Refuse a recipe with options that `tseval train lm` does not accept."""
    for arch in archs:
        files = ["--train", "train.txt.gz", "--valid", "valid.txt.gz", "--out", "model.pt"]
        try:
            context = lm_command.make_context("lm", ["--arch", arch, *files, *recipe.arguments(arch)])
            chosen_settings(context, Settings)
            chosen_sizes(context)
        except (click.UsageError, TsevalError) as error:
            message = error.format_message() if isinstance(error, click.UsageError) else error
            raise TrainingError(f"recipe {recipe.name}, {arch}: {message}") from None


def _say(state: UnitState) -> str:
    """Return the progress of a model, or its validation perplexity if it is done."""
    record = state.record
    if record.stage == "done":
        from tseval.runs import read_run

        details = read_run(state.unit.run).manifest.model.details
        return f"validation perplexity {details['validation_perplexity']:.2f}"
    return say_progress(state)
