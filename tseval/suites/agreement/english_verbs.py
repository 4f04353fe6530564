"""The other number of an English verb form, and the number that a pair of forms shows."""

from __future__ import annotations

from tseval.suites.agreement.examples import PLURAL, SINGULAR
from tseval.suites.agreement.forms import with_capitals
from tseval.suites.inflection import IRREGULAR, add_s, remove_s

# The lemma decides whether a clitic `'s` is `has` or `is`.
CLITICS = {("'s", "have"): "'ve", ("’s", "have"): "’ve", ("'s", "be"): "'re", ("’s", "be"): "’re"}
# Penn tags replace rare words in Linzen's table.
TAGS = {"VBZ": "VBP", "VBP": "VBZ"}
_PLURALS = IRREGULAR | {"'s": "'re", "’s": "’re"}
_SINGULARS = {plural: singular for singular, plural in [*_PLURALS.items(), ("'ve", "'s"), ("’ve", "’s")]}


def opposite_form(form: str, number: str, lemma: str | None = None) -> tuple[str, str] | None:
    """Return the form of the other number and its origin; None if the form is uncertain.

    If there is a lemma, a singular form is uncertain unless it is regular, and a plural form unless it is the
    lemma. The other form gets the same capitals. The origin is `table` (be, have, do and their short forms),
    `lemma` or `rule`.
    """
    lower, other = form.lower(), None
    base = None if lemma is None else lemma.lower()
    if number == SINGULAR:
        other, origin = CLITICS.get((lower, base or "")) or _PLURALS.get(lower), "table"
        if other is None and base is not None:
            other, origin = base if add_s(base) == lower else None, "lemma"
        elif other is None:
            other, origin = remove_s(lower), "rule"
    elif lower in _SINGULARS:
        other, origin = _SINGULARS[lower], "table"
    else:
        is_certain = (lower.isalpha() or "-" in lower) and base in {None, lower}
        other, origin = add_s(lower) if is_certain else None, "rule"
    return None if other is None else (with_capitals(other, form), origin)


def number_of(form: str, opposite: str) -> str | None:
    """Return the number of a form, given the other form of the verb; None if the two do not show it."""
    for singular, plural, number in ((form, opposite, SINGULAR), (opposite, form, PLURAL)):
        if IRREGULAR.get(singular) == plural or plural in {remove_s(singular), singular.removesuffix("s")}:
            return number if singular != plural else None
    return None
