"""What a form may be read as, and whether a sentence with a changed word is right in one of these readings.

A form that is also right makes no minimal pair. Three sources say what a form may be: the treebanks, other
lists of forms, and, for a word of which neither has a form, words of the same class: *firmy* is a genitive
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

# The features in which words agree.
AGREEING = ("Number", "Gender", "Person", "Case", "Animacy", "Definite")
# A reading of a form is taken for an error of the treebank below this share of a frequent form.
RARE, FREQUENT = 0.02, 40
# Parts of speech of which each word has its own forms, so other words say little about a known one.
CLOSED = frozenset(["AUX", "DET", "NUM", "PRON"])
LIKELY = 0.2  # of the lemmas of a class that have one form in two readings
SURELY = 0.8  # the same, if another form of this lemma is known for the reading: nach Hause, nach Haus


def compatible(one: str | None, other: str | None) -> bool:
    """Check whether two values may agree; no value agrees with all, and `Fem,Masc` with both."""
    return one is None or other is None or bool({*one.split(",")} & {*other.split(",")})


@dataclass(slots=True)
class Readings:
    """What forms may be read as, by all sources."""

    lists: Sequence[WordList]
    tables: Sequence[ListedForms]
    _known: dict[tuple[object, ...], list[Mapping[str, str]]] = field(default_factory=dict)

    def of_form(
        self, form: str, entry: Entry, seen_as: Reading, free: Collection[str], fixed: Mapping[str, str]
    ) -> list[Mapping[str, str]]:
        """Return the readings of a form that differ from the features of a word in free features alone.

        Args:
            form: In lower case.
            entry: The lemma and part of speech of the word.
            seen_as: One reading that the form has.
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
            own = {reading: n for (its_lemma, reading), n in counts.items() if its_lemma == lemma}
            for reading, n in own.items():
                forgotten = any(more > n and _is_incomplete(reading, other) for other, more in own.items())
                if not forgotten and not (total >= FREQUENT and n < RARE * total):
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
        """Return the readings of a word as it stands in a sentence, itself first."""
        reading = reading_of(word)
        return [
            dict(reading),
            *self.of_form(lowered(word.values[FORM]), entry_of(word), reading, free, dict(reading)),
        ]


def _is_incomplete(reading: Reading, other: Reading) -> bool:
    """Check whether a reading is another without some features of agreement: a word that nobody annotated.

    Spanish *municipio* has no Number twice and Number=Sing forty times. It is no plural.
    """
    return {*reading} < {*other} and all(name in AGREEING for name, _ in {*other} - {*reading})


def _fits(reading: Mapping[str, str], free: Collection[str], fixed: Mapping[str, str]) -> bool:
    return all(name in free or compatible(reading.get(name), fixed.get(name)) for name in {*reading, *fixed})


def may_agree(
    target: Mapping[str, str], feature: str, controller: Mapping[str, str], their_feature: str
) -> bool:
    """Check whether two readings agree in the feature that is changed, and in all that both have."""
    return compatible(target.get(feature), controller.get(their_feature)) and all(
        compatible(target.get(name), controller.get(name)) for name in AGREEING if name != feature
    )
