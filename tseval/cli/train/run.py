"""What the commands that train have in common: where a run may write, its model, its progress bar."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, TypeVar, cast

import click
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tseval.errors import TrainingError
from tseval.files import remove_lock, take_lock
from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import Network, count_parameters
from tseval.training.loop import resume_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from tseval.formats import Json
    from tseval.models.network import Sizes
    from tseval.training.loop import ClassifierSettings, Settings

LINE_EVERY = 60.0  # seconds between lines where there is no terminal
AnyNetwork = TypeVar("AnyNetwork", bound=Network)


@contextmanager
def reserved(out: Path, resume: bool) -> Iterator[None]:
    """Hold the place of a checkpoint: no two trainings write there at once.

    Raises:
        TrainingError: Another process trains there, or what is there must not be overwritten.
    """
    _check_out(out, resume)
    lock = out.with_name(f"{out.name}.lock")
    held = take_lock(lock)
    if held is None:
        raise TrainingError(
            f"{out} is being trained by another tseval.\n  Wait for it to end, or choose another --out."
        )
    try:
        _check_out(out, resume)  # another may have ended before we held the lock
        yield
    finally:
        remove_lock(lock, held)


def _check_out(out: Path, resume: bool) -> None:
    """Refuse what cannot be written, or must not be overwritten, now rather than after hours.

    Raises:
        TrainingError: If there is an interrupted training and no `resume`, or a finished one; if the name is
            no checkpoint's, or its folder is absent or read-only.
    """
    unfinished = resume_path(out)
    if unfinished.exists() and not resume:
        raise TrainingError(
            f"{unfinished}: an interrupted training. Add --resume to go on with it, or remove "
            f"{f'it and {out}' if out.exists() else 'it'} to start over."
        )
    if out.exists() and not resume:
        raise TrainingError(f"{out}: exists already. Choose another --out, or remove it.")
    if out.suffix not in (".pt", ".safetensors"):
        raise TrainingError(f"{out}: the name of a checkpoint ends in .pt or .safetensors")
    if not out.parent.is_dir():
        raise TrainingError(f"{out}: there is no folder {out.parent}")
    if not os.access(out.parent, os.W_OK):
        raise TrainingError(f"{out}: the folder {out.parent} cannot be written")


def finished(out: Path, resume: bool, sizes: Sizes, settings: Settings | ClassifierSettings) -> str | None:
    """Say that a training is done, if it is the one that is asked for; None where there is something to do.

    Raises:
        ModelError: If the file is no checkpoint.
        TrainingError: If it was made with other sizes or settings.
    """
    if not (resume and out.exists() and not resume_path(out).exists()):
        return None
    checkpoint = load_checkpoint(out)
    words = checkpoint.model.sizes.vocabulary
    made = {**asdict(checkpoint.model.sizes), **cast("dict[str, Json]", checkpoint.training["settings"])}
    asked = {**asdict(replace(sizes, vocabulary=words)), **asdict(settings)}
    for name, value in asked.items():
        if made.get(name, value) != value:
            raise TrainingError(
                f"{out}: finished already, but with {name} {made[name]!r}, not {value!r}.\n"
                "  Choose another --out, or remove it."
            )
    return f"{out}: finished already, fingerprint {checkpoint.fingerprint[:12]}"


def build(
    kind: type[AnyNetwork], sizes: Sizes, settings: Settings | ClassifierSettings, device: torch.device
) -> AnyNetwork:
    """Make a network with fresh weights; all that is drawn at random from here on follows from the seed.

    Raises:
        TrainingError: If memory does not suffice.
    """
    torch.manual_seed(settings.seed)
    try:
        return kind(sizes, settings.initial_range).to(device)
    except (MemoryError, RuntimeError):
        raise TrainingError(
            f"a model of this size does not fit into memory: lower --hidden ({sizes.hidden}), "
            f"--embedding ({sizes.embedding}), or the number of words ({sizes.vocabulary})"
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

    Args:
        console: Where to draw.
        unit: What the training counts, `tokens` for example.
        validation: How a validation is said: a format of the step and the value.
        guess: The value of a model that guesses; a larger one is pointed out. None where none is known.
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
            click.echo("\nWhat was learnt is saved: add --resume to go on.", err=True)

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

    def validated(self, step: int, value: float, kept: bool) -> None:
        """Hear of a validation."""
        mark = "saved" if kept else "not better"
        if self.guess is not None and value > self.guess:
            mark += f"; mere guessing has {self.guess:,.0f}: lower --learning-rate"
        self.console.out(f"{self.validation.format(step, value)} ({mark})")
