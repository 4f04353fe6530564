"""`tseval train`: language models, classifiers, and the zoo of all architectures."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click
import pandas as pd
import torch

from tseval.cli.console import busy, ended_in_order, open_console, print_or_write, say_progress, watching
from tseval.cli.options import COUNT, FILE, Command
from tseval.cli.train_options import (
    Bar,
    apply_preset,
    build,
    chosen_language,
    chosen_settings,
    chosen_sizes,
    classifier_options,
    describe_model,
    finished,
    lm_options,
    origin_of,
    read_training_text,
    reserved,
)
from tseval.errors import SuiteError, TrainingError, TsevalError, shortened
from tseval.files import write_text
from tseval.models.cells import CELLS
from tseval.models.network import TASKS, Classifier, LanguageModel
from tseval.report.curves import (
    curve_numbers,
    error_panels,
    read_curves,
    read_error_curves,
    read_string_curves,
    string_panels,
    write_curves_figure,
)
from tseval.report.figures import write_figure
from tseval.scoring.devices import accelerator, pick_device
from tseval.suites import load_suite
from tseval.training.classifier import Examples, make_vocabulary, read_split, train_classifier
from tseval.training.curves import curves_path
from tseval.training.language_model import EarlyEvaluation, accuracy_path, train_language_model
from tseval.training.loop import Destination
from tseval.training.settings import CLASSIFIER_PRESETS, ClassifierSettings, Settings
from tseval.training.steps import product_type

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from tseval.formats import Json
    from tseval.report.boards import Board
    from tseval.runs import Run
    from tseval.sweeps import UnitState
    from tseval.training.zoo import Recipe, ZooModel


TRAIN, VALID = ("train",), ("valid", "dev")


@click.command(cls=Command)
@classifier_options
@click.pass_context
def number_command(context: click.Context, /, **_: object) -> None:
    """Train a classifier that predicts the number of a verb from the words before it."""
    _train(context, "number")


@click.command(cls=Command)
@classifier_options
@click.pass_context
def grammaticality_command(context: click.Context, /, **_: object) -> None:
    """Train a classifier that judges sentences as grammatical or ungrammatical."""
    _train(context, "grammaticality")


def _train(context: click.Context, task: str) -> None:
    given = context.params
    out: Path = given["out"]
    resume: bool = given["resume"]
    console = open_console(given["quiet"])
    apply_preset(context, CLASSIFIER_PRESETS)
    settings = chosen_settings(context, ClassifierSettings)
    context.with_resource(reserved(out, resume))
    # What can be wrong with the settings is said before the data are read; the vocabulary comes from them.
    sizes = chosen_sizes(context, task)
    if done := finished(out, resume, sizes, settings):
        console.out(done)
        return
    device = pick_device(given["device"])
    with busy("reading examples", given["quiet"]):
        suites = [load_suite(f"{name}:{TASKS[task].methods[0]}") for name in dict.fromkeys(given["data"])]
        train, valid = (read_split(suites, TASKS[task], split) for split in (TRAIN, VALID))
        words = make_vocabulary(train, min_count=given["min_count"], lowercase=given["lowercase"])
    model = build(Classifier, replace(sizes, vocabulary=len(words)), settings, device)
    examples_read = f"{len(train):,} examples to train on, {len(valid):,} to validate on"
    console.out(f"{describe_model(model, len(words))}, {examples_read}")
    data: list[Json] = [{"suite": suite.name, "digest": suite.digest} for suite in suites]
    destination = Destination(out, origin_of(given["preset"], data=data), given["save_every"], resume)
    examples = Examples.encode(train, words), Examples.encode(valid, words)
    with Bar(console, "examples", "epoch {}: validation accuracy {:.3f}") as bar:
        best = train_classifier(model, words, examples, settings, destination, bar)
    console.out(f"{out}: validation accuracy {best:.3f}")


@click.command(cls=Command)
@lm_options
@click.pass_context
def lm_command(
    context: click.Context, /, out: Path, resume: bool, save_every: float, preset: str | None,
    eval_suites: tuple[str, ...], eval_every: int | None, eval_limit: int | None, eval_sample: int | None,
    eval_runs: Path | None, figure: bool, device: str, quiet: bool, **_: object,
) -> None:  # fmt: skip
    """Train a word-level language model on tokenised text or on a formal language."""
    console = open_console(quiet)
    language = chosen_language(context)
    apply_preset(context, language=language)
    settings = chosen_settings(context, Settings)
    context.with_resource(reserved(out, resume))
    # What can be wrong with the settings is said before the text is read; the vocabulary comes from the text.
    sizes = chosen_sizes(context)
    if done := finished(out, resume, sizes, settings):
        console.out(done)
        if figure and curves_path(out).exists() and not _figures(out)[-1].exists():
            _draw(out, console)  # the training was killed before or while it was drawn
        return
    place = pick_device(device)
    with busy("reading texts and suites", quiet):
        suites = [load_suite(one, limit=eval_limit, sample=eval_sample) for one in dict.fromkeys(eval_suites)]
        names = [suite.name for suite in suites]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise SuiteError(
                f"two suites of --eval-suite have the name {min(repeated)!r}. Leave out one of the two."
            )
        text = read_training_text(context, language)
    vocabulary = text.vocabulary
    model = build(LanguageModel, replace(sizes, vocabulary=len(vocabulary)), settings, place)
    console.out(f"{describe_model(model, len(vocabulary))}, {len(text.streams[0]):,} training tokens")
    if product_type(settings.precision, place) is not getattr(torch, settings.precision):
        console.out(
            f"--precision {settings.precision} is not faster on this machine, because the processor has no "
            "instructions for this format"
        )
    probe = EarlyEvaluation(accuracy_path(out), suites, vocabulary, eval_every, eval_runs) if suites else None
    destination = Destination(out, origin_of(preset, files=text.files), save_every, resume, probe)
    said = "window {}: validation perplexity {:.2f}"
    with Bar(console, "tokens", said, guess=len(vocabulary)) as bar:
        best = train_language_model(model, vocabulary, text.streams, settings, destination, bar)
    if figure:
        _draw(out, console)
    console.out(f"{out}: validation perplexity {best:.2f}")


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "-o", "--out", type=FILE, required=True, help="File in which to draw the figure: .svg, .pdf or .png."
)
@click.option(
    "--error",
    is_flag=True,
    help="Draw the error on the suite of --eval-suite (vertical axis) "
    "against the training loss (horizontal axis).",
)
@click.option("--strings", is_flag=True,
              help="For models of a formal language: draw the loss, and the error on the suite of "
                   "--eval-suite, for each epoch. Files whose names end in -seed1, -seed2, ... become one "
                   "line.")  # fmt: skip
@click.option(
    "--numbers", type=FILE, help="CSV file in which to write the numbers of the figure (default: none)."
)
def curves_command(
    files: tuple[Path, ...], out: Path, error: bool, strings: bool, numbers: Path | None
) -> None:
    """Draw the learning curves of several models into one figure."""
    if error and strings:
        raise click.UsageError(
            "--error and --strings draw two different figures. Leave out --error or --strings."
        )
    with busy("drawing"):
        if strings:
            by_epoch = read_string_curves(files)
            write_figure(*string_panels(by_epoch), [out], TrainingError)
            rows = by_epoch.drop(columns="suite")
        elif error:
            by_loss = [read_error_curves(path) for path in files]
            write_figure(*error_panels(by_loss), [out], TrainingError)
            rows = pd.concat(by_loss)
        else:
            learning = [read_curves(path) for path in files]
            write_curves_figure(learning, [out])
            rows = curve_numbers(learning)
        if numbers:
            write_text(numbers, rows.to_csv(index=False))


def _draw(out: Path, console: Console) -> None:
    """Draw the curves of a model beside it; that the figure cannot be drawn does not spoil the training."""
    try:
        with busy("drawing", console.quiet):
            write_curves_figure([read_curves(curves_path(out))], _figures(out))
    except (TsevalError, OSError) as error:
        console.out(f"no figure: {error}")


def _figures(out: Path) -> list[Path]:
    """Name the figures of a checkpoint's curves, in the order in which they are written."""
    return [curves_path(out).with_suffix(ending) for ending in (".svg", ".png")]


