"""Text on a terminal: letters that it cannot show, control characters that it must not get, its width."""

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


# Replacements for characters that Unicode does not decompose into ASCII. Bars become `#` or a space.
NEAREST = str.maketrans("–—−━╸╺‘’“”„█▉▊▋▌▍▎▏", '------\'\'"""#####   ') | str.maketrans(
    {"±": "+/-", "×": "x", "≤": "<=", "≥": ">=", "→": "->"}
)
# Control characters except line break and tabulator; characters that change the direction of text, and so
# can make it read as something else; and surrogates, which stand for bytes that are not text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def nearest(letter: str) -> str:
    """Replace a letter by ASCII: a similar sign, the letter without its accents, or a question mark.

    >>> print("".join(map(nearest, "–é…日")))
    -e...?
    """
    plain = unicodedata.normalize("NFKD", letter.translate(NEAREST))
    return plain.encode("ascii", "ignore").decode() or "?"


def escaped(text: str) -> str:
    r"""Escape the characters that control a terminal.

    >>> print(escaped("one\ttwo \x1b[2J \u202eeerht"))
    one	two \x1b[2J \u202eeerht
    """
    return OBEYED.sub(lambda match: _spelt(ord(match[0])), text)


def _spelt(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # stands for a byte that is not text
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Stream(io.TextIOWrapper):
    """Standard output or error, for any text.

    A file or a pipe always gets UTF-8, with any encoding of the system, because programs read it again. If a
    terminal cannot show a letter, it gets the nearest one.
    """

    def __init__(self, beneath: io.TextIOWrapper, spells: bool = True) -> None:
        beneath.flush()
        self.beneath = beneath
        self.letters: str = beneath.letters if isinstance(beneath, Stream) else beneath.encoding
        if not isinstance(beneath, Stream) and not beneath.isatty():
            self.letters = "utf-8"
        self.spells = spells and beneath.isatty()
        # click believes that an ASCII stream is a mistake, and writes UTF-8. Latin-1 includes ASCII.
        encoding = "latin-1" if codecs.lookup(self.letters).name == "ascii" else self.letters
        buffer, by_line = beneath.buffer, beneath.line_buffering
        if isinstance(buffer, io.RawIOBase):
            # With PYTHONUNBUFFERED (set in many containers), Python calls the system's write only once. If a
            # signal comes before a pipe has taken all text, the rest would be lost without an error.
            buffer, by_line = io.BufferedWriter(buffer), True
        super().__init__(buffer, encoding, line_buffering=by_line)

    def write(self, text: str, /) -> int:
        """Write a text, with letters replaced that the stream cannot show."""
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
        """Flush this stream. The byte stream below it stays open."""
        self.flush()


def typed_text(text: str) -> str:
    """Decode a typed text as UTF-8, even if Python used another encoding (ASCII in the C locale)."""
    with suppress(UnicodeError):
        return os.fsencode(text).decode()
    return text


def drawable(stream: TextIO) -> TextIO:
    """Return a stream for code that uses colours, moves the cursor and escapes texts itself."""
    return Stream(stream, spells=False) if isinstance(stream, Stream) else stream


@contextmanager
def unguarded() -> Iterator[None]:
    """Let another program, which runs in this process, write control characters to the terminal."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(drawable, streams)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = streams


def width_of(stream: TextIO) -> int | None:
    """Return the width of a terminal in characters; None for files, pipes and unknown widths."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
    except OSError:
        return None


def open_streams() -> None:
    """Open closed output streams, and let all of them take any text and escape control characters."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the end
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, Stream):
            setattr(sys, name, Stream(stream))
