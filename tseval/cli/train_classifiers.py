"""`tseval train number` and `tseval train grammaticality`: train classifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.progress import busy, open_console
from tseval.cli.train_checkpoint import finished, reserved
from tseval.cli.train_options import (
    apply_preset,
    build,
    chosen_settings,
    chosen_sizes,
    classifier_options,
    describe_model,
    origin_of,
)
from tseval.cli.training_bar import Bar
from tseval.models.network import TASKS, Classifier
from tseval.scoring.devices import pick_device
from tseval.suites import load_suite
from tseval.training.classifier import Examples, make_vocabulary, read_split, train_classifier
from tseval.training.loop import Destination
from tseval.training.settings import CLASSIFIER_PRESETS, ClassifierSettings

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.formats import Json


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
    options = context.params
    out: Path = options["out"]
    resume: bool = options["resume"]
    console = open_console(options["quiet"])
    apply_preset(context, CLASSIFIER_PRESETS)
    settings = chosen_settings(context, ClassifierSettings)
    context.with_resource(reserved(out, resume))
    # Errors in the settings are reported before the data are read, so the vocabulary is not known yet.
    sizes = chosen_sizes(context, task)
    if message := finished(out, resume, sizes, settings):
        console.out(message)
        return
    device = pick_device(options["device"])
    with busy("reading examples", options["quiet"]):
        suites = [load_suite(f"{name}:{TASKS[task].methods[0]}") for name in dict.fromkeys(options["data"])]
        train, valid = (read_split(suites, TASKS[task], split) for split in (TRAIN, VALID))
        words = make_vocabulary(train, min_count=options["min_count"], lowercase=options["lowercase"])
    model = build(Classifier, replace(sizes, vocabulary=len(words)), settings, device)
    examples_read = f"{len(train):,} examples to train on, {len(valid):,} to validate on"
    console.out(f"{describe_model(model, len(words))}, {examples_read}")
    data: list[Json] = [{"suite": suite.name, "digest": suite.digest} for suite in suites]
    destination = Destination(out, origin_of(options["preset"], data=data), options["save_every"], resume)
    examples = Examples.encode(train, words), Examples.encode(valid, words)
    with Bar(console, "examples", "epoch {}: validation accuracy {:.3f}") as bar:
        best = train_classifier(model, words, examples, settings, destination, bar)
    console.out(f"{out}: validation accuracy {best:.3f}")
