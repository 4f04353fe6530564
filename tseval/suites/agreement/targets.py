"""Verbs in running text, as the test set of Linzen et al. 2016 names them: `NAME.text` with `NAME.gold`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import is_count, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Target:
    """A verb in a sentence of `NAME.text`, as `NAME.gold` tells.

    Attributes:
        place: `file:line` of the gold file.
        words: The whole sentence.
        position: Of the verb, from 0.
        right: The verb as it stands there.
        wrong: The verb in the other number.
        attractors: How many.
    """

    place: str
    words: Sequence[str]
    position: int
    right: str
    wrong: str
    attractors: int


def gold_of(text: Path) -> Path:
    """Name the file that says which word of each sentence is the verb."""
    return text.with_name(text.name.replace(".text", ".gold", 1))


def read_targets(text: Path) -> Iterator[Target]:
    """Read `NAME.text` with `NAME.gold` beside it: position of the verb, right form, wrong form, attractors.

    The forms are lower-cased as the text is; four of the published ones are not.

    Raises:
        SuiteError: The two files do not fit together, or a line is malformed.
    """
    sentences, gold = list(read_lines(text)), list(read_lines(gold_of(text)))
    if len(sentences) != len(gold):
        raise SuiteError(f"{gold_of(text)}: {len(gold)} lines for the {len(sentences)} sentences of {text}")
    for (_, sentence), (place, line) in zip(sentences, gold, strict=True):
        cells, words = line.split("\t"), sentence.split()
        if len(cells) != 4 or not (is_count(cells[0]) and is_count(cells[3])):
            raise SuiteError(
                f"{place}: not position, right form, wrong form and number of attractors: {line!r}"
            )
        position, right, wrong, attractors = int(cells[0]), cells[1].lower(), cells[2].lower(), int(cells[3])
        if position >= len(words) or words[position] != right:
            raise SuiteError(f"{place}: word {position} of the sentence is not {right!r}")
        yield Target(place, words, position, right, wrong, attractors)
