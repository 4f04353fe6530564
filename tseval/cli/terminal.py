"""What reaches a terminal: texts, and no commands to it.

Names of models and suites, sentences and messages come from files that anyone may have made. A terminal
obeys what stands in them: it changes its title, hides or overwrites lines, answers as if a user typed. So all
that is written to a terminal goes through one stream that spells control characters out. Files and pipes get
every byte as it is.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from tseval.cli.letters import HANDLER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

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
