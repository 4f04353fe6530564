"""Progress of a command on a terminal: bars, clocks, and the units of a sweep."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import click

from tseval.cli.terminal import drawable, escaped, width_of
from tseval.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table as RichTable

    from tseval.sweeps import UnitState, Watcher


def open_console(quiet: bool = False) -> Console:
    """Return a console of rich on standard error. It escapes control characters in texts."""
    import rich.console

    class Spelling(rich.console.Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                is_control = segment.control or not self.is_terminal
                yield segment if is_control else segment._replace(text=escaped(segment.text))

    return Spelling(file=drawable(sys.stderr), quiet=quiet, highlight=False)


@contextmanager
def progress_bar(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a progress bar on a terminal. Without a terminal, or if `quiet`, draw nothing and yield None.

    The bar moves and its clock runs also before the first step and after the last step.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),  # brackets in names are no markup
        progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(), progress.TimeRemainingColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=open_console(), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def busy(doing: str, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal what the command is doing and its seconds, if it takes more than one second.

    Without a terminal, or if `quiet`, nothing is shown. The line is removed at the end. The code inside must
    not write to the terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    finished = Event()
    clock = Thread(target=_count_seconds, args=(doing, finished), daemon=True)
    clock.start()
    try:
        yield
    finally:
        finished.set()
        clock.join()


def _count_seconds(doing: str, done: Event) -> None:
    """Write the line again every second, cut to the width, and leave the cursor at its beginning."""
    stream, width, started = drawable(sys.stderr), width_of(sys.stderr) or 80, time.monotonic()
    line = ""
    while not done.wait(1.0):
        seconds = f" ... {time.monotonic() - started:.0f} s"
        line = escaped(doing).replace("\n", " ")[: max(0, width - 1 - len(seconds))] + seconds
        print(line, end="\r", file=stream, flush=True)
    if line:
        print(" " * len(line), end="\r", file=stream, flush=True)


MOST_ROWS = 20


@contextmanager
def watching(quiet: bool, say: Callable[[UnitState], str]) -> Iterator[Watcher]:
    """Show the stage of each unit: a table that changes on a terminal, a line for each change elsewhere."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        from rich.live import Live

        with Live(console=open_console(), auto_refresh=False) as live:
            yield lambda states: live.update(_picture(states, say), refresh=True)
    else:
        stages: dict[str, str] = {}
        yield lambda states: _say_changes(states, stages, say)


def _picture(states: Sequence[UnitState], say: Callable[[UnitState], str]) -> RichTable:
    """Return a table with a row for each unit. If there are many, leave out those that wait or are done."""
    from rich.table import Table
    from rich.text import Text

    picture = Table.grid(padding=(0, 2))
    picture.add_column(no_wrap=True)
    picture.add_column(no_wrap=True)
    picture.add_column(no_wrap=True, overflow="ellipsis")
    rows = list(states)
    if len(rows) > MOST_ROWS:
        rows = [state for state in rows if state.record.stage not in ("waiting", "done")][-MOST_ROWS:]
    for state in rows:
        picture.add_row(Text(state.unit.name), state.record.stage, Text(say(state).partition("\n")[0]))
    if len(rows) < len(states):
        picture.add_row(Text(counts_of(states)))
    return picture


def _say_changes(
    states: Sequence[UnitState], stages: dict[str, str], say: Callable[[UnitState], str]
) -> None:
    """Print each unit whose stage has changed, and store its new stage in `stages`."""
    for state in states:
        name, stage = state.unit.name, state.record.stage
        if stages.get(name, "waiting") != stage and not state.was_done:
            details = f": {say(state)}" if stage == "done" else ""
            click.echo(f"{name}: {stage}{details}", err=True)
        stages[name] = stage


def counts_of(states: Sequence[UnitState]) -> str:
    """Return a text with the number of units at each stage."""
    stages = [state.record.stage for state in states]
    order = ("done", "failed", "training", "scoring", "waiting")
    parts = [f"{stages.count(stage):,} {stage}" for stage in order if stage in stages]
    return f"{counted(len(stages), 'unit')}: {', '.join(parts)}"


def say_progress(state: UnitState) -> str:
    """Return the progress of a unit, or the number of its sentences and their speed if it is done."""
    record = state.record
    if record.stage == "scoring" and record.of:
        return f"{record.done:,} of {record.of:,} sentences ({record.done / record.of:.0%})"
    if record.stage == "done":
        speed = "" if record.speed is None else f", {record.seconds:.1f} s, {record.speed:,.0f} sentences/s"
        return counted(record.done, "sentence") + speed
    return record.said
