"""Print a table or an analysis, or write it to a file."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import click

from tseval.cli.console import beneath, escaped, width_of
from tseval.errors import RunError, counted, shortened
from tseval.files import write_text
from tseval.report import render
from tseval.runs.directory import RUN_FILES
from tseval.runs.manifest import NAME as MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.table import Table as RichTable

    from tseval.report import Format
    from tseval.report.document import Document
    from tseval.report.table import Table
    from tseval.sweeps import UnitState, Watcher


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


MOST_ROWS = 20


@contextmanager
def ended_in_order(out: Path) -> Iterator[None]:
    """Let SIGTERM and a closed terminal do what Ctrl-C does, and say how to go on."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Under nohup a closed terminal is to be ignored.
    before = {n: signal.signal(n, interrupt) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    except KeyboardInterrupt:
        click.echo(shortened(f"\nWhat was done is saved in {out}: the same command goes on."), err=True)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def watching(quiet: bool, say: Callable[[UnitState], str]) -> Iterator[Watcher]:
    """Show how far each unit is: a table that changes on a terminal, a line for each change elsewhere.

    Args:
        quiet: Show nothing.
        say: Gives what a unit says of itself, besides its stage.
    """
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        from rich.live import Live

        from tseval.cli.console import Console

        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda states: live.update(_picture(states, say), refresh=True)
    else:
        yield _Lines(say)


def _picture(states: Sequence[UnitState], say: Callable[[UnitState], str]) -> RichTable:
    """Draw a line for each unit; where there are many, for those that are not waiting or done."""
    from rich.table import Table as RichTable
    from rich.text import Text

    picture = RichTable.grid(padding=(0, 2))
    picture.add_column(no_wrap=True)
    picture.add_column(no_wrap=True)
    picture.add_column(no_wrap=True, overflow="ellipsis")
    shown = list(states)
    if len(shown) > MOST_ROWS:
        shown = [state for state in shown if state.record.stage not in ("waiting", "done")][-MOST_ROWS:]
    for state in shown:
        picture.add_row(Text(state.unit.name), state.record.stage, Text(say(state).partition("\n")[0]))
    if len(shown) < len(states):
        picture.add_row(Text(counts_of(states)))
    return picture


class _Lines:
    """Says when a unit comes to its next stage."""

    def __init__(self, say: Callable[[UnitState], str]) -> None:
        self.say = say
        self.stages: dict[str, str] = {}

    def __call__(self, states: Sequence[UnitState]) -> None:
        for state in states:
            name, stage = state.unit.name, state.record.stage
            if self.stages.get(name, "waiting") != stage and not state.was_done:
                said = f": {self.say(state)}" if stage == "done" else ""
                click.echo(f"{name}: {stage}{said}", err=True)
            self.stages[name] = stage


def counts_of(states: Sequence[UnitState]) -> str:
    """Say how many units are at which stage."""
    stages = [state.record.stage for state in states]
    order = ("done", "failed", "training", "scoring", "waiting")
    parts = [f"{stages.count(stage):,} {stage}" for stage in order if stage in stages]
    return f"{counted(len(stages), 'unit')}: {', '.join(parts)}"


def say_progress(state: UnitState) -> str:
    """Say how far a unit is that is being scored, or how many sentences it has."""
    record = state.record
    if record.stage == "scoring" and record.of:
        return f"{record.done:,} of {record.of:,} sentences ({record.done / record.of:.0%})"
    if record.stage == "done":
        return counted(record.done, "sentence")
    return record.said


def print_or_write(told: Document | Table, form: Format = "md", output: Path | None = None) -> None:
    """Print for whoever reads, on a terminal in tables that it is wide enough for; or write to a file.

    Raises:
        RunError: The file is one of those that a run consists of.
    """
    if output is None:
        click.echo(render(told, form, width_of(sys.stdout)), nl=False)
    else:
        if (output.parent / MANIFEST).is_file() and output.name in {MANIFEST, *RUN_FILES}:
            raise RunError(f"{output} is a file of the run there.\n  Write elsewhere with -o.")
        write_text(output, render(told, form))


def say_without_moment(runs: Iterable[str], over: str) -> None:
    """Name the runs that a trajectory leaves out, on standard error."""
    for run in runs:
        click.echo(f"{run}: not known at which {over} of a training its model was, left out", err=True)
