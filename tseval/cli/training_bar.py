"""Progress of a training: a bar on a terminal, a line every minute elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from rich.console import Console


LINE_EVERY = 60.0  # seconds between two lines, without a terminal


class Bar:
    """The progress bar of a training on a terminal; elsewhere, a line every minute.

    `validation` is a format for the step and the value of a validation. A value above `guess`, that of a
    model that guesses, is marked.
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
        """Set the total amount of work; see `tseval.training.loop.Listener`."""
        self.task = self.bar.add_task("training", total=total, completed=done, rate="")
        self.total, self.first = total, (done, time.monotonic())
        self.line_at = time.monotonic()

    def read(self, step: int, done: int, loss: float) -> None:
        """Show the progress of the training."""
        self.smooth = loss if self.smooth is None else 0.9 * self.smooth + 0.1 * loss
        now = time.monotonic()
        speed = (done - self.first[0]) / (now - self.first[1])
        rate = f"loss {self.smooth:.3f}  {speed:,.0f} {self.unit}/s"
        self.bar.update(self.task, completed=done, rate=rate)
        if not self.terminal and now - self.line_at >= LINE_EVERY:
            self.console.out(f"step {step}, {done / self.total:.1%}: {rate}")
            self.line_at = now

    def noted(self, line: str) -> None:
        """Print a line about something unusual."""
        self.console.out(line)

    def validated(self, step: int, value: float, kept: bool) -> None:
        """Print the result of a validation."""
        mark = "saved" if kept else "not better"
        if self.guess is not None and value > self.guess:
            mark += f"; worse than guessing ({self.guess:,.0f}): lower --learning-rate"
        self.console.out(f"{self.validation.format(step, value)} ({mark})")
