"""Read `.text` files of sentences with their `.gold` files, which give the position of the verb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import is_count, read_lines
from tseval.suites.agreement.english_verbs import number_of
from tseval.suites.agreement.examples import Example
from tseval.suites.agreement.splits import split_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.suites.agreement.splits import Shares
    from tseval.suites.agreement.summary import Tally


@dataclass(frozen=True, slots=True)
class Target:
    """A verb in a sentence of `NAME.text`, as described in `NAME.gold`."""

    place: str  # `file:line` of the gold file
    words: Sequence[str]  # the whole sentence
    position: int  # position of the verb, from 0
    right: str  # the verb form in the sentence
    wrong: str  # the form in the other number
    attractors: int | None  # number of attractors; None if the file does not state it


# The generator of Lakretz et al. 2019 writes this if it does not count attractors.
UNKNOWN_ATTRACTORS = "-999"

SAME_FORM = "right and wrong form are the same, or not of one verb"
END = "<eos>"


def gold_of(text: Path) -> Path:
    """Return the path of the `.gold` file of a `.text` file."""
    return text.with_name(text.name.replace(".text", ".gold", 1))


def read_targets(text: Path) -> Iterator[Target]:
    """Read `NAME.text` and `NAME.gold`: position of the verb, right form, wrong form, attractors.

    The forms are converted to lower case like the text; four of the published forms are not in lower case.
    """
    sentences, gold = list(read_lines(text)), list(read_lines(gold_of(text)))
    if len(sentences) != len(gold):
        raise SuiteError(
            f"{gold_of(text)}: the file has {len(gold)} lines, but {text} has {len(sentences)} sentences.\n"
            "  Write one line for each sentence of the .text file."
        )
    for (_, sentence), (place, line) in zip(sentences, gold, strict=True):
        cells, words = line.split("\t"), sentence.split()
        unknown = cells[3:] == [UNKNOWN_ATTRACTORS]
        if len(cells) != 4 or not (is_count(cells[0]) and (unknown or is_count(cells[3]))):
            raise SuiteError(
                f"{place}: a line must have 4 cells with tabs between them, but this line is {line!r}.\n  "
                "Write the position of the verb, its right form, its wrong form and the number of attractors."
            )
        position, right, wrong = int(cells[0]), cells[1].lower(), cells[2].lower()
        if position >= len(words) or words[position] != right:
            raise SuiteError(
                f"{place}: word {position} of the sentence is not the form {right!r} that this line "
                "gives.\n  Correct the first cell (position) or the second cell (right form) of this line."
            )
        yield Target(place, words, position, right, wrong, None if unknown else int(cells[3]))


def read_target_pairs(path: Path, source: str, shares: Shares, tally: Tally) -> Iterator[Example]:
    """Read examples from `NAME.text` and `NAME.gold`."""
    for target in read_targets(path):
        if target.attractors is None:
            raise SuiteError(
                f"{target.place}: the line has no number of attractors.\n  Write the number of attractors "
                "as the fourth cell of the line."
            )
        tally.n_sentences += 1
        number = number_of(target.right, target.wrong)
        if number is None:
            tally.left_out[SAME_FORM] += 1
            continue
        sentence = " ".join(target.words[:-1] if target.words[-1] == END else target.words)
        yield Example(
            sentence=sentence,
            verb_index=target.position,
            verb_form=target.right,
            number=number,
            opp_verb_form=target.wrong,
            n_attractors=target.attractors,
            source=source,
            split=split_of(sentence, shares),
            opp_how="published",
        )
