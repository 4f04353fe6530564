"""How a value shows itself to someone who prints it: on one line, by what matters of it."""

from __future__ import annotations

WIDTH = 100


def shown(value: object, name: str, *facts: str) -> str:
    """Say on one line what a value is; for `__repr__`.

    Args:
        value: Shown by the name of its type.
        name: What it is called, or nothing; cut where the line would be too long.
        facts: Counts and the like, short.

    >>> shown(ValueError(), "marvin_linzen", "22 cases", "163,124 items")
    '<ValueError marvin_linzen: 22 cases, 163,124 items>'
    """
    kind = type(value).__name__
    room = max(WIDTH - len(f"<{kind} : >"), 0)
    behind = _cut(", ".join(facts), max(room - len(name), room * 2 // 3))
    before = f" {_cut(name, room - len(behind))}" if name else ""
    return f"<{kind}{before}{': ' if behind else ''}{behind}>"


def counted(number: int, noun: str) -> str:
    """Say how many.

    >>> counted(1, "case"), counted(163124, "item")
    ('1 case', '163,124 items')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quoted_text(text: str, room: int = 100) -> str:
    """Quote a text from outside in a message, cut where it is long.

    >>> quoted_text("the author laughs ."), quoted_text("the author laughs .", 10)
    ("'the author laughs .'", "'the author…'")
    """
    return repr(text if len(text) <= room else f"{text[:room]}…")


def _cut(text: str, room: int) -> str:
    """Make a text fit; what cannot be printed becomes a question mark."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    return printable if len(printable) <= room else printable[: room - 1] + "…"
