"""The forms that words have in treebanks and in tables, from which one with another feature is taken.

Source of the tables: UniMorph (Kirov et al. 2018), whose features are read as those of Universal
Dependencies, after McCarthy et al. (2018).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unicodedata import normalize

from tseval.errors import SuiteError
from tseval.formats import read_lines
from tseval.suites.agreement.requests import FORM, LEMMA, OWN, UPOS
from tseval.suites.agreement.treebank import with_capitals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tseval.suites.agreement.requests import Word

NO_FORM = "no other form is known"
SEVERAL = "several other forms are equally frequent"
SAME = "the other form has the same letters"
AMBIGUOUS = "the other form also has the first's features"
EUPHONY = "the form depends on the neighbouring sounds"
_NEVER_SHARED = {"Typo", "Abbr"}


Paradigm = tuple[str, str, tuple[tuple[str, str], ...]]


def _paradigm(word: Word, *changing: str) -> Paradigm | None:
    """Return what forms share that differ in some features alone, the first of which they have."""
    lemma = word.values.get(LEMMA)
    if lemma is None or changing[0] not in word.values:
        return None
    apart = {*changing, *OWN, *_NEVER_SHARED}
    rest = tuple(sorted((name, value) for name, value in word.values.items() if name not in apart))
    return lemma, word.values.get(UPOS, ""), rest


@dataclass(slots=True)
class SeenForms:
    """The forms of a treebank by paradigm and by the value of the feature that is changed, in lower case."""

    origin: str
    feature: str
    elided: set[str] = field(default_factory=set)  # lemmas of which a form ends in an apostrophe: je, j'
    _seen: dict[Paradigm | None, dict[str, Counter[str]]] = field(default_factory=dict)
    _any_mood: dict[tuple[Paradigm | None, str], set[str]] = field(default_factory=dict)

    def add(self, word: Word) -> None:
        """Note a word."""
        form = lowered(word.values[FORM])
        if is_elided(form):
            self.elided.add(word.values.get(LEMMA, form))
        paradigm = _paradigm(word, self.feature)
        if paradigm and word.values.get("Typo") != "Yes":
            value = word.values[self.feature]
            self._seen.setdefault(paradigm, {}).setdefault(value, Counter())[form] += 1
            self._any_mood.setdefault((_paradigm(word, self.feature, "Mood"), value), set()).add(form)

    def of(self, word: Word) -> Mapping[str, Counter[str]]:
        """Return the forms of a word's paradigm by value."""
        return self._seen.get(_paradigm(word, self.feature), {})

    def may_be(self, word: Word, form: str) -> bool:
        """Whether a form is found with the word's own value, in any mood: *gebe*, of *er* and of *ich*."""
        own = _paradigm(word, self.feature, "Mood"), word.values[self.feature]
        return form in self._any_mood.get(own, ())

    def lemmas(self) -> set[str]:
        """Name the lemmas that have the feature."""
        return {paradigm[0] for paradigm in self._seen if paradigm}


@dataclass(slots=True)
class ListedForms:
    """The forms of a table of UniMorph, of lemmas that the treebanks have."""

    origin: str
    feature: str
    _listed: Mapping[tuple[str, str], Sequence[tuple[str, Mapping[str, str]]]]
    elided: frozenset[str] = frozenset()  # a table shows no sounds beside a form

    def of(self, word: Word) -> Mapping[str, Counter[str]]:
        """Return the forms of a word's paradigm by value: rows that differ from its own in it alone."""
        rows = self._listed.get((word.values.get(LEMMA, ""), word.values.get(UPOS, "")), ())
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for form, features in rows:
            # It may be about the word: it has its value, and no other feature speaks against it.
            fits = features.get(self.feature) == word.values.get(self.feature) and all(
                word.values.get(name, value) == value for name, value in features.items()
            )
            if form.lower() != word.values[FORM].lower() or not fits:
                continue
            for other, values in rows:
                if self.feature in values and {**values, self.feature: ""} == {**features, self.feature: ""}:
                    found[values[self.feature]][other.lower()] = 1
        return found

    def may_be(self, word: Word, form: str) -> bool:
        """Whether a form is listed with the word's own value, in whatever mood."""
        rows = self._listed.get((word.values.get(LEMMA, ""), word.values.get(UPOS, "")), ())
        own = word.values.get(self.feature)
        return "Mood" in word.values and any(
            other.lower() == form and features.get(self.feature) == own and "Mood" in features
            for other, features in rows
        )


def lowered(form: str) -> str:
    """Write a form in lower case; of a Turkish capital no dot is left beside the letter."""
    return form.lower().replace("i\u0307", "i")


def is_elided(form: str) -> bool:
    """Whether a form has lost its last sound before the next word: *l'*."""
    return len(form) > 1 and form[-1] in "'’" and form[-2].isalpha()


def sound_alike(one: str, other: str) -> bool:
    """Whether two forms begin alike for a word before them: both with a vowel, or an h, or neither."""
    return len({normalize("NFD", form)[:1].lower() in "aeiouyh" for form in (one, other)}) == 1


