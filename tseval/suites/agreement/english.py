"""English present-tense verbs in the third person: the singular form of a plural one, and back."""

from __future__ import annotations

import re

from tseval.suites.agreement.examples import PLURAL, SINGULAR

# Singular to plural; a clitic `'s` is `has` or `is` by its lemma.
IRREGULAR = {"is": "are", "has": "have", "does": "do"}
CLITICS = {("'s", "have"): "'ve", ("’s", "have"): "’ve", ("'s", "be"): "'re", ("’s", "be"): "’re"}
# Penn tags stand in for rare words in Linzen's table.
TAGS = {"VBZ": "VBP", "VBP": "VBZ"}
_PLURALS = IRREGULAR | {"'s": "'re", "’s": "’re"}
_SINGULARS = {plural: singular for singular, plural in [*_PLURALS.items(), ("'ve", "'s"), ("’ve", "’s")]}

_SIBILANT = re.compile(r"(s|x|z|ch|sh)$")
_ES = re.compile(r"(ss|x|zz|ch|sh|o)es$")
# Singular forms whose ending does not tell where the plural one ends.
_BASES = {
    **{f"{base}s": base for base in ("ache", "axe", "belie", "die", "hoe", "lie", "overlie", "shoe", "tie")},
    **{f"{base}s": base for base in ("tiptoe", "underlie", "untie", "vie")},
    **{f"{base}es": base for base in ("bias", "bus", "canvas", "focus", "gas", "refocus")},
    "quizzes": "quiz",
}


def add_s(base: str) -> str:
    """Inflect a base form for the third person singular, by rule.

    >>> [add_s(base) for base in ("laugh", "push", "carry", "play", "go")]
    ['laughs', 'pushes', 'carries', 'plays', 'goes']
    """
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ies"
    if _SIBILANT.search(base) or re.search(r"[^aeiou]o$", base):
        return base + "es"
    return base + "s"


def remove_s(form: str) -> str | None:
    """Give the base form of a regular third person singular, by rule; None if it does not end in -s.

    >>> [remove_s(form) for form in ("laughs", "passes", "carries", "uses", "lies", "can")]
    ['laugh', 'pass', 'carry', 'use', 'lie', None]
    """
    if form in _BASES:
        return _BASES[form]
    if form.endswith("ies"):
        return form[:-3] + "y"
    if _ES.search(form):
        return form[:-2]
    return form[:-1] if re.search(r"[^s']s$", form) else None


def opposite_form(form: str, number: str, lemma: str | None = None) -> tuple[str, str] | None:
    """Give the form of the other number, and how it was found; None where that is not sure.

    Args:
        form: The verb as found; the other form takes over its capitals.
        number: Its number.
        lemma: Its base form, where the source gives it. A singular form that is not the regular one of its
            lemma has no sure opposite, nor has a plural one that is not its lemma.

    Returns:
        The form, and `table` (be, have, do and their short forms), `lemma`, or `rule`.
    """
    lower = form.lower()
    base = None if lemma is None else lemma.lower()
    known = _PLURALS if number == SINGULAR else _SINGULARS
    if number == SINGULAR and base is not None and (lower, base) in CLITICS:
        return with_capitals(CLITICS[lower, base], form), "table"
    if lower in known:
        return with_capitals(known[lower], form), "table"
    if number == SINGULAR and base is not None:
        return (with_capitals(base, form), "lemma") if add_s(base) == lower else None
    if number == SINGULAR:
        plural = remove_s(lower)
        return None if plural is None else (with_capitals(plural, form), "rule")
    if not lower.isalpha() and "-" not in lower:
        return None
    return (with_capitals(add_s(lower), form), "rule") if base in {None, lower} else None


def number_of(form: str, opposite: str) -> str | None:
    """Tell the number of a form by the other form of the same verb; None where the two do not tell."""
    for singular, plural, number in ((form, opposite, SINGULAR), (opposite, form, PLURAL)):
        if IRREGULAR.get(singular) == plural or plural in {remove_s(singular), singular.removesuffix("s")}:
            return number if singular != plural else None
    return None


def with_capitals(word: str, model: str) -> str:
    """Write a word with the capitals of another."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word.capitalize() if model[:1].isupper() else word
