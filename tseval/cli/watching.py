"""How far many units of work are, on one screen: for what works on them side by side."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tseval.errors import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rich.table import Table

    from tseval.sweeps import UnitState, Watcher

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


def _picture(states: Sequence[UnitState], say: Callable[[UnitState], str]) -> Table:
    """Draw a line for each unit; where there are many, for those that are not waiting or done."""
    from rich.table import Table
    from rich.text import Text

    picture = Table.grid(padding=(0, 2))
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