@click.command("zoo", cls=Command)
@click.option("--corpus", "texts", type=FILE, required=True,
              help="Folder with the training text train.txt.gz and the validation text valid.txt.gz.",
)  # fmt: skip
@click.option("--train", "more_texts", type=FILE, multiple=True,
              help="File with more training text, which the models read after train.txt.gz. It adds no "
                   "words to the vocabulary. Repeatable.")  # fmt: skip
@click.option("-o", "--out", type=FILE, required=True, help="Folder in which to save models, runs and logs.")
@click.option("--recipe", "recipe_name", default="paper", show_default=True,
              help="Training settings for all models: the recipe paper, wide, cpu or small, or the path "
                   "of a YAML file.")  # fmt: skip
@click.option("--arch", "archs", type=click.Choice(list(CELLS)), multiple=True,
              help="Train only this architecture. Repeatable (default: all architectures).")  # fmt: skip
@click.option("--seeds", type=COUNT,
              help="Number of models to train of each architecture, each with another seed (default: the "
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
              help="Keep the entries of the leaderboard in --publish that the same recipe made on another "
                   "machine, and add the new models to them.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only the table and errors.")
def zoo_command(
    texts: Path, more_texts: tuple[Path, ...], out: Path, recipe_name: str, archs: tuple[str, ...],
    seeds: int | None, jobs: int | None, beside: tuple[str, ...], target: Path | None, extend: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Train every architecture on the same text, score each on Marvin & Linzen, print the ranks.

    If you stop the training, repeat the same command: it continues and trains no finished model again.
    """
    from tseval.boards.sources import open_sources
    from tseval.training.zoo import alone, make, plan, read_corpus, read_recipe, settle
    from tseval.training.zoo_board import check_target, models_to_keep, publish

    # What can be wrong is said before hours are spent.
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
        own = [entry.name for entry in entries if entry.finished()]
        kept = {model.name for model in models_to_keep(target, recipe, own, corpus.digests.values())}
        entries = [entry for entry in entries if entry.name not in kept]
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
            said = shortened(f"tseval: {entry.name} failed: {failed[entry.name]}\n  Log: {entry.log}")
            click.echo(said, err=True)
    if failed:
        if target is not None:
            said = (
                f"tseval: no leaderboard in {target}, because some models failed. To continue, repeat "
                f"the same command."
            )
            click.echo(shortened(said), err=True)
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
    """Hold a recipe's options to what `tseval train lm` takes."""
    for arch in archs:
        files = ["--train", "train.txt.gz", "--valid", "valid.txt.gz", "--out", "model.pt"]
        try:
            context = lm_command.make_context("lm", ["--arch", arch, *files, *recipe.arguments(arch)])
            chosen_settings(context, Settings)
            chosen_sizes(context)
        except (click.UsageError, TsevalError) as error:
            said = error.format_message() if isinstance(error, click.UsageError) else error
            raise TrainingError(f"recipe {recipe.name}, {arch}: {said}") from None


def _say(state: UnitState) -> str:
    """Say how far a model is: the last line of its log, and when it is done its perplexity."""
    record = state.record
    if record.stage == "done":
        from tseval.runs import read_run

        details = read_run(state.unit.run).manifest.model.details
        return f"validation perplexity {details['validation_perplexity']:.2f}"
    return say_progress(state)
