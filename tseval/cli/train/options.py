"""The options of commands that train. Names are those of the fields of `Sizes`, `Settings` and the like."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, get_args

import click
from click.core import ParameterSource

from tseval.cli.options import COUNT, DEVICE, FILE, QUIET, FiniteRange, Function, take_all
from tseval.errors import ModelError
from tseval.models.cells import CELLS
from tseval.models.cells.cell import options_of
from tseval.models.checkpoint import StoredType
from tseval.models.network import Sizes
from tseval.training.loop import Optimiser, Precision, RateSchedule, Settings
from tseval.training.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.models.cells.cell import Option
    from tseval.suites.formal.languages import Language
    from tseval.training.loop import ClassifierSettings
    from tseval.training.presets import Preset

SEED = click.IntRange(0, 2**63 - 1)


POSITIVE = FiniteRange(min=0, min_open=True)


def setting(
    name: str, kind: click.ParamType[object], text: str, defaults: Settings | ClassifierSettings
) -> Callable[[Function], Function]:
    """Make the option of a field of settings; the default is the field's."""
    default = getattr(defaults, name)
    return click.option(
        f"--{name.replace('_', '-')}", name, type=kind, default=default, help=text,
        show_default=default is not None,
    )  # fmt: skip


def _setting(name: str, kind: click.ParamType[object], text: str) -> Callable[[Function], Function]:
    return setting(name, kind, text, Settings())


def _choice(values: object) -> click.Choice[str]:
    return click.Choice(get_args(values))


def size_options(
    embedding: int, hidden: int, layers: int, dropout: float
) -> list[Callable[[Function], Function]]:
    """Make the options of a network's sizes, with these defaults."""
    return [
        click.option("--arch", type=click.Choice(list(CELLS)), required=True, help="Recurrent cell."),
        click.option("--embedding", type=COUNT, default=embedding, show_default=True,
                     help="Width of a word vector."),
        click.option("--hidden", type=COUNT, default=hidden, show_default=True,
                     help="Width of a recurrent layer."),
        click.option("--layers", type=COUNT, default=layers, show_default=True, help="Recurrent layers."),
        click.option("--dropout", default=dropout, show_default=True,
                     help="Share of units dropped in training."),
    ]  # fmt: skip


