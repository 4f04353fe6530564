"""Words that grammars leave to the English rule, and that may not be regular, or not English at all.

Without `language:` a suite is taken for English, so *Lehrer* would have the plural *Lehrers*. The lists of
words are those of pyspellchecker: frequent words of films' subtitles, held to spelling dictionaries.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from tseval.suites.grammar.source import find_class
from tseval.suites.inflection import doubted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.source import Word


_LISTS = {
    "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl",
    "russian": "ru", "latvian": "lv", "basque": "eu", "persian": "fa", "arabic": "ar",
}  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]+")
# How many of a suite's words a language has to know, and how many more than English, to be the likely one.
_KNOWN, _MORE = 0.6, 0.2


@cache
def word_list(code: str) -> Collection[str]:
    """Give the words of a language, in small letters."""
    try:
        from spellchecker import SpellChecker  # noqa: PLC0415 - only lint needs it
    except ImportError:  # an environment that is older than this check: capital letters alone tell
        return frozenset()
    return SpellChecker(language=code).word_frequency.dictionary.keys()


def likely_language(words: Collection[str]) -> str | None:
    """Name the language that most words are of, if that is plain and not English.

    >>> likely_language(["heute", "schläft", "der", "Lehrer"]), likely_language(["the", "pilot", "laughs"])
    ('german', None)
    """
    small = [word.lower() for word in words if _LETTERS.search(word)]

    def share(code: str) -> float:
        known = word_list(code)
        of_it = [word in known or all(part in known for part in _LETTERS.findall(word)) for word in small]
        return sum(of_it) / max(len(small), 1)

    best = max(_LISTS, key=lambda name: share(_LISTS[name]))
    known = share(_LISTS[best])
    return best if known >= _KNOWN and known >= share("en") + _MORE else None


def guessed_forms(
    grammars: Sequence[Grammar], sentences: Collection[str], *, is_english: bool
) -> Iterator[tuple[Literal["error", "warning"], Path, int, str]]:
    """Doubt what rules make of words that may not be regular or not English, once each.

    The sentences are those of the items; `is_english` says that the suite states its language.
    """
    words = {
        (word.path, word.line, word.lemma): (
            word,
            is_english or grammar.document.text("language") is not None,
        )
        for grammar in grammars
        if grammar.lexicon is not None
        for slot in grammar.slots
        if slot.class_name is not None
        for word in find_class(grammar.lexicon, slot.class_name)
        if word.part is not None and "plur" in word.forms
    }
    foreign = {
        lemma: why
        for word, is_stated in words.values()
        if not is_stated and (why := _foreign(word, sentences)) and (lemma := word.lemma)
    }
    made = {word.forms["plur"] for word, _ in words.values()}
    tokens = {token for text in sentences for token in text.split()} if foreign else set()
    language = likely_language(tokens - made) if foreign else None
    for (path, line, lemma), (word, is_stated) in words.items():
        made_by_rule = f"{lemma!r} is inflected by the English rule to {word.forms['plur']!r}"
        if language is not None and not is_stated:
            message = f"{made_by_rule}, but these words seem to be {language.capitalize()}. Add the line"
            yield (
                "error",
                path,
                line,
                f"{message} 'language: {language}', and write {{sing: ..., plur: ...}}.",
            )
        elif lemma in foreign:
            message = (
                f"{made_by_rule}, but {foreign[lemma]}. Add the line 'language: german' with its language,"
            )
            yield "warning", path, line, f"{message} or 'language: english' if it is an English word."
        elif (why := doubted(str(word.part), lemma)) is not None:
            message = f"{lemma!r} is inflected by rule to {word.forms['plur']!r}, which may be wrong: {why}."
            fix = f"Write {{sing: ..., plur: ...}} for {lemma!r}, or state the suite's 'language'."
            yield "warning", path, line, f"{message} {fix}"


def _foreign(word: Word, sentences: Collection[str]) -> str | None:
    """Say why a word may not be English; the first word of a verb is the one that is inflected."""
    inflected = word.lemma if word.part == "noun" else word.lemma.partition(" ")[0]
    parts = [part for part in _LETTERS.findall(inflected) if not part.isupper()]
    unknown = [part for part in parts if word_list("en") and part.lower() not in word_list("en")]
    if unknown:
        return f"{unknown[0]!r} is in no list of English words"
    capital = any(part[:1].isupper() for part in parts)
    if word.part == "noun" and capital and any(f" {word.lemma} " in f"{text} " for text in sentences):
        return "it has a capital letter inside a sentence"
    return None
