"""Find forms of a word with another value of a feature that are certainly wrong in its sentence.

The checks, in order: a form is known; the neighbouring sounds allow it; its declension and ending match the
word; and no reading of the sentence makes it right.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unicodedata import normalize

from tseval.suites.agreement.forms import (
    AMBIGUOUS,
    EUPHONY,
    NO_FORM,
    SAME,
    SEVERAL,
    OtherForm,
    is_elided,
    lowered,
    sound_alike,
    with_capitals,
)  # fmt: skip
from tseval.suites.agreement.readings import AGREEING, compatible, may_agree
from tseval.suites.agreement.requests import FORM, LEMMA, UPOS
from tseval.suites.agreement.word_list import EITHER, affixes, determiner_of, entry_of, onset, reading_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.suites.agreement.phenomenon import Change, Phenomenon
    from tseval.suites.agreement.readings import Readings
    from tseval.suites.agreement.requests import Word
    from tseval.suites.agreement.word_list import Reading, WordList

NEXT_SOUND = "no form is known for the sound of the next word"
GLUED = "the new form would be written as one with the word before it"
BOTH_READINGS = "the new form is right in another reading of the words"
DECLENSION = "the new form stands after other determiners"
ENDING = "the new form has another ending, which may have another meaning"
ALONE = "the word may stand by itself with the new value"
UNLIKELY = "the new form was seen once, and no other word changes in this way"
ANALOGY = "other words"  # origin of a form that is inferred from other words
SPELLING = "the forms differ only in how they are spelt"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A form with the new values, and the reading in which it occurs."""

    form: str
    value: str
    reading: Reading
    origin: str
    times: int  # number of occurrences


@dataclass(frozen=True, slots=True)
class Place:
    """The position of the changed word in its sentence."""

    words: Sequence[Word]
    at: int
    controller: Word | None
    excluded: Mapping[str, str] = field(default_factory=dict)  # new value to the rule that excludes it

    @property
    def word(self) -> Word:
        """The changed word."""
        return self.words[self.at]

    @property
    def next_onset(self) -> str:
        """The class of sounds with which the next word begins."""
        return onset(self.words[self.at + 1].values[FORM]) if self.at + 1 < len(self.words) else ""


def strict_forms(
    place: Place, phenomenon: Phenomenon, readings: Readings
) -> tuple[list[OtherForm], str | None]:
    """Return the forms of a word with other values that are certainly wrong, or a reason for none."""
    reason: str = NO_FORM
    forms: dict[str, tuple[list[str], Candidate]] = {}
    excluded = set[str]()  # forms, excluded for all their values
    for group in _candidates(place, phenomenon, readings):
        candidate, why_none = _choose(place, phenomenon, readings, group)
        problem = why_none if candidate is None else _problem(place, phenomenon, readings, candidate)
        if candidate is not None and problem in place.excluded.values():
            excluded.add(candidate.form)
        if candidate is None or problem is not None:
            reason = problem or reason
            continue
        forms.setdefault(candidate.form, ([], candidate))[0].append(candidate.value)
    wrong_forms = [
        OtherForm(
            "|".join(values),
            _with_capitals(form, place.word.values[FORM]),
            candidate.origin,
            _values(place, phenomenon, readings, candidate) if phenomenon.governs else frozenset(),
        )
        for form, (values, candidate) in forms.items()
        if form not in excluded
    ]
    return wrong_forms, None if wrong_forms else reason


def _with_capitals(form: str, model: str) -> str:
    """Return a form with the capitals of a word, including those inside it: *NATO-csapat, NATO-csapattal*."""
    n_same = len(form) - len(affixes(lowered(model), form)[1])
    if model.isupper() or not n_same or len(model) != len(lowered(model)):
        return with_capitals(form, model)
    return model[:n_same] + form[n_same:]


def _candidates(
    place: Place, phenomenon: Phenomenon, readings: Readings
) -> Iterator[tuple[str, Sequence[tuple[Reading, Counter[str], str]]]]:
    """Yield the other values, each with its known forms from the first source that has some."""
    word = place.word
    by_value: dict[str, list[tuple[Reading, Counter[str], str]]] = defaultdict(list)
    for words in readings.lists:
        lemma = next((change.value for change in phenomenon.changes if change.feature == LEMMA), None)
        entry = (lemma or word.values.get(LEMMA, ""), word.values.get(UPOS, ""))
        candidates_of_list = defaultdict(list)
        for reading, forms in words.forms.get(entry, {}).items():
            value = _new_value(words, word, dict(reading), phenomenon.changes, place.controller)
            if value is not None:
                candidates_of_list[value].append((reading, forms, words.origin))
        for value, candidates in candidates_of_list.items():
            by_value.setdefault(value, candidates)
    if len(phenomenon.changes) == 1 and phenomenon.feature != LEMMA:
        for table in readings.tables:
            for value, forms in table.of(word).items():
                wanted = phenomenon.value
                if value != word.values[phenomenon.feature] and wanted in {None, value}:
                    features = dict(reading_of(word)) | {phenomenon.feature: value}
                    row = tuple(sorted(features.items())), Counter(forms), table.origin
                    by_value.setdefault(value, [row])
    for value, row in _by_analogy(place, phenomenon, readings.lists[0]):
        by_value.setdefault(value, [row])
    yield from sorted(by_value.items())


