"""Mistakes after which items say something else than their author meant, found in the sentences of a case.

They are the same for grammars and for data: a sentence that is good in one item and bad in another, a
difference that nobody sees, a mark that ends the sentence twice, brackets that are read as words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.items import Case

_SHOWN = 4  # names in a message
Severity = Literal["error", "warning", "note"]
# What is found before it is known where in a file it stands: the label whose sentences it is about, and what.
Found = tuple[Severity, str, str]

# Marks that end a sentence: Latin, Chinese and Japanese, Arabic and Urdu, Devanagari, Ethiopic, Armenian,
# Burmese, Khmer, Tibetan, the question mark of Greek, and those that are two or three in one.
OTHER_ENDS = (
    *("。", "！", "？", "．", "｡", "؟", "۔", "।", "॥", "።", "։", "။", "។", "།", "༎", "\u037e"),
    *("…", "‼", "⁇", "⁈", "⁉"),
)
ENDS_SENTENCE = (".", "?", "!", *OTHER_ENDS)
# Joiners are letters in Persian and in Indian scripts, and nothing in these.
_JOINERS = "\u200c\u200d"
_UNJOINED = ("LATIN", "CYRILLIC", "GREEK")
# Without a width, and no format characters of Unicode: selectors of variants, fillers, a blank of Braille.
_BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Letters that look like Latin ones, hyphens and apostrophes. Source: Unicode, confusables (UTS 39).
_LOOK_ALIKE = str.maketrans(
    "асеорхуіјѕһԁԛԝАВЕКМНОРСТХІЈЅοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ\u2010\u2011\u02bc\u2018\u2019",
    "aceopxyijshdqwABEKMHOPCTXIJSoABEZHIKMNOPTYX--'''",
)
# What looks like a region, with a name and words, or a name alone.
_BRACKET = re.compile(
    r"\[\s*([^\W\d][\w-]*)(?:\s*:?\s+[^\[\]]*)?(?:\]|$)|\[\s*(\w[\w-]*)\s*:?\s+[^\[\]]*(?:\]|$)"
)
_CLOSING = "\"'”’»)」』"


def name_of(character: str) -> str:
    r"""Name a character that cannot be seen: its code, and its name in Unicode.

    >>> name_of("\\u200b")
    'U+200B (zero width space)'
    """
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'no name').lower()})"


def as_seen(text: str) -> str:
    """Return a text as a reader sees it: composed, with plain spaces, and one letter for all of its look."""
    return " ".join(" ".join(map(_word_as_seen, text.split(" "))).split())


@cache
def _word_as_seen(word: str) -> str:
    composed = unicodedata.normalize("NFC", word)
    visible = (char for place, char in enumerate(composed) if not is_invisible(char, composed[:place]))
    plain = "".join(" " if unicodedata.category(char) == "Zs" else char for char in visible)
    return plain.translate(_LOOK_ALIKE)


def is_invisible(character: str, before: str = "") -> bool:
    """Whether a character has no width and is no letter of its script, which the text before it shows."""
    if character in _JOINERS:
        return unicodedata.name(before[-1:] or "-", "").startswith(_UNJOINED)
    return unicodedata.category(character) == "Cf" or _BLANKS.match(character) is not None


def unseen_differences(case: Case) -> Iterator[Found]:
    """Find contrasts between sentences that differ, and look the same."""
    for contrast in case.contrasts:
        pairs = _pairs(case, contrast.better, contrast.worse)
        alike = [pair for pair in pairs if pair[0] != pair[1] and as_seen(pair[0]) == as_seen(pair[1])]
        if alike:
            message = (
                f"{len(alike):,} of {len(pairs):,} pairs of '{contrast}' look the same: {_why(*alike[0])}"
            )
            yield "error", contrast.worse, f"{message}, for example {alike[0][0]!r}."


def _why(one: str, other: str) -> str:
    """Say by which character two sentences differ that look the same, and where it stands."""
    for text in (one, other):
        for place, character in enumerate(text):
            blank = character != " " and unicodedata.category(character) == "Zs"
            if blank or is_invisible(character, text[:place]):
                return f"one has {name_of(character)} as character {place + 1}"
    texts = (unicodedata.normalize("NFC", text) for text in (one, other))
    for place, (first, second) in enumerate(zip(*texts, strict=False), 1):
        if first != second:
            return f"one has {name_of(first)} and one {name_of(second)} as character {place}"
    place = next(n for n, (a, b) in enumerate(zip(one, other, strict=False), 1) if a != b)
    return f"one has a composed and one a decomposed letter at character {place}"


def contradictions(case: Case) -> Iterator[Found]:
    """Find sentences that are the better one in an item and the worse one in another, by contrast."""
    for contrast in case.contrasts:
        pairs = _pairs(case, contrast.better, contrast.worse)
        both = {pair[0] for pair in pairs} & {pair[1] for pair in pairs if pair[0] != pair[1]}
        items = [pair for pair in pairs if pair[0] != pair[1] and both & {*pair}]
        if items:
            text = next(pair[0] for pair in items if pair[0] in both)
            message = (
                f"{len(items):,} of {len(pairs):,} pairs of '{contrast}' contradict each other: {text!r}"
            )
            message += " is the better sentence of one item and the worse one of another"
            yield (
                "error",
                contrast.worse,
                f"{message}. {_leave_out(case, text, (contrast.better, contrast.worse))}",
            )


def _leave_out(case: Case, text: str, contrast: tuple[str, str]) -> str:
    """Name the line that leaves such items out: what differs where the text is good and where it is bad."""
    better, worse = (case.sentences[label].to_pylist().index(text) for label in contrast)
    differ = [
        name
        for name in case.features.column_names
        if case.features[name][better].as_py() != case.features[name][worse].as_py()
    ]
    nouns = [name.removesuffix("_number") for name in differ if name.endswith("_number")]
    noun = next((name for name in nouns if name not in differ), None)
    if noun is not None:
        return f"If {noun!r} has one form for both numbers, add: where: {noun}.sing != {noun}.plur"
    slots = ", ".join(map(repr, differ[:_SHOWN]))
    return f"These items differ in {slots}: leave one of them out." if differ else "Leave one of them out."


def ended_twice(case: Case, terminator: str) -> Iterator[Found]:
    """Find sentences that end in a mark already; an abbreviation such as `U.S.` may end one."""
    for label in case.labels:
        texts = [str(text) for text in case.sentences[label].unique().to_pylist()]
        written = [text for text in texts if _ends(text, terminator)]
        if written:
            mark = next(
                mark for mark in (terminator, *ENDS_SENTENCE) if written[0].rstrip(_CLOSING).endswith(mark)
            )
            message = f"{len(written):,} sentences end in {mark!r}, for example {written[0]!r}"
            if mark == terminator:
                why = f"it would be scored twice, since {terminator!r} is added to every one."
            else:
                why = f"{terminator!r} is added to every one as well. "
                why += f'Leave {mark!r} out of the sentences. Write into suite.yaml: terminator: "{mark}"'
            yield "error", label, f"{message}: {why}"


def _ends(text: str, terminator: str) -> bool:
    """Whether a text ends in a mark, but for closing quotes, and the terminator is one too."""
    bare = text.rstrip(_CLOSING)
    if bare.endswith("."):
        return terminator in ENDS_SENTENCE and "." not in bare.rsplit(maxsplit=1)[-1].removesuffix(".")
    return bare.endswith(terminator) or (terminator in ENDS_SENTENCE and bare.endswith(ENDS_SENTENCE))


def forgotten_regions(case: Case) -> Iterator[Found]:
    """Find brackets that look like marks of regions, in a case that compares whole sentences."""
    for label in case.labels:
        texts = [str(text) for text in case.sentences[label].unique().to_pylist()]
        marked = [text for text in texts if _BRACKET.search(text)]
        if marked:
            bracket = _BRACKET.search(marked[0])
            assert bracket is not None
            message = f"the brackets of {bracket[0]!r} are scored as words in {len(marked):,} sentences"
            name = bracket[1] if (bracket[1] or "").isidentifier() else "critical"
            fix = f"Add 'regions: [{name}]' and 'predictions:', or take the brackets away"
            yield "error", label, f"{message}. {fix}."


def idle_labels(case: Case) -> Iterator[Found]:
    """Find labels that no contrast compares."""
    compared = {side for contrast in case.contrasts for side in (contrast.better, contrast.worse)}
    for label in case.labels if case.contrasts else ():
        if label not in compared:
            message = f"no contrast compares {label!r}, so its sentences are never scored."
            fix = f"Add a contrast, such as '{case.contrasts[0].better} > {label}', or delete the line."
            yield "warning", label, f"{message} {fix}"


def _pairs(case: Case, better: str, worse: str) -> Sequence[tuple[str, str]]:
    columns = (map(str, case.sentences[label].to_pylist()) for label in (better, worse))
    return list(zip(*columns, strict=True))
