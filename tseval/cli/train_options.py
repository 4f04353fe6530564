"""Options of `tseval train`, and the sizes, settings and networks that they describe."""

from __future__ import annotations

import shlex
import sys
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import click
import torch
from click.core import ParameterSource

from tseval.cli.model_options import DEVICE
from tseval.cli.options import COUNT, FILE, QUIET, FiniteRange, Function, take_all
from tseval.errors import ModelError, TrainingError
from tseval.models.cells import CELLS
from tseval.models.cells.cell import Option, options_of
from tseval.models.network import Network, Sizes, count_parameters
from tseval.training.settings import CLASSIFIER_PRESETS, PRESETS, ClassifierSettings, Preset, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.formats import Json
    from tseval.suites.formal.languages import Language


AnyNetwork = TypeVar("AnyNetwork", bound=Network)
AnySettings = TypeVar("AnySettings", Settings, ClassifierSettings)

POSITIVE = FiniteRange(min=0, min_open=True)
# Types of options whose field has too general an annotation.
KINDS: dict[str, click.ParamType[object]] = {
    "arch": click.Choice(list(CELLS)), "dropout": click.FLOAT, "seed": click.IntRange(0, 2**63 - 1)
}  # fmt: skip
OPTIONS = {"compiled": "--compile"}


def field_options(
    cls: type[Sizes | Settings | ClassifierSettings], without: Sequence[str] = (), **defaults: object
) -> list[Callable[[Function], Function]]:
    """Return an option for every field that has a help text. `defaults` replace those of the fields."""
    hints = get_type_hints(cls, include_extras=True)
    return [
        _option(field.name, get_args(hints[field.name]), defaults.get(field.name, field.default))
        for field in fields(cls)
        if get_origin(hints[field.name]) is Annotated and field.name not in without
    ]


def _option(name: str, hint: tuple[Any, ...], default: object) -> Callable[[Function], Function]:
    type_, text = hint
    names = OPTIONS.get(name, f"--{name.replace('_', '-')}"), name
    if type_ is bool:
        return click.option(*names, is_flag=True, help=text)
    kind = KINDS.get(name) or (POSITIVE if type_ is float else COUNT)
    if get_origin(type_) is Literal:
        kind = click.Choice(get_args(type_))
    if default is MISSING:
        return click.option(*names, type=kind, required=True, help=text)
    return click.option(*names, type=kind, default=default, show_default=default is not None, help=text)


def preset_option(presets: Mapping[str, Preset]) -> Callable[[Function], Function]:
    """Return the option --preset, which names one of these presets."""
    return click.option(
        "--preset", type=click.Choice(list(presets)),
        help="Use the sizes and settings of this paper as defaults. Options that you type override them "
             "(default: no paper).",
    )  # fmt: skip


LOWERCASE = click.option(
    "--lowercase",
    is_flag=True,
    help="Convert all text to lower case, in training and when the model is scored.",
)
# Options for the file of the checkpoint, and for resuming an interrupted training.
CHECKPOINT = [
    click.option("-o", "--out", type=FILE, required=True,
                 help="File for the checkpoint: .pt or .safetensors."),
    click.option("--resume", is_flag=True, help="Continue the interrupted training of the model in --out. "
                                                "The result is the same as without the interruption."),
    click.option("--save-every", type=POSITIVE, default=300.0, show_default=True,
                 help="Number of seconds between two saved states of the training, from which --resume "
                      "can continue."),
]  # fmt: skip
TEXT = [
    click.option("--train", "train_files", type=FILE, multiple=True,
                 help="File with the training text: tokenised, one sentence a line. Repeatable: tseval "
                      "reads the files in this order."),
    click.option("--valid", "valid_file", type=FILE,
                 help="File with the validation text: tokenised, one sentence a line. Required with "
                      "--train (default: none)."),
    click.option("--suite", metavar="LANGUAGE",
                 help="Formal language, such as 'cross_serial(8)', from which tseval draws the training "
                      "and validation texts instead of reading files (default: none)."),
    click.option("--vocab-from", type=FILE,
                 help="File from which to take the vocabulary (default: all training texts)."),
    click.option("--vocab-size", type=COUNT, help="Number of words in the vocabulary: tseval keeps the "
                                                  "most frequent ones (default: all words)."),
    click.option("--min-count", type=COUNT, default=1, show_default=True,
                 help="Leave rare words out of the vocabulary: words with fewer occurrences than this "
                      "number."),
    LOWERCASE,
]  # fmt: skip
MODEL = [
    *field_options(Sizes, embedding=200, hidden=650, layers=2, dropout=0.2),
    click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                 help="Setting of the recurrent cell, such as alpha_bound=none. docs/architectures.md "
                      "lists the settings and their defaults. Repeatable."),
]  # fmt: skip
EARLY = [
    click.option("--eval-suite", "eval_suites", multiple=True, metavar="SUITE",
                 help="Suite on which to score the model several times during the training. Repeatable "
                      "(default: none)."),
    click.option("--eval-every", type=COUNT, help="Number of windows (training steps) between two "
                                                  "evaluations on --eval-suite (default: evaluate at each "
                                                  "validation)."),
    click.option("--eval-limit", type=COUNT, help="Use only the first N items of each case of "
                                                  "--eval-suite (default: all items)."),
    click.option("--eval-sample", type=COUNT,
                 help="Use only N random items of each case of --eval-suite, the same at each evaluation "
                      "(default: all items)."),
    click.option("--eval-runs", type=FILE, help="Folder in which to save every evaluation on --eval-suite "
                                                "as a run (default: save no runs)."),
]  # fmt: skip
OUTPUT = [
    *CHECKPOINT,
    click.option("--figure/--no-figure", default=True, show_default=True,
                 help="Draw the learning curves as figures (.svg and .png) next to the checkpoint."),
    DEVICE,
    QUIET,
]  # fmt: skip
lm_options = take_all([*TEXT, *MODEL, preset_option(PRESETS), *field_options(Settings), *EARLY, *OUTPUT])
classifier_options = take_all([
    click.option("--data", multiple=True, required=True, metavar="SUITE",
                 help="Data to train on: a table from tseval data agreement, or a suite of pairs with the "
                      "cases train and valid. Repeatable."),
    click.option("--min-count", type=COUNT, default=2, show_default=True,
                 help="Leave rare words out of the vocabulary: words with fewer occurrences than this "
                      "number."),
    LOWERCASE,
    *field_options(Sizes, without=["tied"], embedding=50, hidden=50, layers=1, dropout=0.0),
    click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                 help="Setting of the recurrent cell, such as activation=tanh. Repeatable. The default of "
                      "activation is relu, but tanh for GRU and LSTM."),
    preset_option(CLASSIFIER_PRESETS),
    *field_options(ClassifierSettings),
    *CHECKPOINT,
    DEVICE,
    QUIET,
])  # fmt: skip


