"""The options by which a command is given a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.importing import imported_for_good, without_collector
from tseval.cli.options import DEVICE, take_all
from tseval.cli.progress import busy
from tseval.errors import ModelError

if TYPE_CHECKING:
    from tseval.scoring.protocol import Model

MODEL_ARGS = click.option("--model-args", default="", help="key=value,... for the model's adapter.")
model_options = take_all([
    click.option("--model", "spec", required=True, help="Checkpoint, or SCHEME:REST (bundled:lstm)."),
    MODEL_ARGS,
    DEVICE,
])  # fmt: skip


def open_chosen(
    spec: str, model_args: str, device: str, precision: str = "float32", quiet: bool = False
) -> Model:
    """Open the model that was named, and say so where it takes long; brings torch along.

    Raises:
        ModelError: The model cannot be used, or not in this precision, or its arguments are not
            `key=value,...`.
    """
    arguments = read_arguments(model_args)
    if precision != "float32" and arguments.setdefault("precision", precision) != precision:
        raise ModelError(f"--precision {precision} and --model-args {model_args} exclude each other")
    with busy(f"opening {spec}", quiet):
        from tseval.adapters import find_adapter, open_model

        find_adapter(spec)  # a slip in a name is answered before torch is there
        with imported_for_good():
            import torch  # noqa: F401 - every adapter but few needs it, and its objects are to be left alone

        with without_collector():  # transformers is imported on the way
            model = open_model(spec, arguments, device)
    # An adapter from outside may overlook what it does not know.
    if precision not in {"float32", model.card.protocol.get("precision")}:
        raise ModelError(f"--precision {precision}: {model.card.name} is not computed in it. Leave it out.")
    return model


def say_warnings(model: Model) -> None:
    """Say on standard error what a reader of a model's numbers should know, where no manifest keeps it."""
    for warning in getattr(model, "warnings", ()):
        click.echo(f"warning: {warning}", err=True)


def read_arguments(text: str) -> dict[str, str]:
    """Read `key=value,...`."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise ModelError(f"--model-args {text!r}: write key=value,key=value")
    return {key: value for key, _, value in pairs}
