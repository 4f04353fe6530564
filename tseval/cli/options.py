"""Options that several commands share."""

from __future__ import annotations

import io
import json
import math
import os
import re
import zlib
from contextlib import suppress
from functools import reduce
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem, split_arg_string

from tseval.cli.console import ALL_NOTES, WHOLE, busy, typed_text
from tseval.cli.examples import examples_of
from tseval.errors import ModelError, SuiteError, reason, suggest
from tseval.files import bounded_lines, open_limited, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tseval.scoring.protocol import Model


Function = TypeVar("Function", bound="Callable[..., object] | click.Command")

# Long spellings of earlier versions. They work until the next one, with a line of advice.
RENAMED = {"--output": "--out"}


class Command(click.Command):
    """A command whose help begins with its examples (`tseval.cli.examples`)."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples between the usage and the description."""
        _write_examples(ctx, formatter)
        super().format_help_text(ctx, formatter)


def _write_examples(context: click.Context, formatter: click.HelpFormatter) -> None:
    names: list[str] = []
    at = context
    while at.parent is not None:
        names.insert(0, at.command.name or "")
        at = at.parent
    if lines := examples_of(names):
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class Group(click.Group):
    """A group that shows examples, and lists its commands by what a person wants to do.

    Args:
        summaries: Command to (module below tseval.cli, one-line help), of commands that are imported when
            they are used; "" is the package itself.
    """

    command_class = Command

    def __init__(
        self,
        name: str | None = None,
        *,
        purposes: Mapping[str, Sequence[str]],
        summaries: Mapping[str, tuple[str, str]] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(name, **attributes)
        self.purposes, self.summaries = purposes, summaries or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of use."""
        return [name for names in self.purposes.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find one command, imported if need be, or say the nearest name."""
        if cmd_name in self.summaries:
            place = f"tseval.cli.{self.summaries[cmd_name][0]}".rstrip(".")
            command = getattr(import_module(place), f"{cmd_name.replace('-', '_')}_command")
            assert isinstance(command, click.Command)
            return command
        if cmd_name not in self.commands:
            names = self.list_commands(ctx)
            ctx.fail(f"tseval has no command {cmd_name!r}. {suggest(cmd_name, names, 'Commands')}")
        return self.commands[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant, with what it is given in the spelling of today."""
        name, command, given = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group):
            known = {option for parameter in command.params for option in parameter.opts}
            given = [_respelt(word, known) for word in given]
        return name, command, given

    def _summary(self, ctx: click.Context, name: str) -> str:
        if name in self.summaries:
            return self.summaries[name][1]
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(limit=200)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples between the usage and the description."""
        _write_examples(ctx, formatter)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by purpose, without importing them."""
        for purpose, names in self.purposes.items():
            with formatter.section(purpose):
                formatter.write_dl([(name, self._summary(ctx, name)) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands without importing them."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=self._summary(ctx, name)) for name in names]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def _respelt(word: str, known: Collection[str]) -> str:
    """Return a word of the command line as options are spelt today, and say so."""
    option, equals, value = word.partition("=")
    today = RENAMED.get(option)
    if today not in known or option in known:
        return word
    click.echo(
        f"the option {option} is now called {today}; the old name still works in this version", err=True
    )
    return f"{today}{equals}{value}"


class Name(click.ParamType[str]):
    """The name of something that is here, or a path, which a shell completes."""

    name = "text"

    def __init__(self, known: Callable[[click.Context], Iterable[str]], example: str = "") -> None:
        self.known, self.example = known, example

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        """Say how to write one."""
        return self.example or None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer what is here; where nothing is, the shell offers files."""
        found = sorted(name for name in found_in_time(self.known(ctx)) if name.startswith(incomplete))
        return [
            CompletionItem(incomplete, type="file"),
            *map(CompletionItem, found),
        ]  # bash: files first, else alone


# What a shell is offered is found by names and texts of files alone: whoever presses a key does not wait for
# libraries.
PACKAGE = Path(__file__).parents[1]
SCHEMES = ("hf:", "lm-eval:", "mlm:", "ngram:", "oracle:", "seq2seq:")


COMPLETION_SECONDS = 0.2
_MOST_READ = 1 << 16  # bytes of one file


def found_in_time(names: Iterable[str]) -> set[str]:
    """Return the names that are found while a user waits; nothing is said of what goes wrong meanwhile.

    The folder may be a stranger's: with a pipe for a grammar, or a million files.
    """
    from threading import Thread

    found: list[str] = []

    def look() -> None:
        with suppress(Exception):
            for name in names:
                found.append(name)

    thread = Thread(target=look, daemon=True)
    thread.start()
    thread.join(COMPLETION_SECONDS)
    return set(found)


def _beginning(path: Path) -> str:
    """Return the beginning of a file, if it is a regular one."""
    with open_regular(path) as file:
        return file.read(_MOST_READ).decode(errors="replace")


def _models_here(_: click.Context) -> Iterator[str]:
    bundled = (PACKAGE / "models" / "bundled").glob("*.pt")
    own = (path for ending in ("pt", "safetensors") for path in Path().glob(f"*.{ending}"))
    return chain((f"bundled:{path.stem}" for path in bundled), map(str, own), SCHEMES)


def _suite_folders() -> tuple[Path, Path]:
    from tseval.files import data_folder

    return PACKAGE / "templates", data_folder()


def _suites_here(_: click.Context) -> Iterator[str]:
    bundled, fetched = _suite_folders()
    return chain(
        (path.parent.name for path in bundled.glob("*/suite.yaml")), (path.name for path in fetched.glob("*"))
    )


def _files_of_suites(ctx: click.Context) -> Iterator[Path]:
    """Find the grammars and data of suites: those that the line names, or whose runs, or the default."""
    for word in (*split_arg_string(os.environ.get("COMP_WORDS", "")), *(ctx.params.get("suites") or ())):
        named = [word]
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            named.append(json.loads(_beginning(Path(word) / "manifest.json"))["suite"]["name"])
        for folder in (above / str(name) for name in named for above in (*_suite_folders(), Path())):
            yield from chain(folder.glob("*.jinja"), folder.glob("*.jsonl"))


def _cases_here(ctx: click.Context) -> Iterator[str]:
    return (path.stem for path in _files_of_suites(ctx))


_FEATURES = re.compile(r"^features:\n((?:(?: .*)?\n)+)", re.MULTILINE)


def _features_here(ctx: click.Context) -> Iterator[str]:
    """Name the features that grammars state in their front matter."""
    for path in _files_of_suites(ctx):
        text = ""
        with suppress(OSError):
            text = _beginning(path) if path.suffix == ".jinja" else ""
        if found := _FEATURES.search(text):
            yield from re.findall(r"^  (\w+):", found[1], re.MULTILINE)


def _runs_here(_: click.Context) -> Iterator[str]:
    patterns = ("*/manifest.json", "runs/*/manifest.json", "runs/*/*/manifest.json")
    runs = (str(path.parent) for pattern in patterns for path in Path().glob(pattern))
    boards = (path.parent.name for path in (PACKAGE / "leaderboards").glob("*/board.yaml"))
    return chain(runs, boards)


MODEL = Name(_models_here, "For example:\n\t--model bundled:lstm (comes with tseval)\n"
                           "\t--model drnn.pt (your checkpoint: docs/your-checkpoint.md)")  # fmt: skip
SUITE, CASE, RUN = Name(_suites_here), Name(_cases_here), Name(_runs_here)
FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
# Names as `tseval.questions.SCORES`, `tseval.questions.unknown.UNKNOWN_RULES`, `tseval.report.FORMATS` and
# `tseval.runs.CLOCKS` have them, which take too long to import while a shell completes a line; a test
# compares them.
SCORE_NAMES = click.Choice(["sentence", "critical", "ending", "regions", "choices", "mean"])
UNKNOWN_RULES = click.Choice(["undecidable", "score"])
UNKNOWN_OPTION = click.option(
    "--unknown", type=UNKNOWN_RULES, default="undecidable", show_default=True,
    help="Treatment of pairs of which the model's vocabulary has only one form. undecidable: count them "
         "separately, not as right or wrong. score: compare them anyway.",
)  # fmt: skip
FORMAT_NAMES = click.Choice(["md", "csv", "json", "latex"])
CLOCK_NAMES = click.Choice(["step", "tokens", "epoch"])
FORMAT = click.option("--format", "form", type=FORMAT_NAMES, default="md", show_default=True,
                      help="Format of the output: md (Markdown), csv, json or latex.")  # fmt: skip
JSON_FORMAT = click.option("--json", "form", flag_value="json", help="Print JSON: the same as --format json.")
DEVICE = click.option(
    "--device",
    default="auto",
    show_default=True,
    help="Device that runs the model: auto (a GPU if there is one, else the CPU), cpu or cuda.",
)
BY = click.option("--by", multiple=True, metavar="FEATURE", type=Name(_features_here),
                  callback=lambda _context, _option, given: _listed(given),
                  help="Split each row of the table by the values of FEATURE, such as n_intervening. For "
                       "several features, write A,B or repeat the option.",
)  # fmt: skip
# The default is `tseval.analysis.comparisons.DEFAULT_MARGIN`, which takes too long to import for a help text.
MARGIN_OPTION = click.option("--margin", type=float, default=0.02, show_default=True, metavar="SHARE",
                             help="Smallest difference between two accuracies that matters to you, such "
                                  "as 0.02 (two percentage points). tseval calls two models equivalent if "
                                  "their difference is significantly smaller.")  # fmt: skip


def feature_values(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Split the values of --where at the equals sign."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(
                f"--where {text!r} is not a condition on items. Write --where FEATURE=VALUE, such as --where "
                "n_intervening=2."
            )
        pairs.append((name, value))
    return pairs


def _use_confidence(context: click.Context, _: click.Parameter, level: float) -> None:
    """Compute all intervals and tests of a command at the level that the user names."""
    if context.get_parameter_source("confidence") is ParameterSource.DEFAULT:
        return
    from tseval.analysis.intervals import at_confidence  # loads pandas

    context.with_resource(at_confidence(level))


# The default is `tseval.analysis.intervals.LEVEL`, which takes too long to import for a help text.
CONFIDENCE = click.option("--confidence", type=float, default=0.95, show_default=True, metavar="LEVEL",
                          expose_value=False, callback=_use_confidence,
                          help="Confidence level of intervals and possible ranks. Tests have the error rate "
                               "1 - LEVEL.")  # fmt: skip


def text_option(default: str | None, *forms: str, of: str) -> Callable[[Function], Function]:
    """Let a user choose the form in which sentences are read, or written out."""
    shown = ("natural (The author laughs.)", "tokenised (the author laughs .)", "as-written (unchanged)")
    auto = ["auto (the form in its training)"] if "auto" in forms else []
    names = click.Choice([*forms, *(form.partition(" ")[0] for form in shown)])
    unset = "" if default else " (default: as the grammar writes them)"
    return click.option("--text", type=names, default=default, show_default=True,
                        help=f"Form of {of}: {', '.join([*shown, *auto])}{unset}.")  # fmt: skip


TEXT = text_option("auto", "auto", of="a grammar's sentences")
VERBOSE = click.option("-v", "--verbose", "whole_signatures", is_flag=True, expose_value=False,
                       callback=lambda context, _option, given: context.meta.update({WHOLE: given}),
                       help="Print the complete signature of each run (suite, settings, version), which a "
                            "terminal otherwise shows shortened.")  # fmt: skip
NOTES = click.option("--notes", is_flag=True, expose_value=False,
                     callback=lambda context, _option, given: context.meta.update({ALL_NOTES: given}),
                     help="Print all notes below the table, not only the first five.")  # fmt: skip
QUIET = click.option("--quiet", is_flag=True, help="Print only errors.")


def take_all(options: Sequence[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    """Make many options one decorator; help shows them in this order."""
    return lambda function: reduce(lambda inner, option: option(inner), reversed(options), function)


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    """Take names apart that stand in one list.

    >>> _listed(["number,distance", "attractor"])
    ('number', 'distance', 'attractor')
    """
    return tuple(name.strip() for part in given for name in part.split(","))


def _columns(context: click.Context, given: str | None) -> dict[str, str] | None:
    columns: dict[str, str] = {}
    if given is not None:
        from tseval.suites.data.roles import read_columns

        columns = read_columns(typed_text(given))
    if (layout := context.meta.get(_LAYOUT)) is not None:
        columns["layout"] = typed_text(layout)
    return columns or None


_LAYOUT = f"{__name__}.layout"
COLUMNS_OPTION = take_all([
    click.option("--layout", metavar="LAYOUT", is_eager=True, expose_value=False,
                 callback=lambda context, _option, given: context.meta.update({_LAYOUT: given}),
                 help="Layout of a table of items (default: one row for each item). alternating: good and "
                      "bad sentences in turn, one a row. A list of columns: each column is one region of "
                      "the sentence, as in 'Start {Transitive|Intransitive} {,|} NP *Verb'."),
    click.option("--columns", metavar="ROLE=NAME,...",
                 callback=lambda context, _option, given: _columns(context, given),
                 help="Columns to read from a table of items. ROLE is good, bad, sentence, rating or "
                      "another role in docs/datasets.md; NAME is the name of a column (default: columns "
                      "with usual names)."),
])  # fmt: skip


class FiniteRange(click.FloatRange):
    """A finite number between limits."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number; NaN and infinity compare in no useful way and are refused."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number. Write a number such as 0.5.", param, ctx)
        return number


def read_open_text(file: TextIO) -> str:
    """Read a text that a command was given, plain or gzip-compressed, or standard input."""
    name, unpacked = file.name, None
    try:
        if name.endswith(".gz"):
            unpacked = io.TextIOWrapper(open_limited(Path(name), "text_bytes"), "utf-8")
        return "".join(bounded_lines(unpacked or file, name))
    except UnicodeDecodeError as error:
        raise SuiteError(
            f"{name}: this file is not UTF-8 text ({error.reason} at byte {error.start}).\n"
            "  Save the file in the encoding UTF-8."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(
            f"{name}: tseval cannot read this file ({reason(error)}).\n"
            "  Check that the file exists, is complete, and may be read by you."
        ) from None


def check_new(checkpoint: Path) -> None:
    """Refuse to write a checkpoint under another kind of name, or over a file."""
    if checkpoint.suffix not in (".pt", ".safetensors"):
        raise ModelError(
            f"{checkpoint}: a checkpoint cannot have this name. Choose a name that ends in .pt or "
            ".safetensors."
        )
    if checkpoint.exists():
        raise ModelError(
            f"{checkpoint}: this file exists already. Choose another file with -o, or remove the file."
        )


MODEL_ARGS = click.option(
    "--model-args",
    default="",
    metavar="KEY=VALUE,...",
    help="Settings that the kind of model understands, such as dtype=float32 (default: none). "
    "docs/adapters.md lists them.",
)
model_options = take_all([
    click.option("--model", "spec", type=MODEL, required=True, metavar="MODEL",
                 help="Model to use: a checkpoint file, or KIND:NAME, such as bundled:lstm or hf:gpt2. "
                      "The command tseval models lists the kinds."),
    MODEL_ARGS,
    DEVICE,
])  # fmt: skip


def open_chosen(
    spec: str, model_args: str, device: str, precision: str = "float32", quiet: bool = False
) -> Model:
    """Open the model that was named, and say so where it takes long; brings torch along."""
    arguments = with_precision(read_arguments(model_args), precision)
    with busy(f"opening {spec}", quiet):
        from tseval.adapters import open_model

        model = open_model(spec, arguments, device)
    if not quiet and (reading := model.card.details.get("reading")):
        click.echo(f"{spec}: {reading}", err=True)
    # An adapter from outside may overlook what it does not know.
    if precision not in {"float32", model.card.protocol.get("precision")}:
        raise ModelError(
            f"--precision {precision}: {model.card.name} cannot compute in this precision. Leave out "
            "--precision."
        )
    return model


def with_precision(arguments: dict[str, str], precision: str) -> dict[str, str]:
    """Put what --precision says among the arguments of a model."""
    if precision == "float32":
        return arguments
    if (other := arguments.get("precision", precision)) != precision:
        raise ModelError(
            f"--precision {precision} and --model-args precision={other} contradict each other. Leave out "
            f"--precision or precision={other}."
        )
    return {**arguments, "precision": precision}


def say_warnings(model: Model) -> None:
    """Say on standard error what a reader of a model's numbers should know, where no manifest keeps it."""
    for warning in getattr(model, "warnings", ()):
        click.echo(f"warning: {warning}", err=True)


def read_arguments(text: str) -> dict[str, str]:
    """Read `key=value,...`; what has no `=` goes on with the value before it, as in `vocab_from=a,b`.

    So does what makes the path of a file or folder with it: paths may hold commas and equals signs.
    """
    found: dict[str, str] = {}
    parts = text.rstrip(",").split(",") if text.rstrip(",") else []
    last, at = "", 0
    while at < len(parts):
        key, equals, value = parts[at].partition("=")
        whole = _end_of_path(found.get(last), parts, at)
        if whole > at:
            found[last] = ",".join([found[last], *parts[at:whole]])
            at = whole
            continue
        if (equals and not key) or not (equals or last):
            raise ModelError(
                f"--model-args {text!r}: there is a value without the name of a setting. "
                "Write NAME=VALUE,NAME=VALUE, such as dtype=float32."
            )
        last = key if equals else last
        found[last] = value if equals else f"{found[last]},{parts[at]}"
        at += 1
    return found


LONGEST_PATH, MOST_COMMAS = 4_096, 16  # characters of a path; commas in it


def _end_of_path(value: str | None, parts: Sequence[str], start: int) -> int:
    """Say up to which part a value goes on as a path that exists; the start if it is none."""
    if value is None or len(value) > LONGEST_PATH:
        return start
    for end in range(min(len(parts), start + MOST_COMMAS), start, -1):
        with suppress(OSError, ValueError):
            if Path(",".join([value, *parts[start:end]])).exists():
                return end
    return start
