"""`tseval train lm` and `tseval train curves`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click
import torch

from tseval.cli.console import Console
from tseval.cli.train.options import FILE, apply_preset, chosen_settings, chosen_sizes, training_options
from tseval.cli.train.run import Bar, build, check_out, finished
from tseval.cli.train.text import chosen_language, read_text
from tseval.errors import SuiteError, TsevalError
from tseval.models.language_model import LanguageModel, count_parameters
from tseval.report.curves import read_curves, write_curves_figure
from tseval.report.error_curves import read_error_curves, write_error_figure
from tseval.scoring.numerics.device import pick_device
from tseval.suites.load import load_suite
from tseval.training.curves import curves_path
from tseval.training.early_evaluation import EarlyEvaluation, accuracy_path
from tseval.training.language_model import Destination, train_language_model
from tseval.training.resume import resume_path

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.checked import Json
    from tseval.suites.items import Suite


@click.command()
@training_options
@click.pass_context
def lm(
    context: click.Context, /, out: Path, resume: bool, save_every: float, preset: str | None,
    eval_suites: tuple[str, ...], eval_every: int | None, eval_limit: int | None, figure: bool, device: str,
    quiet: bool, **_: object,
) -> None:  # fmt: skip
    """Train a word-level language model on tokenised text, one sentence a line, or on a formal language."""
    console = Console(quiet)
    language = chosen_language(context)
    apply_preset(context, language=language)
    settings = chosen_settings(context)
    check_out(out, resume)
    # What can be wrong with the settings is said before the text is read; the vocabulary comes from the text.
    sizes = chosen_sizes(context, vocabulary=1)
    if resume and out.exists() and not resume_path(out).exists():
        console.out(finished(out, sizes, settings))
        return
    place, suites = pick_device(device), _load_suites(eval_suites, eval_limit)
    text = read_text(context, language)
    vocabulary = text.vocabulary
    torch.manual_seed(settings.seed)
    model = build(LanguageModel, replace(sizes, vocabulary=len(vocabulary)), settings.initial_range, place)
    console.out(
        f"{sizes.arch}: {count_parameters(model):,} parameters ({model.n_core_parameters:,} recurrent), "
        f"{len(vocabulary):,} words, {len(text.streams[0]):,} training tokens"
    )
    probe = EarlyEvaluation(accuracy_path(out), suites, vocabulary, eval_every) if suites else None
    origin = _origin(preset, text.files)
    destination = Destination(out, origin, save_every, resume, probe)
    try:
        with Bar(console, "tokens", "window {}: validation perplexity {:.2f}") as bar:
            best = train_language_model(model, vocabulary, text.streams, settings, destination, bar)
    except KeyboardInterrupt:
        click.echo("\nWhat was learnt is saved: add --resume to go on.", err=True)
        raise
    if figure:
        _draw(out, console)
    console.out(f"{out}: validation perplexity {best:.2f}")


def _origin(preset: str | None, files: list[Json]) -> dict[str, Json]:
    """Say what a checkpoint records about where it comes from."""
    origin: dict[str, Json] = {"preset": preset} if preset else {}
    return origin | {
        "command": shlex.join(["tseval", *sys.argv[1:]]),
        "files": files,
    }


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--out", "-o", type=FILE, required=True, help="Figure to write (.svg or .png).")
@click.option(
    "--error", is_flag=True, help="Draw error on the --eval-suite against the training loss instead."
)
def curves(files: tuple[Path, ...], out: Path, error: bool) -> None:
    """Draw the learning curves of several models into one figure."""
    if error:
        write_error_figure([curve for path in files for curve in read_error_curves(path)], out)
    else:
        write_curves_figure([read_curves(path) for path in files], [out])


def _draw(out: Path, console: Console) -> None:
    """Draw the curves of a model beside it; that the figure cannot be drawn does not spoil the training."""
    source = curves_path(out)
    try:
        write_curves_figure([read_curves(source)], [source.with_suffix(".svg"), source.with_suffix(".png")])
    except (TsevalError, OSError) as error:
        console.out(f"no figure: {error}")


def _load_suites(names: tuple[str, ...], limit: int | None) -> list[Suite]:
    """Load the suites for early evaluation, each once."""
    suites = [load_suite(name, limit=limit) for name in dict.fromkeys(names)]
    found = [suite.name for suite in suites]
    if repeated := {name for name in found if found.count(name) > 1}:
        raise SuiteError(f"two suites are called {min(repeated)!r}: evaluate one of them")
    return suites
