"""`tseval train number` and `tseval train grammaticality`."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from tseval.cli.console import Console
from tseval.cli.options import COUNT, DEVICE, QUIET, take_all
from tseval.cli.progress import busy
from tseval.cli.train.options import (
    CHECKPOINT,
    LOWERCASE,
    POSITIVE,
    SEED,
    apply_preset,
    cell_options,
    setting,
    size_options,
)
from tseval.cli.train.run import Bar, build, describe_model, finished, origin_of, reserved
from tseval.models.cells import CELLS
from tseval.models.cells.cell import options_of
from tseval.models.network import TASKS, Classifier, Sizes
from tseval.scoring.numerics import pick_device
from tseval.suites import load_suite
from tseval.training.classifier import Examples, make_vocabulary, read_split, train_classifier
from tseval.training.language_model import Destination
from tseval.training.loop import ClassifierSettings
from tseval.training.presets import CLASSIFIER_PRESETS

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.formats import Json

TRAIN, VALID = ("train",), ("valid", "dev")


_setting = partial(setting, defaults=ClassifierSettings())
_options = take_all([
    click.option("--data", multiple=True, required=True, metavar="SUITE",
                 help="A table of agreement examples, or other pairs with cases train and valid."),
    click.option("--min-count", type=COUNT, default=2, show_default=True, help="Leave out rarer words."),
    LOWERCASE,
    *size_options(embedding=50, hidden=50, layers=1, dropout=0.0),
    click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                 help="Something else that can be chosen about the cell; activation is relu unless given, "
                 "but tanh in GRU and LSTM."),
    click.option("--preset", type=click.Choice(list(CLASSIFIER_PRESETS)),
                 help="Sizes and settings of a paper; options that are given go before them."),
    _setting("epochs", COUNT, "Passes over the examples, at most."),
    _setting("patience", COUNT, "Stop after so many epochs in a row that were no better."),
    _setting("batch", COUNT, "Examples learnt from at once."),
    _setting("learning_rate", POSITIVE, "Adam's."),
    _setting("clip", POSITIVE, "Largest gradient norm."),
    _setting("initial_range", POSITIVE, "Word vectors start uniform within plus and minus this."),
    _setting("seed", SEED, "Of initial weights, order of examples, dropout and noise."),
    _setting("log_every", COUNT, "Batches between points of the learning curve, such as α, within an epoch."),
    *CHECKPOINT,
    DEVICE,
    QUIET,
])  # fmt: skip


@click.command()
@_options
@click.pass_context
def number(context: click.Context, /, **_: object) -> None:
    """Train a classifier that predicts a verb's number from the words before it."""
    _train(context, "number")


@click.command()
@_options
@click.pass_context
def grammaticality(context: click.Context, /, **_: object) -> None:
    """Train a classifier that judges whole sentences."""
    _train(context, "grammaticality")


def _train(context: click.Context, task: str) -> None:
    """Train a classifier as the options say."""
    given = context.params
    out: Path = given["out"]
    resume: bool = given["resume"]
    console = Console(given["quiet"])
    apply_preset(context, CLASSIFIER_PRESETS)
    settings = ClassifierSettings(**{one.name: given[one.name] for one in fields(ClassifierSettings)})
    context.with_resource(reserved(out, resume))
    # What can be wrong with the settings is said before the data are read; the vocabulary comes from them.
    sizes = _sizes(context, task)
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


def _sizes(context: click.Context, task: str) -> Sizes:
    """Gather the sizes from the options; a cell that can choose has ReLU, as in Bhatt et al. 2020.

    GRU and LSTM, which could not choose at first, keep tanh unless asked.

    Raises:
        ModelError: If they do not go together.
    """
    given = context.params
    options = cell_options(given["arch"], given["options"])
    cell = CELLS[given["arch"]]
    if "activation" in options_of(cell) and "activation" not in cell.later_options:
        options = {"activation": "relu", **options}
    names = ("arch", "embedding", "hidden", "layers", "dropout")
    return Sizes(vocabulary=1, options=options, task=task, **{name: given[name] for name in names})
