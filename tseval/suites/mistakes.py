"""Find mistakes in the sentences of a case that change what its items measure.

The checks are the same for grammars and data. They find sentences that are good in one item and bad in
another, invisible differences, double final marks, and brackets that are scored as words.

`tseval run` checks every suite, so the checks are fast: they search whole columns first, and look at single
sentences only if the column search has a match.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.items import Case

_SHOWN = 4  # the number of slots that a message names
Severity = Literal["error", "warning", "note"]
# A mistake before its place in a file is known: its severity, the label of its sentences, and the message.
Found = tuple[Severity, str, str]

# Final marks of Chinese and Japanese, Arabic and Urdu, Devanagari, Ethiopic, Armenian, Burmese, Khmer and
# Tibetan; the question mark of Greek. The second line: characters that combine several Latin marks.
OTHER_ENDS = (
    *("。", "！", "？", "．", "｡", "؟", "۔", "।", "॥", "።", "։", "။", "។", "།", "༎", "\u037e"),
    *("…", "‼", "⁇", "⁈", "⁉"),
)
ENDS_SENTENCE = (".", "?", "!", *OTHER_ENDS)
# Joiners are part of the spelling in Persian and in Indian scripts, but not in the scripts of `_UNJOINED`.
_JOINERS = "\u200c\u200d"
_UNJOINED = ("LATIN", "CYRILLIC", "GREEK")
# Characters without width that Unicode does not class as format: variation selectors, fillers, Braille blank.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_BLANKS = re.compile(f"[{_BLANK}]")
# Letters that look like Latin ones, hyphens and apostrophes. Source: Unicode, confusables (UTS 39).
_OTHERS = "асеорхуіјѕһԁԛԝАВЕКМНОРСТХІЈЅοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ\u2010\u2011\u02bc\u2018\u2019"
_LOOK_ALIKE = str.maketrans(_OTHERS, "aceopxyijshdqwABEKMHOPCTXIJSoABEZHIKMNOPTYX--'''")
# A sentence without any of these characters looks as it is written, apart from decomposed letters.
_UNSEEN = (
    rf"[\p{{Cf}}\x{{00a0}}\x{{1680}}\x{{2000}}-\x{{200a}}\x{{202f}}\x{{205f}}\x{{3000}}{_BLANK}{_OTHERS}]"
)
# A bracket that looks like a region: a name with words, or a name alone.
_BRACKET = re.compile(
    r"\[\s*([^\W\d][\w-]*)(?:\s*:?\s+[^\[\]]*)?(?:\]|$)|\[\s*(\w[\w-]*)\s*:?\s+[^\[\]]*(?:\]|$)"
)
_CLOSING = "\"'”’»)」』"


def name_of(character: str) -> str:
    r"""Return the code point of an invisible character and its Unicode name.

    >>> name_of("\\u200b")
    'U+200B (zero width space)'
    """
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'no name').lower()})"


def as_seen(text: str) -> str:
    """Return a text as it looks: composed, with plain spaces, and one letter for all that look like it."""
    return " ".join(" ".join(map(_word_as_seen, text.split(" "))).split())


@cache
def _word_as_seen(word: str) -> str:
    composed = unicodedata.normalize("NFC", word)
    visible = (char for place, char in enumerate(composed) if not is_invisible(char, composed[:place]))
    plain = "".join(" " if unicodedata.category(char) == "Zs" else char for char in visible)
    return plain.translate(_LOOK_ALIKE)


def is_invisible(character: str, before: str = "") -> bool:
    """Check whether a character has no width and is not a letter in the script of the text before it."""
    if character in _JOINERS:
        return unicodedata.name(before[-1:] or "-", "").startswith(_UNJOINED)
    return unicodedata.category(character) == "Cf" or _BLANKS.match(character) is not None


def first_mistake(case: Case, terminator: str | None) -> str | None:
    """Return the message of the first mistake that changes what a case measures, or None."""
    checks = [unseen_differences(case), contradictions(case), forgotten_regions(case)]
    if terminator is not None:
        checks.append(ended_twice(case, terminator))
    return next((message for check in checks for _, _, message in check), None)


def unseen_differences(case: Case) -> Iterator[Found]:
    """Find contrasts whose two sentences differ but look the same."""
    for contrast in case.contrasts:
        sides = [case.sentences[label] for label in (contrast.better, contrast.worse)]
        masks = [pc.or_(pc.match_substring_regex(side, _UNSEEN), _not_composed(side)) for side in sides]
        candidates = pc.and_(pc.or_(*masks), pc.not_equal(*sides))
        if not pc.any(candidates, min_count=0).as_py():
            continue
        pairs = list(zip(*(map(str, side.filter(candidates).to_pylist()) for side in sides), strict=True))
        lookalikes = [pair for pair in pairs if as_seen(pair[0]) == as_seen(pair[1])]
        if lookalikes:
            message = f"{len(lookalikes):,} of {case.n_items:,} pairs of '{contrast}' look the same: "
            yield (
                "error",
                contrast.worse,
                f"{message}{_why(*lookalikes[0])}, for example {lookalikes[0][0]!r}.",
            )


def _not_composed(texts: Any) -> Any:
    composed: Any = pc.call_function("utf8_normalize", [texts], pc.Utf8NormalizeOptions("NFC"))
    return pc.not_equal(texts, composed)


def _why(sentence: str, twin: str) -> str:
    """Return which character makes two sentences differ that look the same, and its position."""
    for text in (sentence, twin):
        for place, character in enumerate(text):
            blank = character != " " and unicodedata.category(character) == "Zs"
            if blank or is_invisible(character, text[:place]):
                return f"character {place + 1} of one sentence is {name_of(character)}"
    texts = (unicodedata.normalize("NFC", text) for text in (sentence, twin))
    for place, (first, second) in enumerate(zip(*texts, strict=False), 1):
        if first != second:
            return f"character {place} is {name_of(first)} in one sentence and {name_of(second)} in the other"
    place = next(n for n, (a, b) in enumerate(zip(sentence, twin, strict=False), 1) if a != b)
    return f"character {place} is a composed letter in one sentence and a decomposed one in the other"


def contradictions(case: Case) -> Iterator[Found]:
    """Find sentences that are the better one in one item of a contrast and the worse one in another."""
    for contrast in case.contrasts:
        better, worse = (case.sentences[label] for label in (contrast.better, contrast.worse))
        if not pc.any(pc.is_in(better, value_set=worse.combine_chunks()), min_count=0).as_py():
            continue
        pairs = _pairs(case, contrast.better, contrast.worse)
        both = {pair[0] for pair in pairs} & {pair[1] for pair in pairs if pair[0] != pair[1]}
        items = [pair for pair in pairs if pair[0] != pair[1] and both & {*pair}]
        if items:
            text = next(pair[0] for pair in items if pair[0] in both)
            message = (
                f"{len(items):,} of {len(pairs):,} pairs of '{contrast}' contradict each other: {text!r}"
            )
            message += " is the better sentence of one item and the worse sentence of another item"
            yield (
                "error",
                contrast.worse,
                f"{message}. {_leave_out(case, text, (contrast.better, contrast.worse))}",
            )


def _leave_out(case: Case, text: str, contrast: tuple[str, str]) -> str:
    """Return a fix for contradictions: name the features that differ between the two items of a sentence."""
    better, worse = (case.sentences[label].to_pylist().index(text) for label in contrast)
    differing_names = [
        name
        for name in case.features.column_names
        if case.features[name][better].as_py() != case.features[name][worse].as_py()
    ]
    nouns = [name.removesuffix("_number") for name in differing_names if name.endswith("_number")]
    noun = next((name for name in nouns if name not in differing_names), None)
    if noun is not None:
        return f"If {noun!r} has one form for both numbers, add: where: {noun}.sing != {noun}.plur"
    slots = ", ".join(map(repr, differing_names[:_SHOWN]))
    return (
        f"These items differ in {slots}: delete one of these slots."
        if differing_names
        else "Delete one of the items."
    )


def ended_twice(case: Case, terminator: str) -> Iterator[Found]:
    """Find sentences that already end in a final mark. A final abbreviation such as `U.S.` is allowed."""
    for label in case.labels:
        texts = _matching(case, label, _ending_in((terminator, *ENDS_SENTENCE)))
        written = [text for text in texts if _ends(text, terminator)]
        if written:
            mark = next(
                mark for mark in (terminator, *ENDS_SENTENCE) if written[0].rstrip(_CLOSING).endswith(mark)
            )
            message = f"{len(written):,} sentences end in {mark!r}, for example {written[0]!r}"
            if mark == terminator:
                why = f"the mark is scored twice, because tseval adds {terminator!r} to every sentence."
            else:
                why = f"tseval also adds {terminator!r} to every sentence. "
                why += f'Leave {mark!r} out of the sentences. Write into suite.yaml: terminator: "{mark}"'
            yield "error", label, f"{message}: {why}"


def _ending_in(marks: Sequence[str]) -> str:
    """Return a pattern for texts that end in a mark, perhaps with closing quotes behind it."""
    return f"(?:{'|'.join(map(re.escape, marks))})[{re.escape(_CLOSING)}]*$"


def _ends(text: str, terminator: str) -> bool:
    """Check whether a text ends in a final mark like the terminator; closing quotes may follow."""
    stripped = text.rstrip(_CLOSING)
    if stripped.endswith("."):
        return terminator in ENDS_SENTENCE and "." not in stripped.rsplit(maxsplit=1)[-1].removesuffix(".")
    return stripped.endswith(terminator) or (terminator in ENDS_SENTENCE and stripped.endswith(ENDS_SENTENCE))


def forgotten_regions(case: Case) -> Iterator[Found]:
    """Find brackets that look like regions in a case that compares whole sentences."""
    for label in case.labels:
        texts = _matching(case, label, r"\[")
        marked = [text for text in texts if _BRACKET.search(text)]
        if marked:
            bracket = _BRACKET.search(marked[0])
            assert bracket is not None
            message = f"the brackets of {bracket[0]!r} are scored like words in {len(marked):,} sentences"
            name = bracket[1] if (bracket[1] or "").isidentifier() else "critical"
            fix = f"Add 'regions: [{name}]' and 'predictions:', or delete the brackets"
            yield "error", label, f"{message}. {fix}."


def idle_labels(case: Case) -> Iterator[Found]:
    """Find labels that no contrast compares."""
    compared = {side for contrast in case.contrasts for side in (contrast.better, contrast.worse)}
    for label in case.labels if case.contrasts else ():
        if label not in compared:
            message = f"no contrast compares {label!r}, so its sentences are never scored."
            fix = f"Add a contrast, such as '{case.contrasts[0].better} > {label}', or delete the line."
            yield "warning", label, f"{message} {fix}"


def _matching(case: Case, label: str, pattern: str) -> list[str]:
    """Return the distinct sentences of a label that match a pattern."""
    texts = case.sentences[label]
    return [str(text) for text in texts.filter(pc.match_substring_regex(texts, pattern)).unique().to_pylist()]


def _pairs(case: Case, better: str, worse: str) -> Sequence[tuple[str, str]]:
    columns = (map(str, case.sentences[label].to_pylist()) for label in (better, worse))
    return list(zip(*columns, strict=True))
