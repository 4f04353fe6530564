"""Slips of authors that leave every item readable; they can be found only in grammars.

Examples are unused slots, slot names without braces, doubled words, missing spaces and exchanged labels.
Other examples are letters of another script, and a final mark or language that does not fit.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING

from tseval.suites.grammar.folders import SUITE_FILE
from tseval.suites.grammar.source import class_names, composed, read_grammar_text
from tseval.suites.mistakes import is_invisible, name_of
from tseval.writing import LANGUAGES, language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tseval.items import Case
    from tseval.suites.grammar.folders import SuiteFolder
    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.slots import Slot
    from tseval.suites.mistakes import Severity


@dataclass(frozen=True, slots=True)
class Slip:
    """A slip and its place."""

    severity: Severity
    path: Path
    line: int | None
    message: str
    counts: bool = True  # whether the command exits with status 1 because of it


# Final marks of languages without a full stop.
_FINAL_MARKS = {
    "hindi": "।", "nepali": "।", "bengali": "।", "japanese": "。", "chinese": "。", "armenian": "։",
    "amharic": "።", "urdu": "۔", "khmer": "។",
}  # fmt: skip
# Codes of countries that authors mistake for codes of languages.
_COUNTRIES = {
    "jp": "japanese", "cn": "chinese", "kr": "korean", "gr": "greek", "cz": "czech", "ua": "ukrainian",
    "il": "hebrew", "ir": "persian", "dk": "danish", "se": "swedish",
}  # fmt: skip
_WRONG_NAMES = frozenset({"ungrammatical", "bad", "wrong", "unacceptable", "incorrect", "ill_formed"})
_RIGHT_NAMES = frozenset({"grammatical", "good", "right", "acceptable", "correct", "well_formed"})
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")
_PHONETIC = "θβχ"  # Greek letters that the IPA uses among Latin ones
_UNSPACED = ("KHMER", "THAI", "LAO", "MYANMAR", "TIBETAN", "JAVANESE")  # U+200B separates words in these
_QUOTES = '"“”„'
_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_AGREEMENT = re.compile(r"(\w+)\s*\|\s*(agree|disagree)\(\s*(\w+)\s*[),]")


def slips_of(grammar: Grammar, case: Case) -> Iterator[Slip]:
    """Find the slips of one grammar."""
    texts = {
        label: [str(text) for text in dict.fromkeys(case.sentences[label].to_pylist())]
        for label in case.labels
    }
    yield from _unused_slots(grammar, case)
    yield from _slots_of_one_side(grammar, case)
    yield from _reversed_labels(grammar, case)
    yield from _one_word_in_two_slots(grammar, case)
    for label, column in texts.items():
        yield from _without_braces(grammar, label, column[0])
        yield from _scored_marks(grammar, label, column[0])
        yield from _doubled_words(grammar, label, column)
        yield from _attached_marks(grammar, label, column)
    yield from _run_together(grammar, case)
    yield from _odd_letters(grammar, texts)


def slips_of_folder(folder: SuiteFolder, grammars: Sequence[Grammar], words: Iterable[str]) -> Iterator[Slip]:
    """Find the slips of a suite as a whole: its language and its final mark. `words` are its words."""
    languages = [(folder.path / SUITE_FILE, folder.line_of("language"), folder.language)]
    for grammar in grammars:
        if (language := grammar.document.text("language")) is not None:
            languages.append((grammar.path, grammar.document.line("language"), language))
    for path, line, language in dict.fromkeys(languages):
        near = get_close_matches(language.casefold(), LANGUAGES, n=1, cutoff=0.85)
        if language_of(language) is None:
            place = path if path.exists() else folder.path
            suggestion = _COUNTRIES.get(language.casefold()) or next(iter(near), None)
            message = (
                f"no rules of writing are known for {language!r}, so tseval reads sentences "
                "as you write them."
            )
            if suggestion is None:
                yield Slip("note", place, line, message)
            else:
                yield Slip("warning", place, line, f"{message} Did you mean {suggestion!r}?")
    usual = _FINAL_MARKS.get(language_of(folder.language) or "")
    stated = folder.line_of("terminator") is not None or any(map(_is_latin, words))
    if usual is not None and folder.terminator == "." and not stated:
        path = folder.path / SUITE_FILE if folder.path.is_dir() else folder.path
        message = (
            f"tseval ends sentences with '.', but sentences in {folder.language} usually end with {usual!r}."
        )
        fix = f"""Write into suite.yaml: terminator: "{usual}" (or "." if you mean ".")."""
        yield Slip("warning", path, None if folder.path.is_dir() else 1, f"{message} {fix}")


def _is_latin(word: str) -> bool:
    """Check whether a word has Latin letters, as in a transliterated text."""
    return any(unicodedata.name(letter, "").startswith("LATIN") for letter in word)


def _line(grammar: Grammar, label: str) -> int:
    return grammar.sentences[label][0].line


def _slots_used(grammar: Grammar, label: str) -> set[str]:
    return {name for code in grammar.sentences[label] for name in code.slots}


def _unused_slots(grammar: Grammar, case: Case) -> Iterator[Slip]:
    """Find slots that no sentence uses, so that items repeat each other."""
    rows = list(zip(*(case.sentences[label].to_pylist() for label in case.labels), strict=True))
    used = {name for label in case.labels for name in _slots_used(grammar, label)}
    used |= {slot.repeated_by for slot in grammar.slots if slot.repeated_by is not None}
    for slot in grammar.slots if len({*rows}) < len(rows) else ():
        if slot.name not in used and slot.size > 1:
            message = f"no sentence uses the slot {slot.name!r}, so each of its items appears several times."
            fix = f"Write {{{{ {slot.name} }}}} into the sentences, or delete the slot."
            yield Slip("error", grammar.path, grammar.document.line("slots", slot.name), f"{message} {fix}")


def _slots_of_one_side(grammar: Grammar, case: Case) -> Iterator[Slip]:
    """Find nouns in only one sentence of a contrast.

    Other slots may hold the error of the ungrammatical sentence, such as another classifier.
    """
    for contrast in case.contrasts:
        better, worse = (_slots_used(grammar, label) for label in (contrast.better, contrast.worse))
        for slot in grammar.slots:
            if slot.name in better ^ worse and slot.size > 1 and slot.has_number:
                label, other = contrast.better, contrast.worse
                if slot.name in better:
                    label, other = other, label
                message = f"{label!r} does not use the slot {slot.name!r}, and {other!r} does."
                fix = f"Write {{{{ {slot.name} }}}} into {label!r}, if you forgot it there."
                yield Slip("warning", grammar.path, _line(grammar, label), f"{message} {fix}", counts=False)


def _reversed_labels(grammar: Grammar, case: Case) -> Iterator[Slip]:
    """Find contrasts whose worse sentence is called right, or agrees when the better one does not."""
    for contrast in case.contrasts:
        better, worse = contrast.better, contrast.worse
        if better.casefold() in _WRONG_NAMES and worse.casefold() in _RIGHT_NAMES:
            message = f"the contrast '{contrast}' counts {better!r} as the better sentence."
            fix = f"Put the line {worse!r} first, or add: contrasts: [{worse} > {better}]"
            yield Slip("error", grammar.path, _line(grammar, better), f"{message} {fix}")
            continue
        agreements = {label: {*_AGREEMENT.findall(_source_line(grammar, label))} for label in (better, worse)}
        for word, kind, other in sorted(agreements[better]):
            if kind == "disagree" and {(word, "agree", other)} & (agreements[worse] - agreements[better]):
                message = (
                    f"{word!r} disagrees with {other!r} in the better sentence, and agrees in {worse!r}."
                )
                fix = "Swap 'agree' and 'disagree' in the two lines, unless you mean this."
                yield Slip("warning", grammar.path, _line(grammar, better), f"{message} {fix}")


def _one_word_in_two_slots(grammar: Grammar, case: Case) -> Iterator[Slip]:
    """Find items with the same word in two slots of one class: *the guard that the guard likes*."""
    used = {name for label in case.labels for name in _slots_used(grammar, label)}
    slots = [slot for slot in grammar.slots if slot.has_number and slot.repeat is None and slot.name in used]
    for place, slot in enumerate(slots):
        for earlier in slots[:place]:
            if not {*class_names(slot.class_name or "")} & {*class_names(earlier.class_name or "")}:
                continue
            columns = (case.features[each_slot.name].to_pylist() for each_slot in (earlier, slot))
            n_same = sum(value == other_value for value, other_value in zip(*columns, strict=True))
            if n_same:
                message = (
                    f"in {n_same:,} of {case.n_items:,} items {earlier.name!r} and {slot.name!r} have the "
                    "same word."
                )
                fix = f"If you mean different words, write: {_differing(slot, earlier)}"
                line = grammar.document.line("slots", slot.name)
                yield Slip("warning", grammar.path, line, f"{message} {fix}", counts=False)


def _differing(slot: Slot, earlier: Slot) -> str:
    """Return the front matter line that makes a slot differ from an earlier slot."""
    if slot.class_name != earlier.class_name:
        return f"where: {earlier.name}.lemma != {slot.name}.lemma"
    number = "" if slot.numbers > 1 else f", number: {getattr(slot.fillers[0], 'number', 'sing')}"
    names = [*slot.differs_from, earlier.name]
    listed = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    return f"{slot.name}: {{class: {slot.class_name}{number}, differs_from: {listed}}}"


def _scored_marks(grammar: Grammar, label: str, text: str) -> Iterator[Slip]:
    """Find linguists' stars, quotes around a sentence, and comments: all of these are scored as words."""
    line, words = _line(grammar, label), text.split()
    if text[:1] in ("*", "?", "#"):
        message = f"the mark {text[0]!r} is scored as a word in {text!r}."
        yield Slip(
            "error",
            grammar.path,
            line,
            f"{message} Delete the mark: the label already names the wrong sentence.",
        )
    elif words and text[0] in _QUOTES and (text[-1] in _QUOTES or len(words[0]) > 1):
        message = f"the quotes are scored as words in {text!r}."
        yield Slip("warning", grammar.path, line, f"{message} Delete them, unless the sentence is quoted.")
    comment = next((word for word in words[1:] if word in ("#", "//")), None)
    if comment is not None:
        message = f"the text after {comment!r} is scored as words in {text!r}."
        yield Slip("warning", grammar.path, line, f"{message} Write a comment as {{# ... #}}.")


