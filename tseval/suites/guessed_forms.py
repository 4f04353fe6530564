"""Find words that the English rules inflect, but that may be irregular or not English.

Without `language:` a suite counts as English, so *Lehrer* would get the plural *Lehrers*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tseval.suites.grammar.source import find_class
from tseval.suites.inflection import doubted
from tseval.suites.word_lists import likely_language, not_english, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.source import Word


def guessed_forms(
    grammars: Sequence[Grammar],
    sentences: Collection[str],
    tokens: Collection[str],
    *,
    is_language_stated: bool,
) -> Iterator[tuple[Literal["error", "warning"], Path, int, str]]:
    """Report each word once whose form by rule may be wrong: irregular words and words that are not English.

    Args:
        grammars: The grammars of a suite.
        sentences: The sentences of all items.
        tokens: The tokens of all these sentences.
        is_language_stated: Whether the suite states the language of its words.
    """
    words = {
        (word.path, word.line, word.lemma): (word, is_stated)
        for word, is_stated in _by_rule(grammars, tokens)
    }
    guessed = [word for word, is_stated in words.values() if not (is_stated or is_language_stated)]
    foreign = {word.lemma: why for word in guessed if (why := _foreign(word, sentences)) is not None}
    guessed_plurals = {word.forms["plur"] for word in guessed}
    language = likely_language({*tokens} - guessed_plurals) if foreign else None
    for (path, line, lemma), (word, is_stated) in words.items():
        plural = repr(word.forms["plur"])
        by_rule = f"{lemma!r} is inflected by the English rule to {plural}, but"
        doubt = doubted(str(word.part), lemma)
        if language is not None and not (is_stated or is_language_stated):
            message = f"{by_rule} these words seem to be {language.capitalize()}. Add the line "
            yield "error", path, line, f"{message}'language: {language}', and write {{sing: ..., plur: ...}}."
        elif doubt is not None:
            fix = (
                f"Write {{sing: ..., plur: ...}} for {lemma!r}, or add the line 'language: "
                "NAME' to suite.yaml."
            )
            message = f"{lemma!r} is inflected by rule to {plural}, which may be wrong: {doubt}. {fix}"
            yield "warning", path, line, message
        elif lemma in foreign:
            fix = (
                "Add the line 'language: german' with its language, or 'language: english' if it is English."
            )
            yield "warning", path, line, f"{by_rule} {foreign[lemma]}. {fix}"


def _by_rule(grammars: Sequence[Grammar], tokens: Collection[str]) -> Iterator[tuple[Word, bool]]:
    """Yield the words with a plural by rule, and whether their grammar states its language.

    Words that occur only in the singular are left out.
    """
    for grammar in grammars:
        is_stated = grammar.document.text("language") is not None
        for slot in grammar.slots:
            if slot.class_name is not None and grammar.lexicon is not None:
                for word in find_class(grammar.lexicon, slot.class_name):
                    by_rule = word.part is not None and "plur" in word.forms
                    last = word.forms["plur"].split()[-1] if by_rule else ""
                    if by_rule and not (slot.has_number and slot.numbers == 1 and last not in tokens):
                        yield word, is_stated


def _foreign(word: Word, sentences: Collection[str]) -> str | None:
    """Return why a word may not be English. The inflected word of a verb phrase is its first word."""
    inflected = word.lemma if word.part == "noun" else word.lemma.partition(" ")[0]
    unknown = not_english(inflected)
    if unknown is not None:
        return f"{unknown!r} is in no list of English words"
    capital = any(part[:1].isupper() and not part.isupper() for part in words_of(inflected))
    if word.part == "noun" and capital and any(f" {word.lemma} " in f"{text} " for text in sentences):
        return "it has a capital letter inside a sentence"
    return None
