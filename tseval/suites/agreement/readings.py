"""Find the possible readings of a form, and check whether a changed sentence is right in one of them.

A form that is also right makes no minimal pair. The readings of a form come from the treebanks and from other
lists of forms. If neither knows the word, they come from words of the same class: *firmy* is a genitive
because other feminine nouns in *-my* have one form for both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.suites.agreement.forms import lowered
from tseval.suites.agreement.requests import FORM
from tseval.suites.agreement.word_list import Reading, entry_of, reading_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tseval.suites.agreement.requests import Word
    from tseval.suites.agreement.unimorph import ListedForms
    from tseval.suites.agreement.word_list import Entry, WordList

# Features in which words agree.
AGREEING = ("Number", "Gender", "Person", "Case", "Animacy", "Definite")
# If a form occurs FREQUENT times or more, a reading below the share RARE counts as an annotation error.
RARE, FREQUENT = 0.02, 40
# Parts of speech with idiosyncratic forms: other words predict little about a known word.
CLOSED = frozenset(["AUX", "DET", "NUM", "PRON"])
LIKELY = 0.2  # needed share of a class's lemmas that have one form in both readings
SURELY = 0.8  # needed share if another form of the lemma is known for the reading: nach Hause, nach Haus


def compatible(one: str | None, other: str | None) -> bool:
    """Check whether two values may agree; None agrees with every value, and `Fem,Masc` with both."""
    return one is None or other is None or bool({*one.split(",")} & {*other.split(",")})


@dataclass(slots=True)
class Readings:
    """The possible readings of forms, from all sources."""

    lists: Sequence[WordList]
    tables: Sequence[ListedForms]
    _known: dict[tuple[object, ...], list[Mapping[str, str]]] = field(default_factory=dict)

    def of_form(
        self, form: str, entry: Entry, seen_as: Reading, free: Collection[str], fixed: Mapping[str, str]
    ) -> list[Mapping[str, str]]:
        """Return the readings of a form that differ from the features of a word only in free features.

        Args:
            form: A form in lower case.
            entry: The lemma and part of speech of the word.
            seen_as: A known reading of the form.
            free: The features that may differ.
            fixed: The features of the word.
        """
        key = form, entry, seen_as, frozenset(free), tuple(sorted(fixed.items()))
        if key not in self._known:
            self._known[key] = [
                reading
                for reading in self._all(form, entry, seen_as, free, fixed)
                if _fits(reading, free, fixed)
            ]
        return self._known[key]

    def _all(
        self, form: str, entry: Entry, seen_as: Reading, free: Collection[str], fixed: Mapping[str, str]
    ) -> Iterator[Mapping[str, str]]:
        lemma, upos = entry
        for words in self.lists:
            counts = words.readings.get((form, upos), Counter[tuple[str, Reading]]())
            total = counts.total()
            counts_of_lemma = {reading: n for (its_lemma, reading), n in counts.items() if its_lemma == lemma}
            for reading, n in counts_of_lemma.items():
                is_incomplete = any(
                    other_n > n and _is_incomplete(reading, other)
                    for other, other_n in counts_of_lemma.items()
                )
                if not is_incomplete and not (total >= FREQUENT and n < RARE * total):
                    yield dict(reading)
        listed = [row for table in self.tables for row in table.readings(lemma, upos)]
        yield from (features for its_form, features in listed if lowered(its_form) == form)
        if listed or upos == "PROPN":
            return
        for words in self.lists[:1]:
            attested = words.forms.get(entry, {})
            for reading in words.differing(upos, tuple(sorted(fixed.items())), frozenset(free)):
                if (reading in attested and upos in CLOSED) or _is_incomplete(reading, seen_as):
                    continue
                needed = SURELY if reading in attested else LIKELY
                if words.same_form(upos, form, seen_as, reading) >= needed:
                    yield dict(reading)

    def of_word(self, word: Word, free: Collection[str]) -> list[Mapping[str, str]]:
        """Return the readings of a word in its sentence; the annotated reading comes first."""
        reading = reading_of(word)
        return [
            dict(reading),
            *self.of_form(lowered(word.values[FORM]), entry_of(word), reading, free, dict(reading)),
        ]


def _is_incomplete(reading: Reading, other: Reading) -> bool:
    """Check whether a reading only lacks features of agreement that another has, as an incomplete annotation.

    Spanish *municipio* occurs twice without Number and forty times with Number=Sing. It is not a plural.
    """
    return {*reading} < {*other} and all(name in AGREEING for name, _ in {*other} - {*reading})


def _fits(reading: Mapping[str, str], free: Collection[str], fixed: Mapping[str, str]) -> bool:
    return all(name in free or compatible(reading.get(name), fixed.get(name)) for name in {*reading, *fixed})


def may_agree(
    target: Mapping[str, str], feature: str, controller: Mapping[str, str], their_feature: str
) -> bool:
    """Check whether two readings agree in the changed feature and in all features of agreement."""
    return compatible(target.get(feature), controller.get(their_feature)) and all(
        compatible(target.get(name), controller.get(name)) for name in AGREEING if name != feature
    )
