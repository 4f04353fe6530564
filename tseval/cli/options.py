"""Options that several commands share."""

from __future__ import annotations

import math
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from tseval.cli.names import Name, features_here
from tseval.cli.printing import ALL_NOTES, WHOLE
from tseval.cli.terminal import typed_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Function = TypeVar("Function", bound="Callable[..., object] | click.Command")
FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
# The names in `tseval.questions.SCORES`, `tseval.questions.unknown.UNKNOWN_RULES`, `tseval.report.FORMATS`
# and `tseval.runs.CLOCKS`. Those modules take too long to import while a shell completes a line. A test
# compares the names.
SCORE_NAMES = click.Choice(["sentence", "critical", "ending", "regions", "choices", "mean", "inflection",
                            "prompt"])  # fmt: skip
MASS_OPTION = click.option(
    "--mass", "masses", type=click.FloatRange(0, 1, min_open=True), multiple=True, metavar="M",
    help="For SUITE:inflection, print EW and MW over likely and over unlikely verbs. The likely verbs are "
         "among the most likely words with the total probability M, such as 0.5. The unlikely verbs are "
         "among the least likely words with this total probability. Repeatable (default: all verbs).",
)  # fmt: skip
UNKNOWN_RULES = click.Choice(["undecidable", "score"])
UNKNOWN_OPTION = click.option(
    "--unknown", type=UNKNOWN_RULES, default="undecidable", show_default=True,
    help="Treatment of pairs if only one of the two forms is in the model's vocabulary. undecidable: count "
         "them separately, not as right or wrong. score: compare them anyway.",
)  # fmt: skip
FORMAT_NAMES = click.Choice(["md", "csv", "json", "latex"])
CLOCK_NAMES = click.Choice(["step", "tokens", "epoch"])
FORMAT = click.option("--format", "form", type=FORMAT_NAMES, default="md", show_default=True,
                      help="Format of the output: md (Markdown), csv, json or latex.")  # fmt: skip
JSON_FORMAT = click.option("--json", "form", flag_value="json", help="Print JSON: the same as --format json.")


def output_option(content: str, pronoun: str = "them") -> Callable[[Function], Function]:
    """Return the option `-o`: the file in which to write the content (default: print it)."""
    return click.option("-o", "--out", "output", type=FILE, metavar="FILE",
                        help=f"File in which to write {content} (default: print {pronoun}).")  # fmt: skip


BY = click.option("--by", multiple=True, metavar="FEATURE", type=Name(features_here),
                  callback=lambda _context, _option, texts: _listed(texts),
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
                          help="Confidence level of the intervals and of the ranges of ranks. The tests have "
                               "the error rate 1 - LEVEL.")  # fmt: skip


def text_option(default: str | None, *forms: str, of: str) -> Callable[[Function], Function]:
    """Return the option --text: the form in which sentences are read or written."""
    unchanged = "unchanged" if default else "unchanged, but with the suite's final mark"
    examples = (
        "natural (The author laughs.)", "tokenised (the author laughs .)", f"as-written ({unchanged})",
    )  # fmt: skip
    auto = ["auto (the form of the model's training text)"] if "auto" in forms else []
    names = click.Choice([*forms, *(form.partition(" ")[0] for form in examples)])
    unset = "" if default else " The default is the suite's text without an added mark."
    return click.option("--text", type=names, default=default, show_default=True,
                        help=f"Form of {of}: {', '.join([*examples, *auto])}.{unset}")  # fmt: skip


TEXT = text_option("auto", "auto", of="a grammar's sentences")
VERBOSE = click.option("-v", "--verbose", "whole_signatures", is_flag=True, expose_value=False,
                       callback=lambda context, _option, value: context.meta.update({WHOLE: value}),
                       help="Print the complete signature of each run (suite, settings, version), which a "
                            "terminal otherwise shows shortened.")  # fmt: skip
NOTES = click.option("--notes", is_flag=True, expose_value=False,
                     callback=lambda context, _option, value: context.meta.update({ALL_NOTES: value}),
                     help="Print all notes below the table, not only the first five.")  # fmt: skip
QUIET = click.option("--quiet", is_flag=True, help="Print only errors.")


def take_all(options: Sequence[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    """Join options into one decorator. The help lists the options in this order."""
    return lambda function: reduce(lambda inner, option: option(inner), reversed(options), function)


def _listed(texts: Sequence[str]) -> tuple[str, ...]:
    """Split lists such as `A,B` into names.

    >>> _listed(["number,distance", "attractor"])
    ('number', 'distance', 'attractor')
    """
    return tuple(name.strip() for part in texts for name in part.split(","))


def _columns(context: click.Context, text: str | None) -> dict[str, str] | None:
    columns: dict[str, str] = {}
    if text is not None:
        from tseval.suites.data.roles import read_columns

        columns = read_columns(typed_text(text))
    if (layout := context.meta.get(_LAYOUT)) is not None:
        columns["layout"] = typed_text(layout)
    return columns or None


_LAYOUT = f"{__name__}.layout"
COLUMNS_OPTION = take_all([
    click.option("--layout", metavar="LAYOUT", is_eager=True, expose_value=False,
                 callback=lambda context, _option, value: context.meta.update({_LAYOUT: value}),
                 help="Layout of a table of items (default: one row for each item). Write 'alternating' if "
                      "each row is one sentence, and each bad sentence comes before its good sentence. Or "
                      "write the columns of the regions, as in 'Start {Transitive|Intransitive} {,|} NP "
                      "*Verb'. Use {A|B} if a region differs between conditions, and a star before the "
                      "region to compare."),
    click.option("--columns", metavar="ROLE=NAME,...",
                 callback=lambda context, _option, text: _columns(context, text),
                 help="Columns to read from a table of items. ROLE is good, bad, sentence, rating or "
                      "another role in docs/datasets.md; NAME is the name of a column (default: columns "
                      "with usual names)."),
])  # fmt: skip


class FiniteRange(click.FloatRange):
    """A finite number between limits."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number. NaN and infinity are refused."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number. Write a number such as 0.5.", param, ctx)
        return number


class Share(click.ParamType[float]):
    """A share of sentences: `1%`, `0.5%` or `all`."""

    name = "SHARE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a share. The word `all` is 1."""
        if isinstance(value, float):
            return value
        text = str(value)
        try:
            share = 1.0 if text == "all" else float(text.removesuffix("%")) / (100 if text[-1:] == "%" else 0)
        except (ValueError, ZeroDivisionError):
            share = 0.0
        if not 0 < share <= 1:
            self.fail(
                f"{text!r} is not a share of sentences. Write a percentage, such as 1% or 0.5%, or the "
                "word all.",
                param,
                ctx,
            )
        return share
