"""Options that several commands share."""

from __future__ import annotations

import io
import math
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from tseval.cli.console import busy
from tseval.errors import ModelError, SuiteError, reason
from tseval.files import bounded_lines, open_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tseval.scoring.protocol import Model


Function = TypeVar("Function", bound="Callable[..., object] | click.Command")

FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
DEVICE = click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
BY = click.option("--by", multiple=True, metavar="FEATURE",
                  callback=lambda _context, _option, given: _listed(given),
                  help="Break rows down by a feature; several as A,B, or by repeating it.")  # fmt: skip
# The default is `tseval.analysis.comparisons.DEFAULT_MARGIN`, which takes too long to import for a help text.
MARGIN_OPTION = click.option("--margin", type=float, default=0.02, show_default=True, metavar="SHARE",
                             help="The smallest difference of accuracies that matters.")  # fmt: skip
TEXT = click.option("--text", type=click.Choice(["auto", "natural", "tokenised"]), default="auto",
                    show_default=True,
                    help="Form of a grammar's sentences: natural (The author laughs.), tokenised (the author "
                         "laughs .), or as the model was trained.")  # fmt: skip
QUIET = click.option("--quiet", is_flag=True, help="Print errors only.")


def take_all(options: Sequence[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    """Make many options one decorator; help shows them in this order."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    """Take names apart that stand in one list.

    >>> _listed(["number,distance", "attractor"])
    ('number', 'distance', 'attractor')
    """
    return tuple(name.strip() for part in given for name in part.split(","))


def _columns(context: click.Context, given: str | None) -> dict[str, str] | None:
    """Read what the columns of a table are, and the layout beside them."""
    from tseval.suites.data.roles import read_columns

    columns = {} if given is None else read_columns(given)
    if (layout := context.meta.get(_LAYOUT)) is not None:
        columns["layout"] = layout
    return columns or None


_LAYOUT = f"{__name__}.layout"
COLUMNS_OPTION = take_all([
    click.option("--layout", metavar="LAYOUT", is_eager=True, expose_value=False,
                 callback=lambda context, _option, given: context.meta.update({_LAYOUT: given}),
                 help="How rows of a table become items: alternating, or a column a region, as in "
                      "'Start {Transitive|Intransitive} {,|} NP *Verb'."),
    click.option("--columns", metavar="ROLE=NAME,...",
                 callback=lambda context, _option, given: _columns(context, given),
                 help="Of a table, what each column is: good and bad; sentence, item, condition, label, "
                      "rating; prefix, candidates, region, word and others (docs/datasets.md)."),
])  # fmt: skip


class FiniteRange(click.FloatRange):
    """A finite number between limits."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number; NaN and infinity compare in no useful way and are refused."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number", param, ctx)
        return number


def read_open_text(file: TextIO) -> str:
    """Read a text that a command was given, plain or gzip-compressed, or standard input.

    A pipe, or what is typed, is meant here; it may not end, so it is read line by line.

    Raises:
        SuiteError: It is damaged, or not UTF-8.
        LimitError: It is larger than what is read.
    """
    name, unpacked = file.name, None
    try:
        if name.endswith(".gz"):
            unpacked = io.TextIOWrapper(open_limited(Path(name), "text_bytes"), "utf-8")
        return "".join(bounded_lines(unpacked or file, name))
    except UnicodeDecodeError as error:
        raise SuiteError(f"{name}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(f"{name}: cannot be read ({reason(error)})") from None


def check_new(checkpoint: Path) -> None:
    """Refuse to write a checkpoint under another kind of name, or over a file."""
    if checkpoint.suffix not in (".pt", ".safetensors"):
        raise ModelError(f"{checkpoint}: the name of a checkpoint ends in .pt or .safetensors")
    if checkpoint.exists():
        raise ModelError(f"{checkpoint}: exists already. Choose another -o, or remove it.")


MODEL_ARGS = click.option("--model-args", default="", help="key=value,... for the model's adapter.")
model_options = take_all([
    click.option("--model", "spec", required=True, help="Checkpoint, or SCHEME:REST (bundled:lstm)."),
    MODEL_ARGS,
    DEVICE,
])  # fmt: skip


def open_chosen(
    spec: str, model_args: str, device: str, precision: str = "float32", quiet: bool = False
) -> Model:
    """Open the model that was named, and say so where it takes long; brings torch along."""
    arguments = read_arguments(model_args)
    if precision != "float32" and arguments.setdefault("precision", precision) != precision:
        raise ModelError(f"--precision {precision} and --model-args {model_args} exclude each other")
    with busy(f"opening {spec}", quiet):
        from tseval.adapters import open_model

        model = open_model(spec, arguments, device)
    if not quiet and (reading := model.card.details.get("reading")):
        click.echo(f"{spec}: {reading}", err=True)
    # An adapter from outside may overlook what it does not know.
    if precision not in {"float32", model.card.protocol.get("precision")}:
        raise ModelError(f"--precision {precision}: {model.card.name} is not computed in it. Leave it out.")
    return model


def say_warnings(model: Model) -> None:
    """Say on standard error what a reader of a model's numbers should know, where no manifest keeps it."""
    for warning in getattr(model, "warnings", ()):
        click.echo(f"warning: {warning}", err=True)


def read_arguments(text: str) -> dict[str, str]:
    """Read `key=value,...`; what has no `=` goes on with the value before it, as in `vocab_from=a,b`."""
    found: dict[str, str] = {}
    last = ""
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if (equals and not key) or not (equals or last):
            raise ModelError(f"--model-args {text!r}: write key=value,key=value")
        last = key if equals else last
        found[last] = value if equals else f"{found[last]},{part}"
    return found
