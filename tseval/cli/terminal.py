"""A terminal and its text: letters that it lacks, texts that it must not obey, its width."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import unicodedata
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    return OBEYED.sub(lambda match: _spelt(ord(match[0])), text)


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
        written = escaped(text) if self.spells else text
        try:
            written.encode(self.letters)
        except UnicodeEncodeError:
            written = "".join(
                letter if letter.encode(self.letters, "ignore") else nearest(letter) for letter in written
            )
        super().write(written)
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


def open_streams() -> None:
    """Make sure that there is something to write to, in any encoding, and that a terminal obeys no text."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the end
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, Stream):
            setattr(sys, name, Stream(stream))