def _by_analogy(
    place: Place, phenomenon: Phenomenon, words: WordList
) -> Iterator[tuple[str, tuple[Reading, Counter[str], str]]]:
    """Yield forms inferred from other words, for readings that differ only in the changed features."""
    upos, reading = place.word.values.get(UPOS, ""), reading_of(place.word)
    form = lowered(place.word.values[FORM])
    names = frozenset(change.feature for change in phenomenon.changes)
    for other in words.differing(upos, reading, names) if phenomenon.feature != LEMMA else ():
        value = _new_value(words, place.word, dict(other), phenomenon.changes, place.controller)
        if value and (new := words.by_analogy(upos, reading, other, form)) is not None:
            yield value, (other, Counter({new: 1}), ANALOGY)


def _new_value(
    words: WordList, word: Word, other: Mapping[str, str], changes: Sequence[Change], controller: Word | None
) -> str | None:
    """Return the new value if a reading differs from a word only in the changes; otherwise None."""
    entry, values = entry_of(word), dict(reading_of(word))
    new_values = []
    for change in changes:
        old, new = values.get(change.feature), other.get(change.feature)
        if change.feature == LEMMA:
            new = change.value
        elif change.removed:
            if new is not None:
                return None
        elif new is None or new == old or change.value not in {None, new}:
            return None
        new_values.append(new or f"no {change.feature}")
    changed = {change.feature for change in changes}
    for name in {*values, *other} - changed:
        old, new = values.get(name), other.get(name)
        controller_value = None if controller is None else controller.values.get(name)
        # Hebrew past plurals have Gender=Fem,Masc, but singulars have the gender of the subject.
        of_both = old is not None and new is not None and name in AGREEING and compatible(old, new)
        if old == new or (of_both and compatible(new, controller_value)):
            continue
        # A feature may be missing if words with that value (the new or the old one) never have it.
        side, side_value = (values, old) if new is None else (other, new)
        without = other if side is values else values
        may_be_missing = any(
            change.feature in without
            and words.never_beside(entry, change.feature, without[change.feature], name)
            for change in changes
        )
        if (old is not None and new is not None) or not may_be_missing:
            return None
        if side is other and controller_value is not None and controller_value != side_value:
            return None
    return ", ".join(new_values)


def _choose(
    place: Place, phenomenon: Phenomenon, readings: Readings,
    group: tuple[str, Sequence[tuple[Reading, Counter[str], str]]],
) -> tuple[Candidate | None, str]:  # fmt: skip
    """Choose one form of a value by the next sound, by its ending, and by its frequency."""
    value, rows = group
    word = place.word
    form = lowered(word.values[FORM])
    scores: dict[tuple[str, Reading, str], tuple[int, int]] = {}
    reason = NO_FORM
    for reading, forms, origin in rows:
        for other, times in forms.items():
            if other == form:
                reason = SAME
                continue
            if not _sounds_right(place, readings.lists[0], other, reading):
                reason = NEXT_SOUND
                continue
            if phenomenon.surroundings and _other_declension(readings.lists[0], place, other, reading):
                reason = DECLENSION
                continue
            n_kept = _kept_ending(form, other) if phenomenon.keeps_ending else 0
            if phenomenon.keeps_ending and n_kept < min(3, len(form) - 1, len(other) - 1):
                reason = ENDING
                continue
            scores[other, reading, origin] = n_kept, times
    if not scores:
        return None, reason
    best = max(scores.values())
    chosen = [key for key, score in scores.items() if score == best]
    if len({other for other, _, _ in chosen}) > 1:
        return None, SEVERAL
    other, reading, origin = chosen[0]
    return Candidate(other, value, reading, origin, best[1]), ""


def _kept_ending(form: str, other: str) -> int:
    """Count the letters of the common ending of two forms that begin alike: *zuen*, *zituen*."""
    n_same = 0
    while n_same < min(len(form), len(other)) and form[-1 - n_same] == other[-1 - n_same]:
        n_same += 1
    return n_same if form[:1] == other[:1] else 0


def _sounds_right(place: Place, words: WordList, other: str, reading: Reading) -> bool:
    """Check whether a form fits before the next word: *un*, *uno* and *un'* depend on its first sound."""
    lemma, upos = entry_of(place.word)
    elided = is_elided(other)
    if elided and upos not in {"DET", "ADP", "PRON"}:
        return False
    if place.next_onset == "" and not elided:
        return True
    onset_counts = words.before.get(other, Counter[str]())
    if not elided and not words.varies((lemma, upos), reading):
        return True
    if place.next_onset in EITHER:  # l'homme, but le héros
        return (other, place.words[place.at + 1].values.get(LEMMA, "")) in words.before_either
    return bool(onset_counts[place.next_onset])


