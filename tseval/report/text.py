"""Names from outside (models, suites, features) made plain; each format escapes what it would act on."""

from __future__ import annotations

import unicodedata

# Marks that turn the direction of text and so can make a name read as another.
TURNS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Replace what is not text: control characters, line breaks, broken bytes, marks that turn it round."""
    return "".join("\ufffd" if _is_control(mark) else mark for mark in text)


def _is_control(mark: str) -> bool:
    return mark in TURNS or unicodedata.category(mark) in {"Cc", "Cs", "Zl", "Zp"}
