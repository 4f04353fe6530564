"""Read the regions that sentences mark: `the lion ate [critical at sunrise]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import suggest
from tseval.suites.grammar.source import composed
from tseval.writing import BOUNDARY

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


# `[critical ` opens a region, `[critical]` is an empty region, `]` closes a region.
_MARK = re.compile(r"(\[[^\s\[\]]+(?: |\])|\])")
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence without its marks. A mark inside a word leaves a boundary there (`tseval.writing`)."""

    text: str
    names: tuple[str, ...]  # its regions, in order
    # Numbers of words: before the first region, in it, between it and the second, ..., after the last. The
    # length of the tuple is odd.
    lengths: tuple[int, ...]


def read_marks(text: str, regions: Collection[str]) -> MarkedSentence:
    """Parse the region marks of a sentence; its words must be separated by single spaces.

    `[critical at sunrise]` is a region of two words, `[critical]` a region of none. In `l'[noun arbre]` and
    `[stem laugh]s` a region begins or ends inside a word: each part then counts as a word.
    """
    names: list[str] = []
    stretches = [""]
    for part in _MARK.split(text):
        inside = len(stretches) % 2 == 0
        if part == "]" and inside:
            stretches.append("")
        elif _MARK.fullmatch(part) and part != "]" and _NAME.fullmatch(composed(part[1:-1])):
            names.append(_new_name(composed(part[1:-1]), names, regions, part.strip() if inside else None))
            stretches += [""] if part.endswith(" ") else ["", ""]
        elif "[" in part or "]" in part:
            bracket = next(word for word in part.split(" ") if "[" in word or "]" in word)
            token = next(token for token in text.split(" ") if bracket in token)
            raise ValueError(f"the bracket of {token!r} does not open or close a region")
        else:
            stretches[-1] += part
    if len(stretches) % 2 == 0:
        raise ValueError(f"the region {names[-1]!r} is not closed")
    joined = ""
    for stretch in stretches:
        in_word = joined[-1:].strip() and stretch[:1].strip()
        joined += f"{BOUNDARY if in_word else ''}{stretch}"
    lengths = tuple(len(stretch.split()) for stretch in stretches)
    return MarkedSentence(" ".join(filter(None, joined.split(" "))), tuple(names), lengths)


def _new_name(name: str, names: Sequence[str], regions: Collection[str], inside: str | None) -> str:
    """Return the name of a new region, or refuse it; a region cannot be inside another region."""
    if inside is not None:
        raise ValueError(f"the region {names[-1]!r} is not closed before {inside!r}")
    if name not in regions:
        raise ValueError(f"there is no region {name!r}. {suggest(name, regions, 'Regions')}")
    if name in names:
        raise ValueError(f"the region {name!r} appears twice")
    return name
