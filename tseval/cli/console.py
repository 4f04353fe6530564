"""Import much at once, and quit with much in memory, without a search for garbage among it."""

from __future__ import annotations

import codecs
import gc
import io
import os
import re
import sys
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import rich.console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment


NEAREST = {
    **dict.fromkeys("–—−━╸╺", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("█▉▊▋▌", "#"),  # bars, to the nearest whole letter
    **dict.fromkeys("▍▎▏", " "),
    "…": "...",
    "±": "+/-",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
}
HANDLER = "nearest"


def nearest(letter: str) -> str:
    """Give what stands for a letter in ASCII: its like, the letter without its accents, or a question mark.

    >>> print("".join(map(nearest, "–é…日")))
    -e...?
    """
    plain = NEAREST.get(letter) or unicodedata.normalize("NFKD", letter)
    return plain.encode("ascii", "ignore").decode() or "?"


def give_nearest(stream: io.TextIOWrapper) -> None:
    """Have a stream write the nearest letters where it lacks those that are written."""
    ascii_alone = codecs.lookup(stream.encoding).name == "ascii"
    stream.reconfigure(encoding=_ASCII.name if ascii_alone else None, errors=HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(nearest, error.object[error.start : error.end])), error.end


def _find(name: str) -> codecs.CodecInfo | None:
    return _ASCII if name == _ASCII.name else None


# click takes a stream in ASCII for a mistake and writes UTF-8 there, unless ASCII has another name.
_ASCII = codecs.CodecInfo(
    name="nearest_ascii",
    encode=codecs.ascii_encode,
    decode=codecs.ascii_decode,
    incrementalencoder=codecs.lookup("ascii").incrementalencoder,
    incrementaldecoder=codecs.lookup("ascii").incrementaldecoder,
)
codecs.register(_find)
codecs.register_error(HANDLER, _replace)


# Control characters, but for the line break and the tabulator; what turns the direction of text around, so
# that it reads as something else; and bytes that are no text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


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


class TerminalBytes(io.BufferedIOBase):
    """The bytes on their way to a terminal. Whoever writes, whole characters come at a time.

    Args:
        beneath: The stream that the terminal was opened as.
    """

    def __init__(self, beneath: io.TextIOWrapper) -> None:
        self.beneath = beneath

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override] # all that is written here
        """Write text, given as bytes, with its control characters spelt out."""
        encoding = self.beneath.encoding
        given = bytes(data)
        safe = escaped(given.decode(encoding, "surrogateescape"))
        self.beneath.flush()  # a progress bar may have written there
        self.beneath.buffer.write(safe.encode(encoding, HANDLER))
        return len(given)

    def writable(self) -> bool:
        """Say that it can be written."""
        return True

    def flush(self) -> None:
        """Pass on what is waiting."""
        self.beneath.buffer.flush()

    def fileno(self) -> int:
        """Give the number by which the system knows the terminal."""
        return self.beneath.fileno()

    def isatty(self) -> bool:
        """Say that it is a terminal."""
        return True


def guarded(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Put the spelling out between a program and its terminal; leave other streams as they are."""
    if not stream.isatty() or isinstance(stream.buffer, TerminalBytes):
        return stream
    return io.TextIOWrapper(
        TerminalBytes(stream),  # type: ignore[arg-type] # what it is for: bytes that can be written
        encoding=stream.encoding, errors=HANDLER, newline="\n", line_buffering=True,
    )  # fmt: skip


def width_of(stream: TextIO) -> int | None:
    """Give the characters of a line of a terminal: None for files and pipes, and where it does not say."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
    except OSError:
        return None


def beneath(stream: TextIO) -> TextIO | IO[str]:
    """Give the terminal itself, for what colours, moves the cursor, and spells texts out on its own."""
    buffer = getattr(stream, "buffer", None)
    return buffer.beneath if isinstance(buffer, TerminalBytes) else stream


@contextmanager
def unguarded() -> Iterator[None]:
    """Leave the terminal to another program, which runs inside this one and draws there as it likes."""
    before = sys.stdout, sys.stderr
    for stream in before:
        stream.flush()
    sys.stdout, sys.stderr = map(beneath, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class Console(rich.console.Console):
    """Standard error as rich draws on it.

    Args:
        quiet: Draw nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(file=beneath(sys.stderr), quiet=quiet, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Spell out control characters in texts; those that rich itself means are not texts."""
        for segment in super().render(renderable, options):
            if segment.control or not self.is_terminal:
                yield segment
            else:
                yield segment._replace(text=escaped(segment.text))


@contextmanager
def imported_for_good() -> Iterator[None]:
    """Keep the garbage collector from what is imported: now, later, and when Python quits.

    Modules stay until the end, but the collector would look through the half a million objects of torch again
    and again, which takes as long as a third of its import.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def without_collector() -> Iterator[None]:
    """Put the search for garbage off; what has become garbage meanwhile is found afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
