"""Say and draw on a terminal: texts it does not obey, bars, clocks and tables, in whatever letters it has."""

from __future__ import annotations

import codecs
import io
import os
import re
import signal
import sys
import time
import unicodedata
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from tseval.errors import RunError, counted, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table as RichTable

    from tseval.report import Format
    from tseval.report.document import Document, Screen
    from tseval.report.table import Table
    from tseval.sweeps import UnitState, Watcher


# What Unicode has no likeness of in ASCII; of bars, the nearest whole letter.
NEAREST = str.maketrans("–—−━╸╺‘’“”„█▉▊▋▌▍▎▏", '------\'\'"""#####   ') | str.maketrans(
    {"±": "+/-", "×": "x", "≤": "<=", "≥": ">=", "→": "->"}
)
# Control characters, but for the line break and the tabulator; what turns the direction of text around, so
# that it reads as something else; and bytes that are no text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def nearest(letter: str) -> str:
    """Return what stands for a letter in ASCII: its like, the letter without its accents, or a question mark.

    >>> print("".join(map(nearest, "–é…日")))
    -e...?
    """
    plain = unicodedata.normalize("NFKD", letter.translate(NEAREST))
    return plain.encode("ascii", "ignore").decode() or "?"


def escaped(text: str) -> str:
    r"""Spell out what a terminal would obey.

    >>> print(escaped("one\ttwo \x1b[2J \u202eeerht"))
    one	two \x1b[2J \u202eeerht
    """
    return OBEYED.sub(lambda found: _spelt(ord(found[0])), text)