def apply_preset(
    context: click.Context, presets: Mapping[str, Preset] = PRESETS, language: Language | None = None
) -> None:
    """Replace the defaults of the options by those of the preset, if one is named."""
    if name := context.params["preset"]:
        preset = presets[name]
        _replace_defaults(context, {**preset.sizes, **preset.settings})
        if preset.derived:
            _replace_defaults(
                context, preset.derived(context.params["arch"], context.params["hidden"], language)
            )


def _replace_defaults(context: click.Context, values: Mapping[str, int | float | str]) -> None:
    for option, value in values.items():
        if context.get_parameter_source(option) is ParameterSource.DEFAULT:
            context.params[option] = value


def chosen_sizes(context: click.Context, task: str | None = None) -> Sizes:
    """Return the sizes from the options, for a vocabulary that is not yet known.

    In classifiers, cells with a choice of activation use ReLU, as in Bhatt et al. 2020. GRU and LSTM got this
    choice later, so their default stays tanh.
    """
    values = context.params
    options = cell_options(values["arch"], values["options"])
    cell = CELLS[values["arch"]]
    if task is not None and "activation" in options_of(cell) and "activation" not in cell.later_options:
        options = {"activation": "relu", **options}
    names = {field.name for field in fields(Sizes)} & values.keys() - {"options"}
    return Sizes(vocabulary=1, options=options, task=task, **{name: values[name] for name in names})


def cell_options(arch: str, texts: Sequence[str]) -> dict[str, Option]:
    """Read `NAME=VALUE`. Each value gets the type of the cell's default."""
    defaults = options_of(CELLS[arch])
    options: dict[str, Option] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ModelError(f"--option {text}: write NAME=VALUE. {_describe(arch, defaults)}")
        kind = type(defaults.get(name, ""))
        try:
            options[name] = {"true": True, "false": False}[value] if kind is bool else kind(value)
        except (KeyError, ValueError):
            wanted = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
            raise ModelError(
                f"--option {text}: the setting {name} must be {wanted}. Write --option {name}=VALUE."
            ) from None
    return options


def _describe(arch: str, defaults: Mapping[str, Option]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in defaults.items())
    return f"The defaults of {arch}: {settings}." if defaults else f"The cell {arch} has no settings."


def chosen_settings(context: click.Context, cls: type[AnySettings]) -> AnySettings:
    """Return the settings from the options."""
    return cls(**{field.name: context.params[field.name] for field in fields(cls)})


def build(
    kind: type[AnyNetwork], sizes: Sizes, settings: Settings | ClassifierSettings, device: torch.device
) -> AnyNetwork:
    """Set torch's random seed to that of the settings, and return a network with random weights."""
    torch.manual_seed(settings.seed)
    try:
        return kind(sizes, settings.initial_range).to(device)
    except (MemoryError, RuntimeError):
        raise TrainingError(
            f"a model of this size does not fit into memory. Lower --hidden ({sizes.hidden}), --embedding "
            f"({sizes.embedding}), or the number of words in the vocabulary ({sizes.vocabulary})."
        ) from None


def describe_model(model: Network, words: int) -> str:
    """Return a text with the size of a network."""
    counts = f"{count_parameters(model):,} parameters ({model.n_core_parameters:,} recurrent)"
    return f"{model.sizes.arch}: {counts}, {words:,} words"


def origin_of(preset: str | None, **texts: list[Json]) -> dict[str, Json]:
    """Return the origin that a checkpoint records: the preset, the command and the training texts."""
    origin: dict[str, Json] = {"preset": preset} if preset else {}
    return origin | {"command": shlex.join(["tseval", *sys.argv[1:]]), **texts}
