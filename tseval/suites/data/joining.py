"""Join the parts of a text from several columns, with or without spaces.

Chinese, Japanese, Thai, Khmer and Lao have no spaces between words. There is no space after an elided word
(`l’`) or before a comma. Parts without a space are joined by an invisible boundary
(`tseval.writing.BOUNDARY`), so that they remain separate words and regions can be compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.writing import BOUNDARY, CLITICS, ELIDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOINS = ("auto", "space", "none")  # the values of `--columns join=`
BY_SCRIPT = "script"  # like `auto`, but marks, clitics and elided words are separate tokens
# Scripts without spaces between words, and their punctuation marks.
_RUN_ON = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u19e0-\u19ff\u3001-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff9f\U00020000-\U0003347f]"
)
_MARKS = tuple(".,;:?!)]%…")
_ELIDED = {
    *map(str.lower, ELIDED),
    "all",
    "bell",
    "com",
    "dall",
    "dell",
    "nell",
    "quell",
    "sant",
    "sull",
    "un",
}
_APART = re.compile(r"\s[.,;:?!]")  # a space before a mark: the text is tokenised


def join_of(options: Mapping[str, str]) -> str:
    """Return the user's setting `join`; refuse a value that is not in `JOINS`."""
    join = options.get("join", "auto")
    if join not in JOINS:
        raise SuiteError(
            f"--columns: the setting join={join} has an unknown value.\n  {suggest(join, JOINS, 'Values')}"
        )
    return join


def join_parts(parts: Sequence[str], join: str = "auto") -> str:
    """Join the parts of a text by one of `JOINS` or `BY_SCRIPT`; empty parts are skipped."""
    held = [part for part in parts if part]
    attaches = join == "auto" and not any(_APART.search(part.lstrip()) for part in held)
    text = ""
    for part in held:
        gap = " "
        if not text or text[-1].isspace() or part[0].isspace():
            gap = ""
        elif join == "none" or (join != "space" and _has_no_space(text, part, attaches)):
            gap = BOUNDARY
        text += gap + part
    return text


def _has_no_space(text: str, part: str, attaches: bool) -> bool:
    """Return whether there is no space between a text and the part that follows it."""
    if _RUN_ON.match(text[-1]) and _RUN_ON.match(part[0]):
        return True
    if not attaches:
        return False
    first, last = part.split(maxsplit=1)[0], text.rsplit(maxsplit=1)[-1]
    return first.startswith(_MARKS) or first in CLITICS or _is_elided(last)


def _is_elided(word: str) -> bool:
    return word[-1] in "'’" and word[:-1].lower() in _ELIDED
