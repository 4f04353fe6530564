"""How much is read of what others wrote: a limit for everything in a file that could grow without end.

What goes beyond one is refused, by a message that names the limit and how to raise it: by the environment
variable `TSEVAL_LIMITS`, for every command and from Python, as in `TSEVAL_LIMITS=rows=50M,file_bytes=8G`. It
is looked at whenever something is read. K, M and G are thousands, millions and thousands of millions.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING

from tseval.errors import LimitError, suggest

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "TSEVAL_LIMITS"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_NUMBER = re.compile(r"([0-9]{1,15})([KMG]?)")


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read at most; docs/reliability.md says the same to users.

    Attributes:
        file_bytes: Of a file of data (suites, treebanks, tables of examples), on disk and unpacked.
        rows: Lines of a file of data; of a treebank, sentences.
        line_chars: Of one line of data or of a text.
        document_bytes: Of a file that is read as one piece: JSON, and vocabularies.
        grammar_bytes: Of a grammar, a lexicon or a recipe.
        text_bytes: Of a text to train on or to parse, on disk and unpacked.
        ratio: How many times as large as on disk a compressed file may be.
        depth: Lists and mappings inside one another, in data in JSON.
        sentence_chars: Of a sentence that is to be scored or read from a data set, or a line to be parsed.
        sentence_words: Words, and lines about them, of a sentence in a treebank.
    """

    file_bytes: int = 10**9
    rows: int = 3 * 10**6
    line_chars: int = 16 * 10**6
    document_bytes: int = 16 * 10**6
    grammar_bytes: int = 1 << 20
    text_bytes: int = 64 * 10**9
    ratio: int = 1000
    depth: int = 100
    sentence_chars: int = 50_000
    sentence_words: int = 10_000


def limits() -> Limits:
    """Give the limits that hold now.

    Raises:
        LimitError: `TSEVAL_LIMITS` cannot be read.
    """
    return _parsed(os.environ.get(VARIABLE, ""))


def beyond(limit: str, where: Path | str, what: str) -> LimitError:
    """Make the error that names a limit, and how to raise it.

    Args:
        limit: Its name.
        where: The file, or the place in it.
        what: What is too much, such as `a line`; its limit stands behind it.
    """
    return LimitError(f"{where}: {what} {getattr(limits(), limit):,}.\n  {how_to_raise(limit)}")


def how_to_raise(limit: str) -> str:
    """Say how to raise a limit, for the second line of a message.

    >>> how_to_raise("rows")
    'If that is meant, raise the limit: set TSEVAL_LIMITS=rows=6M in the environment.'
    """
    raised = _written(2 * getattr(limits(), limit))
    return f"If that is meant, raise the limit: set {VARIABLE}={limit}={raised} in the environment."


@lru_cache(maxsize=8)
def _parsed(text: str) -> Limits:
    """Read `NAME=NUMBER,...`."""
    known = {field.name for field in fields(Limits)}
    raised: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.partition("=")
        if name not in known:
            raise LimitError(f"{VARIABLE}: there is no limit {name!r}.\n  {suggest(name, known, 'Limits')}")
        found = _NUMBER.fullmatch(number)
        if found is None:
            raise LimitError(
                f"{VARIABLE}: {name} should be a whole number, perhaps with K, M or G behind it, "
                f"not {number!r}.\n  For example {VARIABLE}=rows=50M,file_bytes=8G."
            )
        raised[name] = int(found[1]) * _UNITS[found[2]]
    return Limits(**raised)


def _written(number: int) -> str:
    """Write a number as it may stand in the variable.

    >>> _written(2_000_000_000), _written(2_097_152)
    ('2G', '2097152')
    """
    unit = next(unit for unit in ("G", "M", "K", "") if number % _UNITS[unit] == 0)
    return f"{number // _UNITS[unit]}{unit}"