def _without_braces(grammar: Grammar, label: str, text: str) -> Iterator[Slip]:
    """Find braces that are scored as words, and slot names that are words of a sentence."""
    line = _line(grammar, label)
    source = _source_line(grammar, label)
    names = [slot.name for slot in grammar.slots]
    literal = {word.strip("{}<>$%*_.,") for word in _CODE.sub(" ", source).split()[1:]}
    unbraced = [name for name in names if name in literal and not re.search(rf"{{{{-?\s*{name}\b", source)]
    if "{" in text or "}" in text:
        slot_name = next((name for name in names if re.search(rf"{{\s*{name}\b|\b{name}\s*}}", text)), "slot")
        message = f"braces are scored as words in {text!r}."
        fix = f"Write {{{{ {slot_name} }}}}, with two braces on each side."
        severity: Severity = "warning" if slot_name == "slot" else "error"
        yield Slip(severity, grammar.path, line, f"{message} {fix}")
    elif unbraced:
        message = f"{unbraced[0]!r} is a word in {text!r}, and also the name of a slot."
        yield Slip(
            "warning", grammar.path, line, f"{message} Write {{{{ {unbraced[0]} }}}} if you mean the slot."
        )


def _source_line(grammar: Grammar, label: str) -> str:
    """Return the line of the grammar file that has a sentence."""
    return composed(read_grammar_text(grammar.path).split("\n")[_line(grammar, label) - 1])


