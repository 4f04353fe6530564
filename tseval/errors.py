"""The errors that users see, and functions that write their messages.

    TsevalError                 exit code 2: bad input or usage
    ├── GrammarError            a grammar or lexicon file; names file, line and fix
    ├── SuiteError              an unknown or malformed suite, case or feature
    ├── ModelError              a checkpoint or model specification that cannot be used
    ├── TrainingError           training text or settings that cannot be used
    ├── RunError                a run directory that cannot be read, written or resumed
    ├── BoardError              a leaderboard file with wrong or missing content
    ├── EvidenceError           evidence that does not match a run's numbers
    └── LimitError              a file over a size limit; names the limit and how to raise it

Any other exception that reaches a user is a bug in tseval.
"""

from __future__ import annotations

from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


LONGEST_MESSAGE = 480  # of a message; with the prefix that commands add, at most 500 characters


class TsevalError(Exception):
    """Bad input, explained in one message: what is wrong, where, and what to do next.

    The message may quote input of any length, so it is shortened here.
    """

    def __init__(self, message: str = ""):
        super().__init__(shortened(message))


class GrammarError(TsevalError):
    """A grammar or lexicon that cannot be expanded.

    Args:
        message: What is wrong.
        path: The file, if there is one.
        line: The line in that file, counted from 1.
        fix: What the author can do about it.
    """

    others: tuple[GrammarError, ...] = ()  # the other errors in the same file

    def __init__(
        self, message: str, path: Path | str | None = None, line: int | None = None, fix: str | None = None
    ):
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(f"{where}{message}" + (f"\n  {fix}" if fix else ""))
        self.message, self.path, self.line, self.fix = message, path, line, fix


class SuiteError(TsevalError):
    """A suite, case or feature that does not exist or cannot be read."""


class ModelError(TsevalError):
    """A checkpoint or model specification that cannot be used."""


class TrainingError(TsevalError):
    """Training text or settings that cannot be used."""


class RunError(TsevalError):
    """A run directory that cannot be read, written or resumed."""


class BoardError(TsevalError):
    """A leaderboard file with wrong or missing content."""


class EvidenceError(TsevalError):
    """Evidence that cannot be read, or that does not match a run's numbers."""


class AwayError(TsevalError):
    """A remote resource that is not available now, so that tseval cannot check it."""


class LimitError(TsevalError):
    """A file over a size limit, which the user can raise (`tseval.files`)."""


def shortened(message: str, longest: int = LONGEST_MESSAGE) -> str:
    r"""Shorten a message: cut out the middle of its long lines, and the middle lines if there are many.

    The start of a line says what is wrong and where, and the end what was expected. Quotes are in the middle.

    >>> shortened("a.tsv:7: n is no whole number, but 'xxxxxxxxxxxxxxxxxxxxxxxxxx'\n  Correct it.", 60)
    "a.tsv:7: n is no whole number…xxxxxxxxxxxxxx'\n  Correct it."
    """
    if len(message) <= longest:
        return message
    lines = message.split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 3], "  …", *lines[-2:]]
    remaining, width = longest - len(lines), longest
    for place, length in enumerate(sorted(map(len, lines))):  # short lines stay; long ones share the rest
        width = remaining // (len(lines) - place)
        if length > width:
            break
        remaining -= length
    return "\n".join(_cut(line, width) for line in lines)


_MOST_LINES = 8


def _cut(line: str, width: int) -> str:
    """Shorten a line: keep two thirds of the space for its start, and one third for its end."""
    if len(line) <= width:
        return line
    end = width // 3
    return f"{line[: width - 1 - end]}…{line[len(line) - end :]}"


def reason(error: Exception) -> str:
    """Return the reason why a file could not be used, without the number and the path that Python adds.

    >>> reason(FileNotFoundError(2, "No such file or directory", "text.txt"))
    'No such file or directory'
    """
    return getattr(error, "strerror", None) or str(error)


def first_line(error: Exception) -> str:
    r"""Return the first line of an error's message, or the error's type if the message is empty.

    >>> first_line(ValueError("wrong type\nand more")), first_line(EOFError())
    ('wrong type', 'EOFError')
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def suggest(wrong: str, known: Iterable[str], what: str) -> str:
    """Return the nearest known name and a list of all, for the second line of a message.

    >>> suggest("verbb", ["verb", "subject"], "Slots")
    "Did you mean 'verb'? Slots: subject, verb."
    """
    names = sorted(known)
    near = get_close_matches(wrong, names, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}{what}: {', '.join(names) if names else 'none'}."


WIDTH = 100


def one_line(value: object, name: str, *facts: str) -> str:
    """Describe a value on one line by its type, its name (shortened) and facts, for `__repr__`.

    >>> one_line(ValueError(), "marvin_linzen", "22 cases", "163,124 items")
    '<ValueError marvin_linzen: 22 cases, 163,124 items>'
    """
    kind = type(value).__name__
    room = max(WIDTH - len(f"<{kind} : >"), 0)
    behind = _within(", ".join(facts), max(room - len(name), room * 2 // 3))
    before = f" {_within(name, room - len(behind))}" if name else ""
    return f"<{kind}{before}{': ' if behind else ''}{behind}>"


def as_html(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a value as an HTML table, for `_repr_html_` in notebooks. All texts are escaped.

    >>> as_html("one & two", ["case"], [["<b>"]])
    '<p>one &amp; two</p><table><tr><th>case</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    lines = [[f"<th>{escape(plain(heading))}</th>" for heading in headings]]
    lines += [[f"<td>{escape(plain(str(cell)))}</td>" for cell in row] for row in rows]
    table = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f"<p>{escape(plain(title))}</p><table>{table}</table>"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "case"), counted(163124, "item")
    ('1 case', '163,124 items')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quoted_text(text: str, room: int = 100) -> str:
    """Quote an input text in a message, and shorten it if it is long.

    >>> quoted_text("the author laughs ."), quoted_text("the author laughs .", 10)
    ("'the author laughs .'", "'the author…'")
    """
    return repr(text if len(text) <= room else f"{text[:room]}…")


def _within(text: str, room: int) -> str:
    """Shorten a text to fit. Characters that cannot be printed become question marks."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    return printable if len(printable) <= room else printable[: room - 1] + "…"


# Marks that change the direction of text, and so can disguise a name as another.
TURNS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Replace control characters, line breaks, lone surrogates and direction marks by U+FFFD."""
    odd = {mark for mark in set(text) if mark in TURNS or category(mark) in {"Cc", "Cs", "Zl", "Zp"}}
    return "".join("\ufffd" if mark in odd else mark for mark in text)