# Tags of UniMorph as features of Universal Dependencies; its parts of speech.
_UNIMORPH_POS = {
    "N": ("NOUN",), "PROPN": ("PROPN",), "V": ("VERB", "AUX"), "V.PTCP": ("VERB", "AUX", "ADJ"),
    "V.CVB": ("VERB",), "V.MSDR": ("NOUN", "VERB"), "ADJ": ("ADJ",), "DET": ("DET",), "ART": ("DET",),
    "PRO": ("PRON", "DET"), "NUM": ("NUM",), "ADV": ("ADV",), "AUX": ("AUX",),
}  # fmt: skip
_UNIMORPH = {
    "Number": {"SG": "Sing", "PL": "Plur", "DU": "Dual"},
    "Gender": {"MASC": "Masc", "FEM": "Fem", "NEUT": "Neut"},
    "Animacy": {"ANIM": "Anim", "INAN": "Inan"},
    "Person": {"1": "1", "2": "2", "3": "3"},
    "Case": {
        "NOM": "Nom", "ACC": "Acc", "GEN": "Gen", "DAT": "Dat", "INS": "Ins", "VOC": "Voc", "ERG": "Erg",
        "ABS": "Abs", "COM": "Com", "PRT": "Par", "ESS": "Ess", "TRANS": "Tra", "PRIV": "Abe", "LOC": "Loc",
        "IN+ESS": "Ine", "IN+ABL": "Ela", "IN+ALL": "Ill", "AT+ESS": "Ade", "AT+ABL": "Abl", "AT+ALL": "All",
    },
    "Tense": {"PRS": "Pres", "PST": "Past", "FUT": "Fut"},
    "Mood": {"IND": "Ind", "SBJV": "Sub", "IMP": "Imp", "COND": "Cnd"},
    "VerbForm": {"FIN": "Fin", "NFIN": "Inf"},
    "Aspect": {"PFV": "Perf", "IPFV": "Imp"},
    "Voice": {"ACT": "Act", "PASS": "Pass"},
    "Definite": {"DEF": "Def", "NDEF": "Ind"},
    "Degree": {"POS": "Pos", "CMPR": "Cmp", "SPRL": "Sup"},
    "Polarity": {"NEG": "Neg"},
}  # fmt: skip
_TAGS = {tag: (name, value) for name, tags in _UNIMORPH.items() for tag, value in tags.items()}


def read_unimorph(path: Path, feature: str, lemmas: set[str]) -> ListedForms:
    """Read a table of UniMorph, lemma, form and tags with tabs between, for the lemmas of treebanks."""
    listed: dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]] = defaultdict(list)
    for place, line in read_lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) < 3 or not cells[2]:
            raise SuiteError(
                f"{place}: a line of a UniMorph list has three cells, but this line is {line[:80]!r}.\n  "
                "Write the lemma, the form and the UniMorph tags, with tabs between them."
            )
        lemma, form, tags = cells[:3]
        if lemma not in lemmas:
            continue
        kind, *rest = tags.split(";")
        features = dict(_TAGS[tag] for tag in rest if tag in _TAGS)
        if kind == "V.PTCP":
            features["VerbForm"] = "Part"
        for upos in _UNIMORPH_POS.get(kind, ()):
            listed[lemma, upos].append((form, features))
    if not listed:
        raise SuiteError(
            f"{path}: the list of forms has none of the words that have the feature {feature} in the "
            f"treebanks, such as {min(lemmas, default='–')!r}.\n  Give a list of the same language, or "
            "change another feature."
        )
    return ListedForms("unimorph", feature, listed)


@dataclass(frozen=True, slots=True)
class OtherForm:
    """A form with another value of the changed feature; several values that share it are joined by `|`."""

    value: str
    form: str
    origin: str


def other_forms(
    word: Word, before: str, feature: str, wanted: str | None, tables: Sequence[SeenForms | ListedForms]
) -> tuple[list[OtherForm], str | None]:
    """Return the forms of a word with other values, or the wanted one, or say why none is sure.

    `before` is the lemma of the word before it.
    """
    own, form = word.values[feature], word.values[FORM]
    known = [(table.origin, table.of(word)) for table in tables]
    values = {value for _, forms in known for value in forms} - {own}
    found: dict[str, tuple[list[str], str]] = {}
    reason, changes = NO_FORM, any(before in table.elided for table in tables)
    for value in sorted(values if wanted is None else values & {wanted}):
        origin, counted = next((origin, forms[value]) for origin, forms in known if value in forms)
        best = max(counted.values())
        frequent = [one for one, times in counted.items() if times == best]
        other = frequent[0]
        if len(frequent) > 1:
            reason = SEVERAL
        elif other == lowered(form):
            reason = SAME
        elif any(other in forms.get(own, ()) for _, forms in known) or any(
            table.may_be(word, other) for table in tables
        ):
            reason = AMBIGUOUS
        elif is_elided(other) or is_elided(form) or (changes and not sound_alike(form, other)):
            reason = EUPHONY
        else:
            found.setdefault(other, ([], origin))[0].append(value)
    forms = [
        OtherForm("|".join(values), with_capitals(other, form), origin)
        for other, (values, origin) in found.items()
    ]
    return forms, None if forms else reason
