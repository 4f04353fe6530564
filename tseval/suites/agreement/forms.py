"""Collect the word forms of treebanks, and choose a form with another value of a feature."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unicodedata import normalize

from tseval.suites.agreement.requests import FORM, LEMMA, OWN, UPOS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.suites.agreement.requests import Word
    from tseval.suites.agreement.unimorph import ListedForms

NO_FORM = "no other form is known"
SEVERAL = "several other forms are equally frequent"
SAME = "the other form has the same letters"
AMBIGUOUS = "the other form also has the first's features"
EUPHONY = "the form depends on the neighbouring sounds"
UNWRITTEN = "_"  # form of a word inside a multiword token, if the treebank has only the text of the token
NEVER_SHARED = {"Typo", "Abbr"}
Paradigm = tuple[str, str, tuple[tuple[str, str], ...]]


def _paradigm(word: Word, *changing: str) -> Paradigm | None:
    """Return the key of forms that differ only in these features; None without the first one or a lemma."""
    lemma = word.values.get(LEMMA)
    if lemma is None or changing[0] not in word.values:
        return None
    excluded = {*changing, *OWN, *NEVER_SHARED}
    rest = tuple(sorted((name, value) for name, value in word.values.items() if name not in excluded))
    return lemma, word.values.get(UPOS, ""), rest


@dataclass(slots=True)
class SeenForms:
    """The lower-case forms of a treebank, by paradigm and by value of the feature to change."""

    origin: str
    feature: str
    elided: set[str] = field(default_factory=set)  # lemmas with a form that ends in an apostrophe: je, j'
    _seen: dict[Paradigm | None, dict[str, Counter[str]]] = field(default_factory=dict)
    _any_mood: dict[tuple[Paradigm | None, str], set[str]] = field(default_factory=dict)

    def add(self, word: Word) -> None:
        """Add a word."""
        form = lowered(word.values[FORM])
        if form == UNWRITTEN:
            return
        if is_elided(form):
            self.elided.add(word.values.get(LEMMA, form))
        paradigm = _paradigm(word, self.feature)
        if paradigm and word.values.get("Typo") != "Yes":
            value = word.values[self.feature]
            self._seen.setdefault(paradigm, {}).setdefault(value, Counter())[form] += 1
            self._any_mood.setdefault((_paradigm(word, self.feature, "Mood"), value), set()).add(form)

    def of(self, word: Word) -> Mapping[str, Counter[str]]:
        """Return the forms of a word's paradigm, by value of the feature."""
        return self._seen.get(_paradigm(word, self.feature), {})

    def may_be(self, word: Word, form: str) -> bool:
        """Check whether a form occurs with the word's value, in any mood: *gebe* with *er* and with *ich*."""
        key = _paradigm(word, self.feature, "Mood"), word.values[self.feature]
        return form in self._any_mood.get(key, ())

    def lemmas(self) -> set[str]:
        """Return the lemmas that have the feature."""
        return {paradigm[0] for paradigm in self._seen if paradigm}


def lowered(form: str) -> str:
    """Return a form in lower case; a Turkish capital leaves no separate dot."""
    return form.lower().replace("i\u0307", "i")


def with_capitals(word: str, model: str) -> str:
    """Return a word with the capitals of another word."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word.capitalize() if model[:1].isupper() else word


def is_elided(form: str) -> bool:
    """Check whether a form lacks its last sound because of the next word: *l'*."""
    return len(form) > 1 and form[-1] in "'’" and form[-2].isalpha()


def sound_alike(first: str, second: str) -> bool:
    """Check whether two forms begin alike for the preceding word: both with a vowel or h, or neither."""
    return len({normalize("NFD", form)[:1].lower() in "aeiouyh" for form in (first, second)}) == 1


@dataclass(frozen=True, slots=True)
class OtherForm:
    """A form with another value of the changed feature; several values of the form are joined by `|`."""

    value: str
    form: str
    origin: str
    may_be: frozenset[str] = frozenset()  # all values that the form may have here, if they were computed


def other_forms(
    word: Word, before: str, feature: str, wanted: str | None, tables: Sequence[SeenForms | ListedForms]
) -> tuple[list[OtherForm], str | None]:
    """Return the forms of a word with other values, or with the wanted one, or else a reason for none.

    `before` is the lemma of the preceding word.
    """
    value_of_word, form = word.values[feature], word.values[FORM]
    origins_and_forms = [(table.origin, table.of(word)) for table in tables]
    values = {value for _, forms in origins_and_forms for value in forms} - {value_of_word}
    by_form: dict[str, tuple[list[str], str]] = {}
    reason, changes = NO_FORM, any(before in table.elided for table in tables)
    for value in sorted(values if wanted is None else values & {wanted}):
        origin, counted = next(
            (origin, forms[value]) for origin, forms in origins_and_forms if value in forms
        )
        best = max(counted.values())
        frequent = [candidate for candidate, times in counted.items() if times == best]
        other = frequent[0]
        if len(frequent) > 1:
            reason = SEVERAL
        elif other == lowered(form):
            reason = SAME
        elif any(other in forms.get(value_of_word, ()) for _, forms in origins_and_forms) or any(
            table.may_be(word, other) for table in tables
        ):
            reason = AMBIGUOUS
        elif is_elided(other) or is_elided(form) or (changes and not sound_alike(form, other)):
            reason = EUPHONY
        else:
            by_form.setdefault(other, ([], origin))[0].append(value)
    forms = [
        OtherForm("|".join(values), with_capitals(other, form), origin)
        for other, (values, origin) in by_form.items()
    ]
    return forms, None if forms else reason
