"""Regions, marked in sentences by labelled brackets: `I know what the lion ate [critical at sunrise]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_OPENING = re.compile(r"\[([^\W\d]\w*)(\]?)")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence without its marks.

    Attributes:
        text: The sentence.
        names: Its regions, in order.
        lengths: Words of each stretch, a region's after those before it: those before the first region, of
            the first region, between it and the second, ..., after the last; so an odd number.
    """

    text: str
    names: tuple[str, ...]
    lengths: tuple[int, ...]


def read_marks(text: str, regions: Collection[str]) -> MarkedSentence:
    """Take the marks out of a sentence, whose words are parted by single spaces.

    Args:
        text: The sentence; `[critical at sunrise]` is a region of two words, `[critical]` one of none.
        regions: Names that regions may have.

    Raises:
        ValueError: Brackets do not match, stand inside words or other brackets, or name no region or one
            twice; says which.
    """
    words: list[str] = []
    names: list[str] = []
    lengths = [0]
    for token in text.split(" "):
        inside, opening = len(lengths) % 2 == 0, _OPENING.fullmatch(token)
        word, closing = token.removesuffix("]"), token.endswith("]")
        if opening:
            if inside:
                raise ValueError(f"the region {names[-1]!r} is not closed before {token!r}")
            names.append(_known(opening[1], regions, names))
            lengths += [0, 0] if opening[2] else [0]
            continue
        if "[" in word or "]" in word or (closing and not inside):
            raise ValueError(f"the bracket of {token!r} neither opens nor closes a region")
        if word:
            words.append(word)
            lengths[-1] += 1
        if closing:
            lengths.append(0)
    if len(lengths) % 2 == 0:
        raise ValueError(f"the region {names[-1]!r} is not closed")
    return MarkedSentence(" ".join(words), tuple(names), tuple(lengths))


def _known(name: str, regions: Collection[str], names: Sequence[str]) -> str:
    if name not in regions:
        raise ValueError(f"there is no region {name!r}. {suggest(name, regions, 'Regions')}")
    if name in names:
        raise ValueError(f"the region {name!r} stands twice")
    return name