def _problem(place: Place, phenomenon: Phenomenon, readings: Readings, candidate: Candidate) -> str | None:
    """Return why a form may be right in the sentence, or wrong for a reason other than its value."""
    words, word = readings.lists[0], place.word
    form, other = lowered(word.values[FORM]), candidate.form
    if _as_any_spelling(form) == _as_any_spelling(other):
        return SPELLING
    for value in candidate.value.split(", "):
        if value in phenomenon.never or value in place.excluded:
            return place.excluded.get(value, ALONE)
    if candidate.origin == words.origin and candidate.times == 1 and phenomenon.feature != LEMMA:
        upos, reading = word.values.get(UPOS, ""), reading_of(word)
        if words.lemmas_that_change(upos, reading, candidate.reading, form, other) < 2:
            return UNLIKELY
    if problem := _next_to_the_word_before(place, words, candidate):
        return problem
    return _right_reading(place, phenomenon, readings, candidate)


def _next_to_the_word_before(place: Place, words: WordList, candidate: Candidate) -> str | None:
    """Return why a form cannot follow the preceding word: *qual è*, but *quale sono*; *du*, not *de le*."""
    if not place.at:
        return None
    form, other = lowered(place.word.values[FORM]), candidate.form
    before = place.words[place.at - 1]
    previous = lowered(before.values[FORM])
    siblings = words.forms.get(entry_of(before), {}).get(reading_of(before), Counter[str]())
    if is_elided(form) or (before.values.get(LEMMA) in words.elided and not sound_alike(form, other)):
        return EUPHONY
    if len(siblings) > 1 and not words.before.get(previous, Counter[str]())[onset(other)]:
        return EUPHONY
    pair = previous, other
    return GLUED if words.glued[pair] > 4 * words.apart[pair] else None


def _as_any_spelling(form: str) -> str:
    """Return a form without Arabic and Hebrew vowel signs, Greek accents, and the dots of Russian *ё*.

    A Greek word before an enclitic has a second accent: *κατάστασή του* (Holton et al. 2012, section 1.2).
    """
    letters = normalize("NFC", form.replace("ё", "е"))
    if any("\u0370" <= letter <= "\u03ff" for letter in letters):
        letters = normalize("NFC", normalize("NFD", letters).replace("\u0301", ""))
    return "".join(letter for letter in letters if not "\u0591" <= letter <= "\u05c7"
                   and not "\u064b" <= letter <= "\u0652")  # fmt: skip


def _other_declension(words: WordList, place: Place, other: str, reading: Reading) -> bool:
    """Check whether adjectives after this determiner have another ending: *der erste*, but *ein erster*."""
    by_determiner = words.declension.get((place.word.values.get(UPOS, ""), reading), {})
    total = sum(by_determiner.values(), Counter[str]())
    if not words.has_declensions() or not total or total.most_common(1)[0][1] > 0.9 * total.total():
        return False
    ending_counts = by_determiner.get(determiner_of(place.words, place.at), Counter[str]())
    return ending_counts[other[-1]] < 0.5 * max(ending_counts.total(), 1)


def _possible(
    place: Place, phenomenon: Phenomenon, readings: Readings, candidate: Candidate
) -> list[Mapping[str, str]]:
    """Return the possible readings of a form at the word's position."""
    free = {*phenomenon.free, *(change.feature for change in phenomenon.changes)}
    fixed = dict(reading_of(place.word))
    return readings.of_form(candidate.form, entry_of(place.word), candidate.reading, free, fixed)


def _values(place: Place, phenomenon: Phenomenon, readings: Readings, candidate: Candidate) -> frozenset[str]:
    """Return all values of the changed feature that a form may have."""
    possible = _possible(place, phenomenon, readings, candidate)
    return frozenset(reading[phenomenon.feature] for reading in possible if phenomenon.feature in reading)


def _right_reading(
    place: Place, phenomenon: Phenomenon, readings: Readings, candidate: Candidate
) -> str | None:
    """Return why the sentence may be right with the new form, in some reading of it and its controller."""
    word, feature = place.word, phenomenon.feature
    if feature == LEMMA:
        return None
    possible = _possible(place, phenomenon, readings, candidate)
    if place.controller is None or phenomenon.governs or phenomenon.controller is None:
        value = word.values[feature]
        right = any(
            reading.get(feature) is None or value in reading[feature].split(",") for reading in possible
        )
        return AMBIGUOUS if right else None
    controller_readings = readings.of_word(place.controller, phenomenon.controller_free)
    for reading in possible:
        if any(may_agree(reading, feature, other, phenomenon.controller[1]) for other in controller_readings):
            return (
                AMBIGUOUS
                if may_agree(reading, feature, controller_readings[0], phenomenon.controller[1])
                else BOTH_READINGS
            )
    return None
