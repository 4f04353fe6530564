"""`tseval train lm`: train a language model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
import torch

from tseval.cli.curve_figures import draw_curves, figures_of
from tseval.cli.groups import Command
from tseval.cli.progress import busy, open_console
from tseval.cli.train_checkpoint import finished, reserved
from tseval.cli.train_options import (
    apply_preset,
    build,
    chosen_settings,
    chosen_sizes,
    describe_model,
    lm_options,
    origin_of,
)
from tseval.cli.training_bar import Bar
from tseval.cli.training_text import chosen_language, read_training_text
from tseval.errors import SuiteError
from tseval.models.network import LanguageModel
from tseval.scoring.devices import pick_device
from tseval.suites import load_suite
from tseval.training.curves import curves_path
from tseval.training.language_model import EarlyEvaluation, accuracy_path, train_language_model
from tseval.training.loop import Destination
from tseval.training.settings import Settings
from tseval.training.steps import product_type

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=Command)
@lm_options
@click.pass_context
def lm_command(
    context: click.Context, /, out: Path, resume: bool, save_every: float, preset: str | None,
    eval_suites: tuple[str, ...], eval_every: int | None, eval_limit: int | None, eval_sample: int | None,
    eval_runs: Path | None, figure: bool, device: str, quiet: bool, **_: object,
) -> None:  # fmt: skip
    """Train a word-level language model on tokenised text or on a formal language."""
    console = open_console(quiet)
    language = chosen_language(context)
    apply_preset(context, language=language)
    settings = chosen_settings(context, Settings)
    context.with_resource(reserved(out, resume))
    # Errors in the settings are reported before the text is read, so the vocabulary is not known yet.
    sizes = chosen_sizes(context)
    if message := finished(out, resume, sizes, settings):
        console.out(message)
        if figure and curves_path(out).exists() and not figures_of(out)[-1].exists():
            draw_curves(out, console)  # the training was killed before the figure was complete
        return
    torch_device = pick_device(device)
    with busy("reading texts and suites", quiet):
        suites = [
            load_suite(suite_name, limit=eval_limit, sample=eval_sample)
            for suite_name in dict.fromkeys(eval_suites)
        ]
        names = [suite.name for suite in suites]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise SuiteError(
                f"two suites of --eval-suite have the name {min(repeated)!r}. Leave out one of the two."
            )
        text = read_training_text(context, language)
    vocabulary = text.vocabulary
    model = build(LanguageModel, replace(sizes, vocabulary=len(vocabulary)), settings, torch_device)
    console.out(f"{describe_model(model, len(vocabulary))}, {len(text.streams[0]):,} training tokens")
    if product_type(settings.precision, torch_device) is not getattr(torch, settings.precision):
        console.out(
            f"--precision {settings.precision} is not faster on this machine, because the processor has no "
            "instructions for this format"
        )
    probe = EarlyEvaluation(accuracy_path(out), suites, vocabulary, eval_every, eval_runs) if suites else None
    destination = Destination(out, origin_of(preset, files=text.files), save_every, resume, probe)
    line_of_log = "window {}: validation perplexity {:.2f}"
    with Bar(console, "tokens", line_of_log, guess=len(vocabulary)) as bar:
        best = train_language_model(model, vocabulary, text.streams, settings, destination, bar)
    if figure:
        draw_curves(out, console)
    console.out(f"{out}: validation perplexity {best:.2f}")
