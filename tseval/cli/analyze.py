"""`tseval analyze`: what runs tell about agreement and formal languages.

Each analysis reads run directories and nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.options import take_all
from tseval.errors import RunError
from tseval.files import write_text
from tseval.report import FORMATS, Format, render
from tseval.report.analyses import Opened, open_runs
from tseval.report.figures import check_figure_names, write_figure
from tseval.report.panels import Panel, draw_panels

if TYPE_CHECKING:
    from tseval.report.document import Document

NEW_FILE = click.Path(path_type=Path, dir_okay=False)
run_options = take_all([
    click.argument("runs", nargs=-1, required=True, metavar="RUN..."),
    click.option("--case", "cases", multiple=True, metavar="NAME", help="Only this case; may be repeated."),
    click.option("--where", "where", multiple=True, metavar="FEATURE=VALUE",
                 help="Only items with this value; may be repeated."),
    click.option("--format", "form", type=click.Choice(FORMATS), default="md", show_default=True),
    click.option("-o", "output", type=NEW_FILE, metavar="FILE", help="Write the numbers to a file."),
])  # fmt: skip
FIGURE = click.option("--figure", "figures", type=NEW_FILE, multiple=True, metavar="FILE",
                      help="Draw into a .svg or .png file; may be repeated.")  # fmt: skip


@click.group()
def command() -> None:
    """Analyse runs: attractors, confidence word by word, pairs of models, formal languages."""


@command.command("attractors")
@run_options
@FIGURE
@click.option("--distance", type=int, metavar="N", help="Only items with N words between subject and verb.")
@click.option("--attractors", "n_attractors", type=int, metavar="K",
              help="Only items with K attractors, by the nouns that are none.")  # fmt: skip
def attractors_command(
    runs: tuple[str, ...], cases: tuple[str, ...], where: tuple[str, ...], form: Format, output: Path | None,
    figures: tuple[Path, ...], distance: int | None, n_attractors: int | None,
) -> None:  # fmt: skip
    """Print accuracy by intervening nouns and attractors among them."""
    from tseval.report import agreement

    fixed = {"distance": distance, "n_attractors": n_attractors}
    where += tuple(f"{name}={value}" for name, value in fixed.items() if value is not None)
    opened = _open(runs, cases, where, figures)
    if n_attractors is None:
        found = agreement.attractors(opened)
        panels, x_label = agreement.attractor_panels(found), "attractors"
    else:
        found = agreement.non_attractors(opened)
        panels, x_label = agreement.non_attractor_panels(found), "intervening nouns that are no attractors"
    _draw(panels, (x_label, "accuracy"), figures)
    _write(found, form, output)


@command.command("profile")
@run_options
@FIGURE
def profile_command(
    runs: tuple[str, ...], cases: tuple[str, ...], where: tuple[str, ...], form: Format, output: Path | None,
    figures: tuple[Path, ...],
) -> None:  # fmt: skip
    """Print the mean confidence in the correct answer after each word."""
    from tseval.report import agreement

    found = agreement.profiles(_open(runs, cases, where, figures))
    _draw(agreement.profile_panels(found), ("words read", "confidence"), figures)
    _write(found, form, output)


@command.command("pairwise")
@run_options
@click.option("--by", metavar="FEATURE", help="A table for each value; default: n_intervening, if there.")
def pairwise_command(
    runs: tuple[str, ...], cases: tuple[str, ...], where: tuple[str, ...], form: Format, output: Path | None,
    by: str | None,
) -> None:  # fmt: skip
    """Print how many items only one of two models gets right, with McNemar's exact test."""
    from tseval.report import agreement

    _write(agreement.pairs(_open(runs, cases, where, ()), by), form, output)


@command.command("formal")
@run_options
@FIGURE
def formal_command(
    runs: tuple[str, ...], cases: tuple[str, ...], where: tuple[str, ...], form: Format, output: Path | None,
    figures: tuple[Path, ...],
) -> None:  # fmt: skip
    """Print accuracy by distance, or error by attractors or pattern, as the papers on the language do."""
    from tseval.report import formal
    from tseval.report.lines import draw_lines

    opened = _open(runs, cases, where, figures)
    found = formal.formal(opened)
    if figures:
        lines = formal.formal_lines(found)
        write_figure(lambda: draw_lines(lines, *formal.labels(opened)), figures, RunError)
    _write(found, form, output)


def _open(
    runs: tuple[str, ...], cases: tuple[str, ...], where: tuple[str, ...], figures: tuple[Path, ...]
) -> Opened:
    check_figure_names(figures, RunError)
    chosen = [("case", case) for case in cases]
    for text in where:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--where {text!r}: write FEATURE=VALUE, such as n_intervening=2.")
        chosen.append((name, value))
    return open_runs(runs, chosen)


def _draw(panels: list[Panel], labels: tuple[str, str], figures: tuple[Path, ...]) -> None:
    if figures and not panels:
        raise RunError("no model could decide any of these items, so there is nothing to draw.")
    if figures:
        write_figure(lambda: draw_panels(panels, *labels), figures, RunError)


def _write(found: Document, form: Format, output: Path | None) -> None:
    text = render(found, form)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, text)