LOWERCASE = click.option("--lowercase", is_flag=True, help="Lower-case all text, also when scoring.")
# Where the checkpoint goes, and how an interrupted training goes on.
CHECKPOINT = [
    click.option("--out", type=FILE, required=True, help="Checkpoint to write (.pt or .safetensors)."),
    click.option("--resume", is_flag=True, help="Go on with an interrupted training, to the same result."),
    click.option("--save-every", type=POSITIVE, default=300.0, show_default=True,
                 help="Seconds between savings that --resume goes on from."),
]  # fmt: skip
TEXT = [
    click.option("--train", "train_files", type=FILE, multiple=True,
                 help="Training text; may be repeated, and is read file after file."),
    click.option("--valid", "valid_file", type=FILE, help="Validation text."),
    click.option(
        "--suite",
        metavar="LANGUAGE",
        help="Draw both texts from a formal language, such as 'cross_serial(8)'; by whole lines.",
    ),
    click.option("--vocab-from", type=FILE,
                 help="Make the vocabulary from this text alone; else from all training texts."),
    click.option("--vocab-size", type=COUNT, help="Keep the most frequent words only."),
    click.option("--min-count", type=COUNT, default=1, show_default=True, help="Leave out rarer words."),
    LOWERCASE,
]  # fmt: skip
MODEL = [
    *size_options(embedding=200, hidden=650, layers=2, dropout=0.2),
    click.option("--tied", is_flag=True, help="Share embedding and output matrix."),
    click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                 help="Something else that can be chosen about the cell, such as alpha_bound=none."),
]  # fmt: skip
SETTINGS = [
    click.option("--preset", type=click.Choice(list(PRESETS)),
                 help="Sizes and settings of a paper; options that are given go before them."),
    _setting("epochs", COUNT, "Passes over the text."),
    _setting("max_tokens", COUNT, "Stop after so many training tokens, in place of --epochs."),
    _setting("batch", COUNT, "Parallel columns of text, or lines."),
    _setting("window", COUNT, "Words errors go back through."),
    click.option("--fresh-state", is_flag=True,
                 help="Start every window from the fresh state, for cells that cannot forget (urn)."),
    click.option("--whole-lines", is_flag=True,
                 help="Read whole lines, each from the fresh state, in place of windows of columns."),
    _setting("optimiser", _choice(Optimiser), "How weights are updated."),
    _setting("learning_rate", POSITIVE, "The optimiser's, at the start."),
    _setting("schedule", _choice(RateSchedule), "Course of the learning rate: cosine ends at zero, anneal "
             "divides when the validation perplexity gets no better."),
    _setting("anneal_factor", POSITIVE, "What anneal divides by."),
    _setting("clip", POSITIVE, "Largest gradient norm."),
    _setting("initial_range", POSITIVE, "Word vectors start uniform within plus and minus this."),
    _setting("seed", SEED, "Of initial weights and dropout."),
    _setting("precision", _choice(Precision), "Type of the matrix products."),
    _setting("stored", _choice(StoredType), "Type of the weights on disk."),
    _setting("validate_every", COUNT, "Also validate every N windows, not only after each epoch."),
    _setting("log_every", COUNT, "Windows between points of the learning curve."),
    click.option("--compile", "compiled", is_flag=True, help="Compile the recurrent loops (for GPUs)."),
]  # fmt: skip
EARLY = [
    click.option("--eval-suite", "eval_suites", multiple=True, metavar="SUITE",
                 help="Record the accuracy on this suite along the training."),
    click.option("--eval-every", type=COUNT, help="Windows between evaluations; else with each validation."),
    click.option("--eval-limit", type=COUNT, help="Evaluate the first N items of each case only."),
    click.option("--eval-sample", type=COUNT,
                 help="Evaluate N items of each case only, drawn at random, the same ones each time."),
    click.option("--eval-runs", type=FILE, help="Keep a run of every evaluation in this folder."),
]  # fmt: skip
OUTPUT = [
    *CHECKPOINT,
    click.option("--figure/--no-figure", default=True, show_default=True,
                 help="Draw the learning curves beside the checkpoint."),
    DEVICE,
    QUIET,
]  # fmt: skip
training_options = take_all([*TEXT, *MODEL, *SETTINGS, *EARLY, *OUTPUT])


def apply_preset(
    context: click.Context, presets: Mapping[str, Preset] = PRESETS, language: Language | None = None
) -> None:
    """Let the preset, if one is named, stand in for the defaults of the options.

    Raises:
        TrainingError: If the preset takes sizes from a language, and not from this one.
    """
    if name := context.params["preset"]:
        preset = presets[name]
        _stand_in(context, {**preset.sizes, **preset.settings})
        if preset.derived:
            _stand_in(context, preset.derived(context.params["arch"], context.params["hidden"], language))


def _stand_in(context: click.Context, values: Mapping[str, int | float | str]) -> None:
    for option, value in values.items():
        if context.get_parameter_source(option) is ParameterSource.DEFAULT:
            context.params[option] = value


def chosen_sizes(context: click.Context, vocabulary: int) -> Sizes:
    """Gather the sizes from the options.

    Raises:
        ModelError: If they do not go together.
    """
    names = {field.name for field in fields(Sizes)} & context.params.keys()
    options = cell_options(context.params["arch"], context.params["options"])
    return Sizes(
        vocabulary=vocabulary, **{name: context.params[name] for name in names} | {"options": options}
    )


def cell_options(arch: str, texts: Sequence[str]) -> dict[str, Option]:
    """Read `NAME=VALUE`, each value by the type of the cell's default.

    Raises:
        ModelError: If a text has no `=`, or the value is of another type. Unknown names are for `Sizes` to
            refuse.
    """
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
            raise ModelError(f"--option {text}: {name} must be {wanted}") from None
    return options


def _describe(arch: str, defaults: Mapping[str, Option]) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in defaults.items())
    return f"The defaults of {arch}: {shown}." if defaults else f"The cell {arch} has none."


def chosen_settings(context: click.Context) -> Settings:
    """Gather the settings from the options."""
    return Settings(**{field.name: context.params[field.name] for field in fields(Settings)})
