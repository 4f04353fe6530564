"""Options that choose a model, and functions that open the chosen model."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.names import MODEL
from tseval.cli.options import COUNT, take_all
from tseval.cli.progress import busy
from tseval.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.scoring.protocol import Model


DEVICE = click.option(
    "--device",
    default="auto",
    show_default=True,
    help="Device that runs the model: auto (a GPU if there is one, else the CPU), cpu or cuda.",
)
MODEL_ARGS = click.option(
    "--model-args",
    default="",
    metavar="KEY=VALUE,...",
    help="Settings that the kind of model understands, such as dtype=float32 (default: none). "
    "docs/adapters.md lists them.",
)
PROMPT = click.option(
    "--prompt",
    metavar="NAME or FILE",
    help="Question for a prompt model (prompt:hf:MODEL or prompt:URL): grammatical, acceptable, likely, or a "
    "template file (default: grammatical).",
)
PARALLEL = click.option(
    "--parallel",
    type=COUNT,
    metavar="N",
    help="Number of requests at the same time to prompt:URL (default: 8).",
)
asked_options = take_all([PROMPT, PARALLEL])
ASKED = "prompt:"  # prefix of the names of prompt models


def with_prompt(
    specs: Sequence[str], arguments: dict[str, str], prompt: str | None, parallel: int | None
) -> dict[str, str]:
    """Add the values of --prompt and --parallel to the arguments of a model.

    For a model on a server, an API key is refused here, before it could get into a file.
    """
    prompted = [spec for spec in specs if spec.startswith(ASKED)]
    options = {"prompt": prompt, "parallel": None if parallel is None else str(parallel)}
    for name, value in options.items():
        if value is not None and len(prompted) < len(specs):
            raise ModelError(
                f"--{name} is only for prompt models, but --model is "
                f"{next(spec for spec in specs if spec not in prompted)}.\n"
                f"  Leave out --{name}, or write --model prompt:hf:FOLDER or --model prompt:URL"
            )
    served = any(spec.startswith(f"{ASKED}http") for spec in specs)
    if keys := sorted(name for name in arguments if served and name.lower() in _KEYS):
        raise ModelError(
            f"--model-args {keys[0]}: a key on the command line can be read by others.\n"
            "  Put the key into an environment variable, and name that: --model-args key_from=VARIABLE"
        )
    return {**arguments, **{name: value for name, value in options.items() if value is not None}}


_KEYS = frozenset({"key", "api_key", "apikey", "token", "auth_token", "password", "authorization", "header"})
model_options = take_all([
    click.option("--model", "spec", type=MODEL, required=True, metavar="MODEL",
                 help="Model to use: a checkpoint file, or KIND:NAME, such as bundled:lstm or hf:gpt2. "
                      "The command tseval models lists the kinds."),
    MODEL_ARGS,
    DEVICE,
])  # fmt: skip


def open_chosen(
    spec: str,
    model_args: str,
    device: str,
    precision: str = "float32",
    quiet: bool = False,
    prompt: str | None = None,
    parallel: int | None = None,
) -> Model:
    """Open the chosen model, with a message if this takes long. Imports torch."""
    arguments = with_precision(with_prompt([spec], read_arguments(model_args), prompt, parallel), precision)
    with busy(f"opening {spec}", quiet):
        from tseval.adapters import open_model

        model = open_model(spec, arguments, device)
    if not quiet and (reading := model.card.details.get("reading")):
        click.echo(f"{spec}: {reading}", err=True)
    # An adapter of another package may ignore an argument that it does not know.
    if precision not in {"float32", model.card.protocol.get("precision")}:
        raise ModelError(
            f"--precision {precision}: {model.card.name} cannot compute in this precision. Leave out "
            "--precision."
        )
    return model


def with_precision(arguments: dict[str, str], precision: str) -> dict[str, str]:
    """Add the value of --precision to the arguments of a model."""
    if precision == "float32":
        return arguments
    if (second := arguments.get("precision", precision)) != precision:
        raise ModelError(
            f"--precision {precision} and --model-args precision={second} contradict each other. Leave out "
            f"--precision or precision={second}."
        )
    return {**arguments, "precision": precision}


def say_warnings(model: Model) -> None:
    """Print the warnings of a model on standard error, for commands that write no manifest."""
    for warning in getattr(model, "warnings", ()):
        click.echo(f"warning: {warning}", err=True)


def read_arguments(text: str) -> dict[str, str]:
    """Read `key=value,...`. A part without `=` continues the value before it, as in `vocab_from=a,b`.

    Paths may contain commas and equals signs. So a part also continues the value before it if both together
    are the path of an existing file or folder.
    """
    arguments: dict[str, str] = {}
    parts = text.rstrip(",").split(",") if text.rstrip(",") else []
    last, index = "", 0
    while index < len(parts):
        key, equals, value = parts[index].partition("=")
        end = _end_of_path(arguments.get(last), parts, index)
        if end > index:
            arguments[last] = ",".join([arguments[last], *parts[index:end]])
            index = end
            continue
        if (equals and not key) or not (equals or last):
            raise ModelError(
                f"--model-args {text!r}: there is a value without the name of a setting. "
                "Write NAME=VALUE,NAME=VALUE, such as dtype=float32."
            )
        last = key if equals else last
        arguments[last] = value if equals else f"{arguments[last]},{parts[index]}"
        index += 1
    return arguments


LONGEST_PATH, MOST_COMMAS = 4_096, 16  # largest numbers of characters and of commas in a path


def _end_of_path(value: str | None, parts: Sequence[str], start: int) -> int:
    """Return the end of the parts that continue a value to an existing path, or `start` if none do."""
    if value is None or len(value) > LONGEST_PATH:
        return start
    for end in range(min(len(parts), start + MOST_COMMAS), start, -1):
        with suppress(OSError, ValueError):
            if Path(",".join([value, *parts[start:end]])).exists():
                return end
    return start
