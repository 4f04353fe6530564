"""Lists of words, which distinguish English words from other words, and languages from each other.

They come from pyspellchecker: frequent words of film subtitles, checked with spelling dictionaries.
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
# A language is likely if it knows this share of a suite's words, and this much more than English does.
_KNOWN, _MORE = 0.6, 0.2


@cache
def word_list(code: str) -> Collection[str]:
    """Return the words of a language, in lower case."""
    try:
        from spellchecker import SpellChecker  # noqa: PLC0415 - only lint needs it
    except ImportError:  # an older environment without this package: only capital letters count then
        return frozenset()
    return SpellChecker(language=code).word_frequency.dictionary.keys()


def likely_language(words: Collection[str]) -> str | None:
    """Return the language of most words, if it is clear and not English.

    >>> likely_language(["heute", "schläft", "der", "Lehrer"]), likely_language(["the", "pilot", "laughs"])
    ('german', None)
    """
    small = [word.lower() for word in words if _LETTERS.search(word)]

    def share(code: str) -> float:
        known = word_list(code)
        matches = [word in known or all(part in known for part in _LETTERS.findall(word)) for word in small]
        return sum(matches) / max(len(small), 1)

    best = max(_LISTS, key=lambda name: share(_LISTS[name]))
    known = share(_LISTS[best])
    return best if known >= _KNOWN and known >= share("en") + _MORE else None


def words_of(text: str) -> list[str]:
    """Return the words of a text as sequences of letters."""
    return _LETTERS.findall(text)


def not_english(text: str) -> str | None:
    """Return the first word of a text that is not in the list of English words; acronyms are ignored."""
    english = word_list("en")
    unknown = (word for word in words_of(text) if not word.isupper() and word.lower() not in english)
    return next(unknown, None) if english else None