def _spelt(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no text
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Stream(io.TextIOWrapper):
    """Standard output or error, for any text.

    A file or a pipe gets UTF-8, whatever the system's encoding is: what is written there is read again. A
    terminal gets the nearest letters where it lacks those that are written.
    """

    def __init__(self, beneath: io.TextIOWrapper, spells: bool = True) -> None:
        beneath.flush()
        self.beneath = beneath
        self.letters: str = beneath.letters if isinstance(beneath, Stream) else beneath.encoding
        if not isinstance(beneath, Stream) and not beneath.isatty():
            self.letters = "utf-8"
        self.spells = spells and beneath.isatty()
        # click takes a stream in ASCII for a mistake and writes UTF-8 there; in Latin-1, ASCII is the same.
        encoding = "latin-1" if codecs.lookup(self.letters).name == "ascii" else self.letters
        buffer, by_line = beneath.buffer, beneath.line_buffering
        if isinstance(buffer, io.RawIOBase):
            # Python is told not to buffer (PYTHONUNBUFFERED, in many containers), and asks the system once:
            # what a pipe does not take before a signal comes would be lost without a word.
            buffer, by_line = io.BufferedWriter(buffer), True
        super().__init__(buffer, encoding, line_buffering=by_line)

    def write(self, text: str, /) -> int:
        """Write a text as the stream can show it."""
        seen = escaped(text) if self.spells else text
        try:
            seen.encode(self.letters)
        except UnicodeEncodeError:
            seen = "".join(one if one.encode(self.letters, "ignore") else nearest(one) for one in seen)
        super().write(seen)
        return len(text)

    def close(self) -> None:
        """Write what is waiting; the bytes' stream is not closed with this one."""
        self.flush()


def typed_text(text: str) -> str:
    """Read a text that was typed as UTF-8, in whatever encoding Python took it: in the C locale, ASCII."""
    with suppress(UnicodeError):
        return os.fsencode(text).decode()
    return text


def drawable(stream: TextIO) -> TextIO:
    """Return a stream to what colours, moves the cursor, and spells texts out on its own."""
    return Stream(stream, spells=False) if isinstance(stream, Stream) else stream


@contextmanager
def unguarded() -> Iterator[None]:
    """Leave the terminal to another program, which runs inside this one and draws there as it likes."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(drawable, before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def width_of(stream: TextIO) -> int | None:
    """Return the characters of a line of a terminal: None for files and pipes, and where it does not say."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
    except OSError:
        return None


ALL_NOTES = f"{__name__}.notes"  # among the same: whether all notes of a table are printed
WHOLE = f"{__name__}.whole"  # among what a command was told: whether signatures are shown to their end


def screen_of(stream: TextIO) -> Screen | None:
    """Say what a terminal can show; None for what is none, and where it does not say how wide it is."""
    from tseval.report.document import Screen

    if (width := width_of(stream)) is None:
        return None
    styled = "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"
    return Screen(width, styled, whole=click.get_current_context().meta.get(WHOLE, False))


def print_table(
    rows: Sequence[Sequence[str]], headings: Sequence[str], align: Sequence[str] | None = None
) -> None:
    """Print a list, on a terminal within its width."""
    from tseval.report.document import fitted

    click.echo(fitted(rows, headings, align or ["left"] * len(headings), width_of(sys.stdout)))


def print_hanging(text: str, indent: int) -> None:
    """Print lines, on a terminal within its width; what is broken off stands under the last column."""
    from textwrap import fill

    if (width := width_of(sys.stdout)) is not None:
        lines = (
            fill(line, width, subsequent_indent=" " * min(indent, 2 * width // 3))
            for line in text.split("\n")
        )
        text = "\n".join(lines)
    click.echo(text)


def open_console(quiet: bool = False) -> Console:
    """Yield standard error as rich draws on it, which spells out texts but not what rich itself means."""
    import rich.console

    class Spelling(rich.console.Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                obeyed = segment.control or not self.is_terminal
                yield segment if obeyed else segment._replace(text=escaped(segment.text))

    return Spelling(file=drawable(sys.stderr), quiet=quiet, highlight=False)


@contextmanager
def progress_bar(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a progress bar on a terminal; elsewhere, and when quiet, nothing.

    The bar moves, and its clock runs, also before the first step and after the last.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),  # a model's name may hold brackets
        progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(), progress.TimeRemainingColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=open_console(), transient=True) as bar:
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
    clock = Thread(target=_count_seconds, args=(doing, done), daemon=True)
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()


def _count_seconds(doing: str, done: Event) -> None:
    """Write a line that stays one line, once a second; the cursor waits at its beginning."""
    stream, width, started = drawable(sys.stderr), width_of(sys.stderr) or 80, time.monotonic()
    line = ""
    while not done.wait(1.0):
        seconds = f" ... {time.monotonic() - started:.0f} s"
        line = escaped(doing).replace("\n", " ")[: max(0, width - 1 - len(seconds))] + seconds
        print(line, end="\r", file=stream, flush=True)
    if line:
        print(" " * len(line), end="\r", file=stream, flush=True)


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
        click.echo(
            shortened(f"\ntseval saved the finished runs in {out}. To continue, repeat the same command."),
            err=True,
        )
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


MOST_ROWS = 20


@contextmanager
def watching(quiet: bool, say: Callable[[UnitState], str]) -> Iterator[Watcher]:
    """Show how far each unit is: a table that changes on a terminal, a line for each change elsewhere."""
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
    """Draw a line for each unit; where there are many, for those that are not waiting or done."""
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
    """Say which units have come to another stage than they were at, and note it."""
    for state in states:
        name, stage = state.unit.name, state.record.stage
        if stages.get(name, "waiting") != stage and not state.was_done:
            more = f": {say(state)}" if stage == "done" else ""
            click.echo(f"{name}: {stage}{more}", err=True)
        stages[name] = stage


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


def print_or_write(content: Document | Table, form: Format = "md", output: Path | None = None) -> None:
    """Print for whoever reads, as a terminal can show it unless a format was asked for; or write a file."""
    from tseval.files import write_text
    from tseval.report import render
    from tseval.runs.directory import RUN_FILES
    from tseval.runs.manifest import NAME as MANIFEST

    if output is None:
        by_itself = (
            click.get_current_context().get_parameter_source("form") is not ParameterSource.COMMANDLINE
        )
        screen = screen_of(sys.stdout) if form == "md" and by_itself else None
        few_notes = form == "md" and not click.get_current_context().meta.get(ALL_NOTES, True)
        text = render(content, form, screen, few_notes=few_notes)
        if screen is None:
            click.echo(text, nl=False)
        else:
            print(text, end="", file=drawable(sys.stdout), flush=True)  # all text in it has been made plain
    else:
        if (output.parent / MANIFEST).is_file() and output.name in {MANIFEST, *RUN_FILES}:
            raise RunError(
                f"-o {output}: tseval would overwrite this file, which belongs to a run.\n"
                "  Choose another file with -o."
            )
        write_text(output, render(content, form))
