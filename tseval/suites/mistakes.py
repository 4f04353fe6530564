"""Mistakes after which items say something else than their author meant, found in the sentences of a case.

They are the same for grammars and for data: a sentence that is good in one item and bad in another, a
difference that nobody sees, a mark that ends the sentence twice, brackets that are read as words.

Whole columns are searched first, and single sentences looked at only where something may be found: `tseval
run` looks for mistakes in every suite.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Literal

import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.items import Case

Severity = Literal["error", "warning", "note"]
# What is found before it is known where in a file it stands: the label whose sentences it is about, and what.
Found = tuple[Severity, str, str]

# Marks that end a sentence: Latin, Chinese and Japanese, Arabic and Urdu, Devanagari, Ethiopic, Armenian.
OTHER_ENDS = ("。", "！", "？", "．", "؟", "۔", "।", "॥", "።", "։")
ENDS_SENTENCE = (".", "?", "!", *OTHER_ENDS)
# Characters without a width. Joiners are letters in Persian and in Indian scripts.
_JOINERS = "\u200c\u200d"
_SPACES = "\u00a0\u2007\u202f"
_UNSEEN = rf"[\p{{Cf}}{_SPACES}]"
_BRACKET = re.compile(r"(?<!\S)\[([^\W\d]\w*)(?: [^\[\]]*)?\](?!\S)")


def name_of(character: str) -> str:
    r"""Name a character that cannot be seen: its code, and its name in Unicode.

    >>> name_of("\\u200b")
    'U+200B (zero width space)'
    """
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'no name').lower()})"


def as_seen(text: str) -> str:
    """Return a text as a reader sees it: composed, with plain spaces, without characters of no width."""
    visible = (char for char in unicodedata.normalize("NFC", text) if not is_invisible(char))
    return "".join(" " if char in _SPACES else char for char in visible)


def is_invisible(character: str) -> bool:
    """Whether a character has no width and is no letter of its script."""
    return unicodedata.category(character) == "Cf" and character not in _JOINERS


def first_mistake(case: Case, terminator: str | None) -> str | None:
    """Give the first mistake in a case after which its numbers mean something else; None if there is none."""
    checks = [unseen_differences(case), contradictions(case), forgotten_regions(case)]
    if terminator is not None:
        checks.append(ended_twice(case, terminator))
    return next((message for check in checks for _, _, message in check), None)


def unseen_differences(case: Case) -> Iterator[Found]:
    """Find contrasts between sentences that differ, and look the same."""
    for contrast in case.contrasts:
        sides = [case.sentences[label] for label in (contrast.better, contrast.worse)]
        odd = [pc.or_(pc.match_substring_regex(side, _UNSEEN), _not_composed(side)) for side in sides]
        maybe = pc.and_(pc.or_(*odd), pc.not_equal(*sides))
        if not pc.any(maybe, min_count=0).as_py():
            continue
        pairs = list(zip(*(map(str, side.filter(maybe).to_pylist()) for side in sides), strict=True))
        alike = [pair for pair in pairs if as_seen(pair[0]) == as_seen(pair[1])]
        if alike:
            message = f"{len(alike):,} of {case.n_items:,} pairs of '{contrast}' look the same: "
            yield "error", contrast.worse, f"{message}{_why(*alike[0])}, for example {alike[0][0]!r}."


def _not_composed(texts: Any) -> Any:
    composed: Any = pc.call_function("utf8_normalize", [texts], pc.Utf8NormalizeOptions("NFC"))
    return pc.not_equal(texts, composed)


def _why(one: str, other: str) -> str:
    """Say by which character two sentences differ that look the same, and where it stands."""
    for text in (one, other):
        for place, character in enumerate(text, 1):
            if is_invisible(character) or character in _SPACES:
                return f"one has {name_of(character)} as character {place}"
    place = next(n for n, (a, b) in enumerate(zip(one, other, strict=False), 1) if a != b)
    return f"one has a composed and one a decomposed letter at character {place}"


def contradictions(case: Case) -> Iterator[Found]:
    """Find sentences that are the better one in an item and the worse one in another, by contrast."""
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
            message += " is the better sentence of one item and the worse one of another"
            yield "error", contrast.worse, f"{message}. {_leave_out(case, text, contrast.better)}"


def _leave_out(case: Case, text: str, label: str) -> str:
    """Name the line that leaves such items out, if it is a noun of one form."""
    row = case.sentences[label].to_pylist().index(text)
    slots = [name.removesuffix("_number") for name in case.features.column_names if name.endswith("_number")]
    words = text.split()
    nouns = [name for name in slots if str(case.features[name][row].as_py()) in words]
    if not nouns:
        return "Leave one of them out."
    return f"If {nouns[0]!r} has one form for both numbers, add: where: {nouns[0]}.sing != {nouns[0]}.plur"


def ended_twice(case: Case, terminator: str) -> Iterator[Found]:
    """Find sentences that end in a mark already; an abbreviation such as `U.S.` may end one."""
    for label in case.labels:
        texts = _matching(case, label, f"(?:{'|'.join(map(re.escape, (terminator, *ENDS_SENTENCE)))})$")
        written = [text for text in texts if _ends(text, terminator)]
        if written:
            mark = next(mark for mark in (terminator, *ENDS_SENTENCE) if written[0].endswith(mark))
            message = f"{len(written):,} sentences end in {mark!r}, for example {written[0]!r}"
            if mark == terminator:
                why = f"it would be scored twice, since {terminator!r} is added to every one."
            else:
                why = f"{terminator!r} is added to every one as well. "
                why += f"Leave {mark!r} out of the sentences, and write 'terminator: {mark}' in suite.yaml."
            yield "error", label, f"{message}: {why}"


def _ends(text: str, terminator: str) -> bool:
    if text.endswith(terminator):
        return terminator not in text.rsplit(maxsplit=1)[-1].removesuffix(terminator)
    return terminator == "." and text.endswith(OTHER_ENDS)


def forgotten_regions(case: Case) -> Iterator[Found]:
    """Find brackets that look like marks of regions, in a case that compares whole sentences."""
    for label in case.labels:
        texts = _matching(case, label, r"\[")
        marked = [text for text in texts if _BRACKET.search(text)]
        if marked:
            bracket = _BRACKET.search(marked[0])
            assert bracket is not None
            message = f"the brackets of {bracket[0]!r} are scored as words in {len(marked):,} sentences"
            fix = f"Add 'regions: [{bracket[1]}]' and 'predictions:', or take the brackets away"
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
    """Give the distinct sentences of a label that match."""
    texts = case.sentences[label]
    return [str(text) for text in texts.filter(pc.match_substring_regex(texts, pattern)).unique().to_pylist()]


def _pairs(case: Case, better: str, worse: str) -> Sequence[tuple[str, str]]:
    columns = (map(str, case.sentences[label].to_pylist()) for label in (better, worse))
    return list(zip(*columns, strict=True))
