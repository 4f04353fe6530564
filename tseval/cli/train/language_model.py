"""`tseval train lm` and `tseval train curves`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
import torch

from tseval.cli.console import Console
from tseval.cli.options import FILE
from tseval.cli.progress import busy
from tseval.cli.train.options import apply_preset, chosen_settings, chosen_sizes, training_options
from tseval.cli.train.run import Bar, build, describe_model, finished, origin_of, reserved
from tseval.cli.train.text import chosen_language, read_training_text
from tseval.errors import SuiteError, TsevalError
from tseval.files import write_text
from tseval.models.network import LanguageModel
from tseval.report.curves import (
    curve_numbers,
    error_numbers,
    read_curves,
    read_error_curves,
    read_string_curves,
    write_curves_figure,
    write_error_figure,
    write_string_figure,
)
from tseval.scoring.numerics import pick_device
from tseval.suites import load_suite
from tseval.training.along import EarlyEvaluation, accuracy_path
from tseval.training.language_model import Destination, train_language_model
from tseval.training.loop import curves_path, product_type

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.items import Suite


@click.command()
@training_options
@click.pass_context
def lm(
    context: click.Context, /, out: Path, resume: bool, save_every: float, preset: str | None,
    eval_suites: tuple[str, ...], eval_every: int | None, eval_limit: int | None, eval_sample: int | None,
    eval_runs: Path | None, figure: bool, device: str, quiet: bool, **_: object,
) -> None:  # fmt: skip
    """Train a word-level language model on tokenised text, one sentence a line, or on a formal language."""
    console = Console(quiet)
    language = chosen_language(context)
    apply_preset(context, language=language)
    settings = chosen_settings(context)
    context.with_resource(reserved(out, resume))
    # What can be wrong with the settings is said before the text is read; the vocabulary comes from the text.
    sizes = chosen_sizes(context, vocabulary=1)
    if done := finished(out, resume, sizes, settings):
        console.out(done)
        if figure and curves_path(out).exists() and not _figures(out)[-1].exists():
            _draw(out, console)  # the training was killed before or while it was drawn
        return
    place = pick_device(device)
    with busy("reading texts and suites", quiet):
        suites = _load_suites(eval_suites, eval_limit, eval_sample)
        text = read_training_text(context, language)
    vocabulary = text.vocabulary
    model = build(LanguageModel, replace(sizes, vocabulary=len(vocabulary)), settings, place)
    console.out(f"{describe_model(model, len(vocabulary))}, {len(text.streams[0]):,} training tokens")
    if product_type(settings.precision, place) is not getattr(torch, settings.precision):
        console.out(f"--precision {settings.precision} gains nothing: this processor lacks such products")
    probe = EarlyEvaluation(accuracy_path(out), suites, vocabulary, eval_every, eval_runs) if suites else None
    destination = Destination(out, origin_of(preset, files=text.files), save_every, resume, probe)
    said = "window {}: validation perplexity {:.2f}"
    with Bar(console, "tokens", said, guess=len(vocabulary)) as bar:
        best = train_language_model(model, vocabulary, text.streams, settings, destination, bar)
    if figure:
        _draw(out, console)
    console.out(f"{out}: validation perplexity {best:.2f}")


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--out", "-o", type=FILE, required=True, help="Figure to write (.svg or .png).")
@click.option(
    "--error", is_flag=True, help="Draw error on the --eval-suite against the training loss instead."
)
@click.option("--strings", is_flag=True,
              help="Draw what the --eval-suite, a formal language, tells instead: loss and error by epoch. "
                   "Names that end in -seed1, -seed2, ... are one line.")  # fmt: skip
@click.option("--numbers", type=FILE, help="Write the numbers behind the figure to a .csv file.")
def curves(files: tuple[Path, ...], out: Path, error: bool, strings: bool, numbers: Path | None) -> None:
    """Draw the learning curves of several models into one figure."""
    if error and strings:
        raise click.UsageError("--error and --strings exclude each other.")
    with busy("drawing"):
        if strings:
            by_epoch = read_string_curves(files)
            write_string_figure(by_epoch, out)
            rows = by_epoch.rows
        elif error:
            by_loss = [curve for path in files for curve in read_error_curves(path)]
            write_error_figure(by_loss, out)
            rows = error_numbers(by_loss)
        else:
            learning = [read_curves(path) for path in files]
            write_curves_figure(learning, [out])
            rows = curve_numbers(learning)
        if numbers:
            write_text(numbers, rows.to_csv(index=False))


def _draw(out: Path, console: Console) -> None:
    """Draw the curves of a model beside it; that the figure cannot be drawn does not spoil the training."""
    try:
        with busy("drawing", console.quiet):
            write_curves_figure([read_curves(curves_path(out))], _figures(out))
    except (TsevalError, OSError) as error:
        console.out(f"no figure: {error}")


def _figures(out: Path) -> list[Path]:
    """Name the figures of a checkpoint's curves, in the order in which they are written."""
    return [curves_path(out).with_suffix(ending) for ending in (".svg", ".png")]


def _load_suites(names: tuple[str, ...], limit: int | None, sample: int | None) -> list[Suite]:
    """Load the suites for early evaluation, each once."""
    suites = [load_suite(name, limit=limit, sample=sample) for name in dict.fromkeys(names)]
    found = [suite.name for suite in suites]
    if repeated := {name for name in found if found.count(name) > 1}:
        raise SuiteError(f"two suites are called {min(repeated)!r}: evaluate one of them")
    return suites
