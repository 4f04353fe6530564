"""Lists of words, which distinguish English words from others, and languages from each other.

They are those of pyspellchecker: frequent words of films' subtitles, held to spelling dictionaries.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


_LISTS = {
    "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl",
    "russian": "ru", "latvian": "lv", "basque": "eu", "persian": "fa", "arabic": "ar",
}  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]+")
# How many of a suite's words a language has to know, and how many more than English, to be the likely one.
_KNOWN, _MORE = 0.6, 0.2


@cache
def word_list(code: str) -> Collection[str]:
    """Return the words of a language, in small letters."""
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


def words_of(text: str) -> list[str]:
    """Return the words of a text, letters alone."""
    return _LETTERS.findall(text)


def not_english(text: str) -> str | None:
    """Return the first word of a text that is in no list of English words, but for acronyms."""
    english = word_list("en")
    unknown = (word for word in words_of(text) if not word.isupper() and word.lower() not in english)
    return next(unknown, None) if english else None