def _doubled_words(grammar: Grammar, label: str, texts: Sequence[str]) -> Iterator[Slip]:
    """Find a word that appears twice in a row in every sentence.

    If only some sentences have one, it may be a pronoun after an article of the same form. Some languages
    double words, so this never fails a check.
    """
    doubled = [
        {word for word, after in pairwise(text.split()) if word == after and any(map(str.isalpha, word))}
        for text in texts
    ]
    if all(doubled):
        word = min(set.intersection(*doubled) or doubled[0])
        message = f"{word!r} appears twice in a row, and so does a word of every other sentence."
        message += " If this is a mistake, delete one of them."
        yield Slip("warning", grammar.path, _line(grammar, label), message, counts=False)


def _attached_marks(grammar: Grammar, label: str, texts: Iterable[str]) -> Iterator[Slip]:
    """Find words with an attached comma or semicolon: word-level models do not know them."""
    words = (word for text in texts for word in text.split()[:-1])
    marked_word = next(
        (word for word in words if len(word) > 1 and word[-1] in ",;" and word[-2].isalpha()), None
    )
    if marked_word is not None:
        message = f"in {marked_word!r}, the mark is a part of the word."
        fix = (
            f"Write a space before the mark: '{marked_word[:-1]} {marked_word[-1]}'. The option "
            "--text natural takes the space away again."
        )
        yield Slip("warning", grammar.path, _line(grammar, label), f"{message} {fix}")


