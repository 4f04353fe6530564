"""What `tseval train` is given and what it makes of that: options, settings, a place, a bar, a text."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import click
import torch
from click.core import ParameterSource
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tseval.cli.options import COUNT, DEVICE, FILE, QUIET, FiniteRange, Function, take_all
from tseval.errors import ModelError, TrainingError
from tseval.files import locked
from tseval.models import SPECIAL_WORDS, Vocabulary
from tseval.models.cells import CELLS
from tseval.models.cells.cell import Option, options_of
from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import Network, Sizes, count_parameters
from tseval.suites.formal.languages import Language, parse_language
from tseval.training.corpus import (
    Stream,
    count_words,
    describe_drawn,
    draw_text,
    encode_text,
    file_facts,
    map_text,
    vocabulary_of,
)
from tseval.training.resume import resume_path
from tseval.training.settings import CLASSIFIER_PRESETS, PRESETS, ClassifierSettings, Preset, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from tseval.formats import Json


AnyNetwork = TypeVar("AnyNetwork", bound=Network)
AnySettings = TypeVar("AnySettings", Settings, ClassifierSettings)

POSITIVE = FiniteRange(min=0, min_open=True)
# Of fields whose annotation does not say all.
KINDS: dict[str, click.ParamType[object]] = {
    "arch": click.Choice(list(CELLS)), "dropout": click.FLOAT, "seed": click.IntRange(0, 2**63 - 1)
}  # fmt: skip
OPTIONS = {"compiled": "--compile"}


def field_options(
    cls: type[Sizes | Settings | ClassifierSettings], without: Sequence[str] = (), **defaults: object
) -> list[Callable[[Function], Function]]:
    """Make an option of every field that has a help text; defaults given here go before its own."""
    hints = get_type_hints(cls, include_extras=True)
    return [
        _option(one.name, get_args(hints[one.name]), defaults.get(one.name, one.default))
        for one in fields(cls)
        if get_origin(hints[one.name]) is Annotated and one.name not in without
    ]


def _option(name: str, hint: tuple[Any, ...], default: object) -> Callable[[Function], Function]:
    of, text = hint
    names = OPTIONS.get(name, f"--{name.replace('_', '-')}"), name
    if of is bool:
        return click.option(*names, is_flag=True, help=text)
    kind = KINDS.get(name) or (POSITIVE if of is float else COUNT)
    if get_origin(of) is Literal:
        kind = click.Choice(get_args(of))
    if default is MISSING:
        return click.option(*names, type=kind, required=True, help=text)
    return click.option(*names, type=kind, default=default, show_default=default is not None, help=text)


def preset_option(presets: Mapping[str, Preset]) -> Callable[[Function], Function]:
    """Make the option that names one of these presets."""
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
# Where the checkpoint goes, and how an interrupted training goes on.
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
                 help="Leave words that occur less often than this number of times out of the vocabulary."),
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
                 help="Leave words that occur less often than this number of times out of the vocabulary."),
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
    """Let the preset, if one is named, stand in for the defaults of the options."""
    if name := context.params["preset"]:
        preset = presets[name]
        _stand_in(context, {**preset.sizes, **preset.settings})
        if preset.derived:
            _stand_in(context, preset.derived(context.params["arch"], context.params["hidden"], language))


def _stand_in(context: click.Context, values: Mapping[str, int | float | str]) -> None:
    for option, value in values.items():
        if context.get_parameter_source(option) is ParameterSource.DEFAULT:
            context.params[option] = value


def chosen_sizes(context: click.Context, task: str | None = None) -> Sizes:
    """Gather the sizes from the options, for a vocabulary that is not yet known.

    The cell of a classifier that can choose has ReLU, as in Bhatt et al. 2020; GRU and LSTM, which could not
    choose at first, keep tanh unless asked.
    """
    given = context.params
    options = cell_options(given["arch"], given["options"])
    cell = CELLS[given["arch"]]
    if task is not None and "activation" in options_of(cell) and "activation" not in cell.later_options:
        options = {"activation": "relu", **options}
    names = {one.name for one in fields(Sizes)} & given.keys() - {"options"}
    return Sizes(vocabulary=1, options=options, task=task, **{name: given[name] for name in names})


def cell_options(arch: str, texts: Sequence[str]) -> dict[str, Option]:
    """Read `NAME=VALUE`, each value by the type of the cell's default."""
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
    shown = ", ".join(f"{name}={value}" for name, value in defaults.items())
    return f"The defaults of {arch}: {shown}." if defaults else f"The cell {arch} has no settings."


