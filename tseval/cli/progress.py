"""Progress of what takes longer than a moment: on a terminal nothing is silent for two seconds."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from tseval.cli.terminal import beneath, escaped, width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 1.0  # seconds after which something is said, and between changes


@contextmanager
def progress_bar(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a progress bar on a terminal; elsewhere, and when quiet, nothing.

    The bar moves, and its clock runs, also before the first step and after the last.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from tseval.cli.console import Console

    described = TextColumn("{task.description}", markup=False)  # a model's name may hold brackets
    columns = described, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def busy(doing: str, quiet: bool = False) -> Iterator[None]:
    """Say on a terminal what takes more than a second, and for how long; elsewhere, and when quiet, nothing.

    For what does not say how far it is. Nothing else is written to the terminal meanwhile; the line goes.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    done = Event()
    clock = Thread(target=_say, args=(doing, done), daemon=True)
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()


def _say(doing: str, done: Event) -> None:
    """Write a line that stays one line, once a second; the cursor waits at its beginning."""
    stream, width, started = beneath(sys.stderr), width_of(sys.stderr) or 80, time.monotonic()
    shown = ""
    while not done.wait(PATIENCE):
        seconds = f" ... {time.monotonic() - started:.0f} s"
        shown = escaped(doing).replace("\n", " ")[: max(0, width - 1 - len(seconds))] + seconds
        stream.write(f"{shown}\r")
        stream.flush()
    stream.write(f"{' ' * len(shown)}\r" if shown else "")
    stream.flush()
