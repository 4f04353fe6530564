"""How the parts of a text in several columns become one text: with a space, or without one.

Chinese, Japanese, Thai, Khmer and Lao have no spaces between words, an elided word (`l’`) has none behind it,
and a comma has none before it. Where there is none, a boundary stays that no model and no reader sees
(`tseval.writing.BOUNDARY`): the parts are still words of their own, so that regions can be compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.writing import BOUNDARY, CLITICS, ELIDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOINS = ("auto", "space", "none")  # what stands between parts, `--columns join=`
BY_SCRIPT = "script"  # as `auto`, but marks, clitics and elided words stand apart, as tokens do
# Scripts whose words have no spaces between them, and the marks that are written among these.
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
_APART = re.compile(r"\s[.,;:?!]")  # the texts have spaces before marks: they are tokens


def join_of(options: Mapping[str, str]) -> str:
    """Return what the user says should stand between parts; refuse what is none of `JOINS`."""
    join = options.get("join", "auto")
    if join not in JOINS:
        raise SuiteError(
            f"--columns: the setting join={join} has an unknown value.\n  {suggest(join, JOINS, 'Values')}"
        )
    return join


def join_parts(parts: Sequence[str], join: str = "auto") -> str:
    """Join the parts of a text, empty ones passed over, by one of `JOINS`, or `BY_SCRIPT`."""
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
    """Return whether a text is written without a space between its beginning and what follows."""
    if _RUN_ON.match(text[-1]) and _RUN_ON.match(part[0]):
        return True
    if not attaches:
        return False
    first, last = part.split(maxsplit=1)[0], text.rsplit(maxsplit=1)[-1]
    return first.startswith(_MARKS) or first in CLITICS or _is_elided(last)


def _is_elided(word: str) -> bool:
    return word[-1] in "'’" and word[:-1].lower() in _ELIDED
