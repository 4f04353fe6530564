"""`tseval train number` and `tseval train grammaticality`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import click
import torch

from tseval.cli.console import Console
from tseval.cli.train.options import COUNT, FILE, POSITIVE, SEED, apply_preset, cell_options
from tseval.cli.train.run import Bar, build, check_out, finished
from tseval.models.cells import CELLS
from tseval.models.cells.cell import options_of
from tseval.models.classifier import Classifier
from tseval.models.language_model import Sizes, count_parameters
from tseval.models.tasks import TASKS
from tseval.scoring.numerics.device import pick_device
from tseval.suites.load import load_suite
from tseval.training.classifier import train_classifier
from tseval.training.examples import Examples, make_vocabulary, read_split
from tseval.training.language_model import Destination
from tseval.training.presets import CLASSIFIER_PRESETS
from tseval.training.resume import resume_path
from tseval.training.settings import ClassifierSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tseval.checked import Json
    from tseval.suites.items import Suite

Function = TypeVar("Function", bound="Callable[..., object] | click.Command")
DEFAULT = ClassifierSettings()
TRAIN, VALID = ("train",), ("valid", "dev")


def _setting(name: str, kind: click.ParamType[object], text: str) -> Callable[[Function], Function]:
    return click.option(
        f"--{name.replace('_', '-')}", name, type=kind, default=getattr(DEFAULT, name), help=text,
        show_default=True,
    )  # fmt: skip


OPTIONS = [
    click.option("--data", multiple=True, required=True, metavar="SUITE",
                 help="A table of agreement examples, or other pairs with cases train and valid."),
    click.option("--min-count", type=COUNT, default=2, show_default=True, help="Leave out rarer words."),
    click.option("--lowercase", is_flag=True, help="Lower-case all text, also when scoring."),
    click.option("--arch", type=click.Choice(list(CELLS)), required=True, help="Recurrent cell."),
    click.option("--embedding", type=COUNT, default=50, show_default=True, help="Width of a word vector."),
    click.option("--hidden", type=COUNT, default=50, show_default=True, help="Width of a recurrent layer."),
    click.option("--layers", type=COUNT, default=1, show_default=True, help="Recurrent layers."),
    click.option("--dropout", default=0.0, show_default=True, help="Share of units dropped in training."),
    click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                 help="Something else that can be chosen about the cell; activation is relu unless given."),
    click.option("--preset", type=click.Choice(list(CLASSIFIER_PRESETS)),
                 help="Sizes and settings of a paper; options that are given go before them."),
    _setting("epochs", COUNT, "Passes over the examples, at most."),
    _setting("patience", COUNT, "Stop after so many epochs in a row that were no better."),
    _setting("batch", COUNT, "Examples learnt from at once."),
    _setting("learning_rate", POSITIVE, "Adam's."),
    _setting("clip", POSITIVE, "Largest gradient norm."),
    _setting("initial_range", POSITIVE, "Word vectors start uniform within plus and minus this."),
    _setting("seed", SEED, "Of initial weights, order of examples, dropout and noise."),
    click.option("--out", type=FILE, required=True, help="Checkpoint to write (.pt or .safetensors)."),
    click.option("--resume", is_flag=True, help="Go on with an interrupted training, to the same result."),
    click.option("--save-every", type=POSITIVE, default=300.0, show_default=True,
                 help="Seconds between savings that --resume goes on from."),
    click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda."),
    click.option("--quiet", is_flag=True, help="Print errors only."),
]  # fmt: skip


def _options(function: Function) -> Function:
    for option in reversed(OPTIONS):
        function = option(function)
    return function


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
    check_out(out, resume)
    # What can be wrong with the settings is said before the data are read; the vocabulary comes from them.
    sizes = _sizes(context, task)
    if resume and out.exists() and not resume_path(out).exists():
        console.out(finished(out, sizes, settings))
        return
    device = pick_device(given["device"])
    suites = [load_suite(f"{name}:{TASKS[task].methods[0]}") for name in dict.fromkeys(given["data"])]
    train, valid = (read_split(suites, TASKS[task], split) for split in (TRAIN, VALID))
    words = make_vocabulary(train, min_count=given["min_count"], lowercase=given["lowercase"])
    torch.manual_seed(settings.seed)
    model = build(Classifier, replace(sizes, vocabulary=len(words)), settings.initial_range, device)
    console.out(
        f"{sizes.arch}: {count_parameters(model):,} parameters ({model.n_core_parameters:,} recurrent), "
        f"{len(words):,} words, {len(train):,} examples to train on, {len(valid):,} to validate on"
    )
    destination = Destination(out, _origin(given["preset"], suites), given["save_every"], resume)
    examples = Examples.encode(train, words), Examples.encode(valid, words)
    try:
        with Bar(console, "examples", "epoch {}: validation accuracy {:.3f}") as bar:
            best = train_classifier(model, words, examples, settings, destination, bar)
    except KeyboardInterrupt:
        click.echo("\nWhat was learnt is saved: add --resume to go on.", err=True)
        raise
    console.out(f"{out}: validation accuracy {best:.3f}")


def _sizes(context: click.Context, task: str) -> Sizes:
    """Gather the sizes from the options; a cell that can choose has ReLU, as in Bhatt et al. 2020.

    Raises:
        ModelError: If they do not go together.
    """
    given = context.params
    options = cell_options(given["arch"], given["options"])
    if "activation" in options_of(CELLS[given["arch"]]):
        options = {"activation": "relu", **options}
    names = ("arch", "embedding", "hidden", "layers", "dropout")
    return Sizes(vocabulary=1, options=options, task=task, **{name: given[name] for name in names})


def _origin(preset: str | None, suites: list[Suite]) -> dict[str, Json]:
    """Say what a checkpoint records about where it comes from."""
    origin: dict[str, Json] = {"preset": preset} if preset else {}
    return origin | {
        "command": shlex.join(["tseval", *sys.argv[1:]]),
        "data": [{"suite": suite.name, "digest": suite.digest} for suite in suites],
    }