def _run_together(grammar: Grammar, case: Case) -> Iterator[Slip]:
    """Find pairs in which one sentence has a space inside a sequence of letters that both share."""
    for contrast in case.contrasts:
        pairs = zip(
            *(map(str, case.sentences[label].to_pylist()) for label in (contrast.better, contrast.worse)),
            strict=True,
        )
        for better, worse in dict.fromkeys(pairs):
            joined_word = _together(better, worse)
            if joined_word is not None:
                short = contrast.better if joined_word in better.split() else contrast.worse
                message = f"{joined_word!r} is one word in {short!r}, and two words in the other sentence."
                fix = "If this is a mistake, give both sentences the same spaces."
                yield Slip(
                    "warning", grammar.path, _line(grammar, short), f"{message} {fix}", counts=False
                )  # fmt: skip
                break


def _together(first_text: str, second_text: str) -> str | None:
    """Return a word that the other sentence splits in two, if both share the letters around the space."""
    if len(first_text.split()) == len(second_text.split()):
        return None
    letters = [text.replace(" ", "") for text in (first_text, second_text)]
    shared = 0
    while shared < min(map(len, letters)) and letters[0][shared] == letters[1][shared]:
        shared += 1
    starts = [_starts(text) for text in (first_text, second_text)]
    for text, own_starts, others in ((first_text, starts[0], starts[1]), (second_text, starts[1], starts[0])):
        for start in sorted(others.keys() - own_starts.keys()):
            if 0 < start < shared:
                before = max(place for place in own_starts if place < start)
                return own_starts[before] if own_starts[before] in text.split() else None
    return None


def _starts(text: str) -> dict[int, str]:
    """Return the words of a text by their start position, not counting spaces."""
    starts, place = {}, 0
    for word in text.split():
        starts[place] = word
        place += len(word)
    return starts


def _odd_letters(grammar: Grammar, texts: dict[str, list[str]]) -> Iterator[Slip]:
    """Find words with an invisible character or with letters of two alphabets, each once."""
    warned: set[str] = set()
    for label, column in texts.items():
        for word in dict.fromkeys(word for text in column for word in text.split()):
            why = _why_odd(word)
            if why is not None and word not in warned:
                warned.add(word)
                path, line = _place_of(grammar, word, _line(grammar, label))
                yield Slip("warning", path, line, f"{word!r} {why}")


def _why_odd(word: str) -> str | None:
    for place, character in enumerate(word):
        parts_words = character == "\u200b" and unicodedata.name(word[0], "").startswith(_UNSPACED)
        if is_invisible(character, word[:place]) and not parts_words:
            return f"has an invisible character, {name_of(character)}, at place {place + 1}. Delete it."
    for run in re.findall(r"[^\W\d_]+", word):
        scripts = [
            "" if c in _PHONETIC else next((s for s in _SCRIPTS if unicodedata.name(c, "").startswith(s)), "")
            for c in run
        ]
        counts = Counter(filter(None, scripts))
        if len(counts) > 1:
            rare = counts.most_common()[-1][0]
            place = scripts.index(rare)
            usual = counts.most_common(1)[0][0].capitalize()
            return (
                f"mixes alphabets: {run[place]!r} is {name_of(run[place])}. "
                f"Type it again with a keyboard of {usual} letters."
            )
    return None


def _place_of(grammar: Grammar, word: str, line: int) -> tuple[Path, int]:
    """Return the place of a word in the lexicon; if it is not there, the place of its sentence."""
    if grammar.lexicon is not None:
        for words in grammar.lexicon.classes.values():
            for entry in words:
                if any(word in form.split() for form in (entry.lemma, *entry.forms.values())):
                    return entry.path, entry.line
    return grammar.path, line
