"""Collect all words of a treebank: the readings of each form, and neighbouring sounds and determiners."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import combining, normalize

from tseval.suites.agreement.forms import NEVER_SHARED, UNWRITTEN, is_elided, lowered
from tseval.suites.agreement.requests import FORM, LEMMA, OWN, UPOS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.suites.agreement.conllu import Tree
    from tseval.suites.agreement.requests import Word

Reading = tuple[tuple[str, str], ...]  # features and values, sorted by feature
Entry = tuple[str, str]  # a lemma and a part of speech
EITHER = frozenset("huwy")  # letters that act as vowels or consonants for the word before: l'homme, le héros
LAST = 2  # number of final letters that define a class of forms
LONG, ALIKE = 3, 4  # minimum numbers of final letters and of lemmas for an analogy
STRAY = 0.01  # largest share of words that counts as never: they may be annotation errors
CLASSES = ("Gender", "Animacy")  # features of nouns that other words may lack together with some values
SEVERAL_FORMS = 0.15  # share of adjectives with several forms, above which a language has declensions


def affixes(form: str, other: str) -> tuple[str, str]:
    """Return the parts of two forms after their common beginning.

    >>> affixes("geldi", "geldiler"), affixes("gitti", "gidiyorlardı")
    (('', 'ler'), ('tti', 'diyorlardı'))
    """
    n_same = 0
    while n_same < min(len(form), len(other)) and form[n_same] == other[n_same]:
        n_same += 1
    return form[n_same:], other[n_same:]


def reading_of(word: Word) -> Reading:
    """Return the features of a word without those about its spelling."""
    excluded = {*OWN, *NEVER_SHARED}
    return tuple(sorted((name, value) for name, value in word.values.items() if name not in excluded))


def entry_of(word: Word) -> Entry:
    """Return the lemma and the part of speech of a word."""
    return word.values.get(LEMMA, ""), word.values.get(UPOS, "")


@cache
def onset(text: str) -> str:
    """Return the class of sounds with which a word begins; *un, una, lo, l', a, an* depend on it.

    Classes: vowel, consonant, cluster (Italian s + consonant, z, gn, ps, pn, x), and the letter itself if it
    may be either (h, u, w, y). Source: Maiden and Robustelli 2013, A Reference Grammar of Modern Italian,
    section 4.2; Grevisse and Goosse 2016, Le bon usage, sections 44 to 50.

    >>> [onset(word) for word in ("ami", "homme", "studente", "zio", "mano", "!")]
    ['vowel', 'h', 'cluster', 'cluster', 'consonant', '']
    """
    letters = "".join(letter for letter in normalize("NFD", text.lower()) if not combining(letter))[:2]
    if not letters[:1].isalpha():
        return ""
    first = letters[0]
    if first in EITHER:
        return first
    if first in "aeioæœøаеёиоуыэюяαεηιουω":
        return "vowel"
    impure = first in "zx" or letters in {"gn", "ps", "pn"}
    return "cluster" if impure or (first == "s" and letters[1:] not in tuple("aeiouyh ")) else "consonant"


@dataclass(slots=True)
class WordList:
    """The words of a treebank; forms are in lower case."""

    origin: str
    forms: dict[Entry, dict[Reading, Counter[str]]] = field(default_factory=dict)
    readings: dict[tuple[str, str], Counter[tuple[str, Reading]]] = field(default_factory=dict)
    # Part of speech, reading and ending to the forms of each lemma.
    classes: dict[tuple[str, Reading, str], dict[str, set[str]]] = field(default_factory=dict)
    bundles: dict[str, set[Reading]] = field(default_factory=dict)  # part of speech to its readings
    before: dict[str, Counter[str]] = field(default_factory=dict)  # form to the onsets of the words after it
    before_either: set[tuple[str, str]] = field(
        default_factory=set
    )  # forms, each with a following lemma that begins with h, u, w or y
    elided: set[str] = field(default_factory=set)  # lemmas with a form that ends in an apostrophe
    glued: Counter[tuple[str, str]] = field(default_factory=Counter)  # pairs of words written as one token
    apart: Counter[tuple[str, str]] = field(default_factory=Counter)  # adpositions with the word after them
    # Last letters of adjectives, by reading and determiner.
    declension: dict[tuple[str, Reading], dict[str, Counter[str]]] = field(default_factory=dict)
    _declensions: bool | None = None
    _differing: dict[tuple[str, frozenset[str]], dict[Reading, list[Reading]]] = field(default_factory=dict)
    _by_reading: dict[tuple[str, Reading], set[str]] = field(default_factory=dict)
    _analogies: dict[tuple[str, Reading, Reading, str], tuple[str, str] | None] = field(default_factory=dict)
    _changes: dict[tuple[str, Reading, Reading], Counter[tuple[str, str]]] = field(default_factory=dict)
    _values: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _beside: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(self, tree: Tree) -> None:
        """Add the words of a sentence."""
        words = tree.words
        # All words of a multiword token but the last may have a special form there.
        inside = {at for _, _, first, end in tree.pieces for at in range(first, end - 1)}
        joined = {at for first, end, _ in tree.contracted() for at in range(first, end - 1)}
        for at, word in enumerate(words):
            form = lowered(word.values[FORM])
            if form == UNWRITTEN:
                continue
            following = words[at + 1] if at + 1 < len(words) else None
            if following is not None and following.values[FORM] != UNWRITTEN:
                pair = form, lowered(following.values[FORM])
                if at in joined:
                    self.glued[pair] += 1
                else:
                    sound = onset(following.values[FORM])
                    self.before.setdefault(form, Counter())[sound] += 1
                    if sound in EITHER:
                        self.before_either.add((form, following.values.get(LEMMA, "")))
                    if word.values.get(UPOS) == "ADP":
                        self.apart[pair] += 1
            if is_elided(form):
                self.elided.add(word.values.get(LEMMA, form))
            if LEMMA in word.values and word.values.get("Typo") != "Yes":
                self._add_word(words, at, form, at not in inside)

    def _add_word(self, words: Sequence[Word], at: int, form: str, alone: bool) -> None:
        word = words[at]
        entry, reading = entry_of(word), reading_of(word)
        self.readings.setdefault((form, entry[1]), Counter())[entry[0], reading] += 1
        self.bundles.setdefault(entry[1], set()).add(reading)
        if alone:
            self.forms.setdefault(entry, {}).setdefault(reading, Counter())[form] += 1
            lemmas = self.classes.setdefault((entry[1], reading, form[-LAST:]), {})
            lemmas.setdefault(entry[0], set()).add(form)
        if entry[1] == "ADJ":
            by_determiner = self.declension.setdefault((entry[1], reading), defaultdict(Counter))
            by_determiner[determiner_of(words, at)][form[-1]] += 1
        for name, value in reading:
            self._values[entry[1], name, value] += 1
            for other, _ in reading:
                self._beside[entry[1], name, value, other] += 1

    def lemmas(self, feature: str) -> set[str]:
        """Return the lemmas that have a feature."""
        return {
            lemma
            for (lemma, _), readings in self.forms.items()
            if any(name == feature for reading in readings for name, _ in reading)
        }

    def never_beside(self, entry: Entry, name: str, value: str, other: str) -> bool:
        """Check whether words with a value of a feature never have another feature: Polish Fem, Animacy.

        If a word occurs often with the value, its own forms decide about features in `CLASSES`: German *die*
        has no Gender in the plural, but *keine* has.
        """
        upos = entry[1]
        if self._beside[upos, name, value, other] <= STRAY * self._values[upos, name, value]:
            return True
        if other not in CLASSES:
            return False
        occurrences = [
            (forms.total(), any(its_name == other for its_name, _ in reading))
            for reading, forms in self.forms.get(entry, {}).items()
            if (name, value) in reading
        ]
        total, beside = sum(n for n, _ in occurrences), sum(n for n, has_other in occurrences if has_other)
        return total >= ALIKE and beside <= STRAY * total

    def varies(self, entry: Entry, reading: Reading) -> bool:
        """Check whether a word has several forms of one reading, and the next sound decides between them."""
        form_counts = self.forms.get(entry, {}).get(reading, Counter[str]())
        onsets = [self.before.get(form, Counter[str]()).keys() - {""} for form in form_counts]
        return len(form_counts) > 1 and (
            any(map(is_elided, form_counts)) or any(a and b and not a & b for a in onsets for b in onsets)
        )

    def lemmas_that_change(self, upos: str, one: Reading, other: Reading, form: str, new: str) -> int:
        """Count the lemmas whose forms in two readings differ like two given forms: *-di*, *-diler*."""
        key = upos, one, other
        if key not in self._changes:
            counts = self._changes[key] = Counter()
            for lemma in self._lemmas(upos, one) & self._lemmas(upos, other):
                forms = self.forms[lemma, upos]
                counts.update({affixes(a, b) for a in forms[one] for b in forms[other]})
        return self._changes[key][affixes(form, new)]

    def differing(self, upos: str, reading: Reading, names: frozenset[str]) -> list[Reading]:
        """Return the readings of a part of speech that equal a reading except in some features."""
        index = self._differing.get((upos, names))
        if index is None:
            index = self._differing[upos, names] = {}
            for other in self.bundles.get(upos, ()):
                index.setdefault(_without(other, names), []).append(other)
        return index.get(_without(reading, names), [])

    def by_analogy(self, upos: str, one: Reading, other: Reading, form: str) -> str | None:
        """Return a word's form in another reading if all words with its ending change in the same way.

        Turkish *başladı, başladılar*: all other lemmas with forms in *-dı*, at least four, have *-dılar*. Two
        letters are enough if letters are only added; otherwise three are needed.
        """
        for n_letters in (LAST, LONG):
            change = self._change_of_all(upos, one, other, form[-n_letters:])
            if change and (n_letters == LONG or not change[0]) and len(form) > n_letters:
                return form.removesuffix(change[0]) + change[1]
        return None

    def _change_of_all(self, upos: str, one: Reading, other: Reading, ending: str) -> tuple[str, str] | None:
        key = upos, one, other, ending
        if key not in self._analogies:
            changes = Counter[tuple[str, str]]()
            for lemma in self._lemmas(upos, one) & self._lemmas(upos, other):
                forms = self.forms[lemma, upos]
                ends = [form for form in forms[one] if form.endswith(ending)]
                changes.update({affixes(form, new) for form in ends for new in forms[other]})
            is_regular = len(changes) == 1 and changes.total() >= ALIKE
            self._analogies[key] = next(iter(changes)) if is_regular else None
        return self._analogies[key]

    def _lemmas(self, upos: str, reading: Reading) -> set[str]:
        if not self._by_reading:
            for (lemma, its_upos), readings in self.forms.items():
                for its_reading in readings:
                    self._by_reading.setdefault((its_upos, its_reading), set()).add(lemma)
        return self._by_reading.get((upos, reading), set())

    def has_declensions(self) -> bool:
        """Check whether adjectives have several forms of one reading: German *der erste*, *ein erster*."""
        if self._declensions is None:
            cells = [
                forms
                for (_, upos), readings in self.forms.items()
                if upos == "ADJ"
                for reading, forms in readings.items()
                if reading and forms.total() > 2
            ]
            self._declensions = sum(len(forms) > 1 for forms in cells) > SEVERAL_FORMS * len(cells)
        return self._declensions

    def same_form(self, upos: str, form: str, one: Reading, other: Reading) -> float:
        """Return the share of lemmas with the same form in two readings, among forms with the same ending."""
        ending = form[-LAST:]
        first = self.classes.get((upos, one, ending), {})
        n_same = n_both = 0
        for lemma, forms in first.items():
            other_forms = self.forms[lemma, upos].get(other)
            if other_forms:
                n_both += 1
                n_same += bool(forms & other_forms.keys())
        return n_same / n_both if n_both else 0.0


def _without(reading: Reading, names: frozenset[str]) -> Reading:
    return tuple(pair for pair in reading if pair[0] not in names)


def determiner_of(words: Sequence[Word], at: int) -> str:
    """Return a description of the determiner before an adjective, on which its declension may depend."""
    head = words[at].head
    for word in reversed(words[:at]):
        if word.head == head and word.role == "det":
            values: Mapping[str, str] = word.values
            return (
                "|".join(f"{name}={values[name]}" for name in ("Definite", "Poss") if name in values) or "det"
            )
    return "none"