def chosen_settings(context: click.Context, cls: type[AnySettings]) -> AnySettings:
    """Gather the settings from the options."""
    return cls(**{one.name: context.params[one.name] for one in fields(cls)})


LINE_EVERY = 60.0  # seconds between lines where there is no terminal


@contextmanager
def reserved(out: Path, resume: bool) -> Iterator[None]:
    """Hold the place of a checkpoint: no two trainings write there at once."""
    _check_out(out, resume)
    taken = TrainingError(
        f"{out} is locked, because another tseval command is training this model.\n"
        "  Wait until that command ends, or choose another file with --out."
    )
    with locked(out.with_name(f"{out.name}.lock"), taken):
        _check_out(out, resume)  # another may have ended before we held the lock
        yield


def _check_out(out: Path, resume: bool) -> None:
    """Refuse what cannot be written, or must not be overwritten, now rather than after hours."""
    unfinished = resume_path(out)
    if unfinished.exists() and not resume:
        raise TrainingError(
            f"{unfinished}: this file is the state of an interrupted training. To continue the training, "
            f"add --resume. To start over, remove {f'the file and {out}' if out.exists() else 'the file'}."
        )
    if out.exists() and not resume:
        raise TrainingError(
            f"{out}: this file exists already. Choose another file with --out, or remove the file."
        )
    if out.suffix not in (".pt", ".safetensors"):
        raise TrainingError(
            f"{out}: a checkpoint cannot have this name. Choose a name that ends in .pt or .safetensors."
        )
    if not out.parent.is_dir():
        raise TrainingError(
            f"{out}: the folder {out.parent} does not exist. Create the folder, or choose another file "
            "with --out."
        )
    if not os.access(out.parent, os.W_OK):
        raise TrainingError(
            f"{out}: you have no permission to write into the folder {out.parent}. Choose "
            "another file with --out."
        )


def finished(out: Path, resume: bool, sizes: Sizes, settings: Settings | ClassifierSettings) -> str | None:
    """Say that a training is done, if it is the one asked for; None where there is something to do."""
    if not (resume and out.exists() and not resume_path(out).exists()):
        return None
    checkpoint = load_checkpoint(out)
    words = checkpoint.model.sizes.vocabulary
    made = {**asdict(checkpoint.model.sizes), **cast("dict[str, Json]", checkpoint.training["settings"])}
    asked = {**asdict(replace(sizes, vocabulary=words)), **asdict(settings)}
    for setting, value in asked.items():
        trained = made.get(setting, value)
        if trained != value:
            raise TrainingError(
                f"{out}: this model was trained with {setting} {trained!r}, but the command says {value!r}.\n"
                "  Choose another file with --out, or remove the file."
            )
    return (
        f"{out}: the training is already finished; the model has the fingerprint "
        f"{checkpoint.fingerprint[:12]}"
    )


def build(
    kind: type[AnyNetwork], sizes: Sizes, settings: Settings | ClassifierSettings, device: torch.device
) -> AnyNetwork:
    """Make a network with fresh weights; all that is drawn at random from here on follows from the seed."""
    torch.manual_seed(settings.seed)
    try:
        return kind(sizes, settings.initial_range).to(device)
    except (MemoryError, RuntimeError):
        raise TrainingError(
            f"a model of this size does not fit into memory. Lower --hidden ({sizes.hidden}), --embedding "
            f"({sizes.embedding}), or the number of words in the vocabulary ({sizes.vocabulary})."
        ) from None


def describe_model(model: Network, words: int) -> str:
    """Say how large a network is."""
    counts = f"{count_parameters(model):,} parameters ({model.n_core_parameters:,} recurrent)"
    return f"{model.sizes.arch}: {counts}, {words:,} words"


def origin_of(preset: str | None, **texts: list[Json]) -> dict[str, Json]:
    """Say what a checkpoint records about where it comes from: the command, and what was learnt from."""
    origin: dict[str, Json] = {"preset": preset} if preset else {}
    return origin | {"command": shlex.join(["tseval", *sys.argv[1:]]), **texts}


