"""Regular expressions from untrusted sources, matched in linear time.

The engine is RE2, which pyarrow includes. It never backtracks. Python's own engine does, and some
expressions make it run practically for ever. Expressions that RE2 does not support are refused with a
reason. Letters, digits and white space are those of Unicode, as in Python.

Source: github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import first_line, shortened

if TYPE_CHECKING:
    from collections.abc import Callable


LONGEST_EXPRESSION = 1_000  # characters
_SHORT, _FEW_REPEATS = 100, 2  # characters of a word, and repetitions in an expression
_REMEMBERED = 1 << 16  # words whose result is cached
# Character classes in RE2's syntax, inside and outside square brackets.
_INSIDE = {"w": r"\p{L}\p{M}\p{N}_", "d": r"\p{Nd}", "s": r"\s\p{Z}"}
_OUTSIDE = {name: f"[{members}]" for name, members in _INSIDE.items()} | {
    name.upper(): f"[^{members}]" for name, members in _INSIDE.items()
}
_REFUSED = (
    (re.compile(r"\(\?<?[=!]"), "a condition on the text before or after, (?= and the like,"),
    (re.compile(r"\(\?P=|\\[1-9]"), "a reference to an earlier group"),
    (re.compile(r"\(\?>|[*+?}]\+"), "an atomic group or a possessive repetition"),
    (re.compile(r"\(\?\("), "a condition on a group"),
    (re.compile(r"\\[bBAzZ]"), "a place between characters (\\b and the like)"),
)


class PatternError(Exception):
    """An invalid or unsupported expression, with the reason."""


def whole_matcher(expression: str) -> Callable[[str], bool]:
    """Return a function that checks whether an expression matches a whole text.

    Raises:
        PatternError: The expression is invalid, or needs an engine that backtracks.
    """
    if len(expression) > LONGEST_EXPRESSION:
        raise PatternError(f"the expression has more than {LONGEST_EXPRESSION:,} characters")
    unescaped = re.sub(r"\\\\", "", expression)
    for pattern, name in _REFUSED:
        if pattern.search(unescaped):
            raise PatternError(f"{name} is not supported")
    translated = _translated(expression)
    anchored = rf"\A(?:{translated})\z"

    # A call of RE2 through pyarrow takes some dozen microseconds. So short words are matched by Python's own
    # engine if the expression cannot make it backtrack for long.
    short = None if goes_back(expression, _FEW_REPEATS) else re.compile(expression)

    @lru_cache(maxsize=_REMEMBERED)
    def matches(text: str) -> bool:
        if short is not None and len(text) <= _SHORT:
            return short.fullmatch(text) is not None
        return bool(pc.match_substring_regex(pa.scalar(text, pa.string()), anchored).as_py())

    try:
        pc.match_substring_regex(pa.scalar("", pa.string()), translated)
        matches("x" * (_SHORT + 1))
    except pa.ArrowInvalid as error:
        message = first_line(error).partition("regular expression: ")[2] or first_line(error)
        raise PatternError(shortened(message, 100)) from None
    return matches


def goes_back(pattern: str, most_repeats: int) -> str | None:
    """Say which part of an expression could make Python's engine backtrack for ever; None if it is safe.

    The texts are assumed to be short. A repetition within a repetition doubles the work with each character.
    """
    if len(pattern) > LONGEST_EXPRESSION:
        return f"Write at most {LONGEST_EXPRESSION:,} characters."
    try:
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined] # Python's own, under an inner name
    except (re.error, RecursionError, OverflowError) as error:
        return f"This is not a regular expression: {error}."
    pending: list[tuple[object, bool]] = [(parsed, False)]
    repeats = 0
    while pending:
        part, inside = pending.pop()
        if isinstance(part, re._parser.SubPattern):  # type: ignore[attr-defined] # likewise
            pending += [(child, inside) for child in part]
        elif isinstance(part, list | tuple):
            code = str(part[0]) if part and not isinstance(part[0], list | tuple) else ""
            is_repeat = code.endswith("REPEAT") and part[1][1] > 1
            repeats += is_repeat
            if (inside and (is_repeat or code == "BRANCH")) or repeats > most_repeats:
                return (
                    "Write an expression with fewer repetitions, and without a repetition or | "
                    "inside a repetition."
                )
            pending += [(child, inside or is_repeat) for child in part]
    return None


def _translated(expression: str) -> str:
    """Expand character classes to Unicode; those of RE2 know only ASCII."""
    pieces: list[str] = []
    start = -1  # where the open square bracket begins, or -1
    for part in re.findall(r"\\.|.", expression, re.DOTALL):
        inside = start >= 0
        if part == "[" and not inside:
            start = len(pieces)
            pieces.append(part)
        elif part == "]" and inside and pieces[start + 1 :] not in ([], ["^"]):  # a first `]` is literal
            start = -1
            pieces.append(part)
        elif part[0] == "\\" and inside and part[1:] in _INSIDE:
            pieces.append(_INSIDE[part[1]])
        elif part[0] == "\\" and inside and part[1:] in ("W", "D", "S"):
            raise PatternError(f"{part} inside square brackets is not supported")
        elif part[0] == "\\" and part[1:] in _OUTSIDE:
            pieces.append(_OUTSIDE[part[1]])
        else:
            pieces.append(part)
    return "".join(pieces)