class Bar:
    """Progress bar of a training run on a terminal; a line now and then elsewhere.

    A validation is said by a format of the step and the value; one above that of a model that guesses is
    pointed out.
    """

    def __init__(self, console: Console, unit: str, validation: str, guess: float | None = None) -> None:
        self.console, self.terminal = console, sys.stderr.isatty()
        self.unit, self.validation, self.guess = unit, validation, guess
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(), console=console, disable=console.quiet or not self.terminal,
            transient=True,
        )  # fmt: skip
        self.smooth: float | None = None

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.bar.stop()
        if kind is KeyboardInterrupt:
            click.echo(
                "\nThe state of the training is saved. To continue, repeat the command with --resume.",
                err=True,
            )

    def start(self, done: int, total: int) -> None:
        """Hear how much there is to do; see `tseval.training.language_model.Listener`."""
        self.task = self.bar.add_task("training", total=total, completed=done, rate="")
        self.total, self.first = total, (done, time.monotonic())
        self.line_at = time.monotonic()

    def read(self, step: int, done: int, loss: float) -> None:
        """Hear how far it is."""
        self.smooth = loss if self.smooth is None else 0.9 * self.smooth + 0.1 * loss
        now = time.monotonic()
        speed = (done - self.first[0]) / (now - self.first[1])
        rate = f"loss {self.smooth:.3f}  {speed:,.0f} {self.unit}/s"
        self.bar.update(self.task, completed=done, rate=rate)
        if not self.terminal and now - self.line_at >= LINE_EVERY:
            self.console.out(f"step {step}, {done / self.total:.1%}: {rate}")
            self.line_at = now

    def noted(self, line: str) -> None:
        """Hear of something unusual."""
        self.console.out(line)

    def validated(self, step: int, value: float, kept: bool) -> None:
        """Hear of a validation."""
        mark = "saved" if kept else "not better"
        if self.guess is not None and value > self.guess:
            mark += f"; worse than guessing ({self.guess:,.0f}): lower --learning-rate"
        self.console.out(f"{self.validation.format(step, value)} ({mark})")


OF_FILES = ("train_files", "valid_file", "vocab_from", "vocab_size", "min_count", "lowercase")


@dataclass(frozen=True, slots=True)
class TrainingText:
    """What a model learns from; of files, the training text is on disk."""

    vocabulary: Vocabulary
    streams: tuple[Stream, Stream]
    files: list[Json]


def chosen_language(context: click.Context) -> Language | None:
    """Make the language that `--suite` names, if it is given, and have its strings read as whole lines."""
    suite = context.params["suite"]
    given = [name for name in OF_FILES if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if suite is None:
        if not context.params["train_files"] or context.params["valid_file"] is None:
            raise TrainingError(
                "the command must name a text to train on. Add --train FILE and --valid FILE. For a "
                "formal language, add --suite LANGUAGE, such as --suite 'cross_serial(8)'."
            )
        return None
    if given:
        option = {"train_files": "train", "valid_file": "valid"}.get(given[0], given[0].replace("_", "-"))
        raise TrainingError(
            f"--{option} cannot be combined with --suite, which has its own text and "
            f"vocabulary. Leave out --{option}."
        )
    context.params["whole_lines"] = True
    return parse_language(suite)


def read_training_text(context: click.Context, language: Language | None) -> TrainingText:
    """Draw the text from the language, or read the files and make the vocabulary from them."""
    if language is not None:
        streams = draw_text(language, "train"), draw_text(language, "valid")
        names = (f"{context.params['suite']} {split}" for split in ("train", "valid"))
        files = [asdict(describe_drawn(*pair)) for pair in zip(names, streams, strict=True)]
        return TrainingText(vocabulary_of(language), streams, list(files))
    train_files, valid_file = context.params["train_files"], context.params["valid_file"]
    lowercase, min_count = context.params["lowercase"], context.params["min_count"]
    vocab_from = context.params["vocab_from"]
    of_words = train_files if vocab_from is None else [vocab_from]
    counts = count_words(of_words, lowercase=lowercase)
    if not counts:
        raise TrainingError(
            f"{', '.join(map(str, of_words))}: the text has no words. Name a text file with one sentence a "
            "line."
        )
    vocabulary = Vocabulary.from_counts(
        counts, size=context.params["vocab_size"], min_count=min_count, lowercase=lowercase
    )
    if len(vocabulary) == SPECIAL_WORDS:
        text = "the training text" if vocab_from is None else vocab_from
        raise TrainingError(
            f"no word of {text} occurs {min_count} times, so the vocabulary would be "
            f"empty. Lower --min-count {min_count}."
        )
    return TrainingText(
        vocabulary,
        (map_text(train_files, vocabulary), encode_text([valid_file], vocabulary)),
        [asdict(file_facts(path)) for path in [*train_files, valid_file]],
    )
