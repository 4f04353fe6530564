"""Lists of word forms from UniMorph (Kirov et al. 2018).

Their features are converted to Universal Dependencies, following McCarthy et al. (2018).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import read_lines
from tseval.suites.agreement.requests import FORM, LEMMA, UPOS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tseval.suites.agreement.requests import Word


# UniMorph's parts of speech and tags, with the corresponding features of Universal Dependencies.
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


@dataclass(slots=True)
class ListedForms:
    """The forms of a UniMorph table, for lemmas that occur in the treebanks."""

    origin: str
    feature: str
    _listed: Mapping[tuple[str, str], Sequence[tuple[str, Mapping[str, str]]]]
    elided: frozenset[str] = frozenset()  # always empty: a table does not show neighbouring sounds

    def of(self, word: Word) -> Mapping[str, Counter[str]]:
        """Return the forms of a word's paradigm by value: rows that differ from its row only in it."""
        rows = self._listed.get((word.values.get(LEMMA, ""), word.values.get(UPOS, "")), ())
        by_value: dict[str, Counter[str]] = defaultdict(Counter)
        for form, features in rows:
            # The row fits the word if it has the same value and no contradicting feature.
            fits = features.get(self.feature) == word.values.get(self.feature) and all(
                word.values.get(name, value) == value for name, value in features.items()
            )
            if form.lower() != word.values[FORM].lower() or not fits:
                continue
            for other, values in rows:
                if self.feature in values and {**values, self.feature: ""} == {**features, self.feature: ""}:
                    by_value[values[self.feature]][other.lower()] = 1
        return by_value

    def readings(self, lemma: str, upos: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return the rows of a lemma: forms with their features."""
        return self._listed.get((lemma, upos), ())

    def may_be(self, word: Word, form: str) -> bool:
        """Check whether a form is listed with the word's value, in any mood."""
        rows = self._listed.get((word.values.get(LEMMA, ""), word.values.get(UPOS, "")), ())
        word_value = word.values.get(self.feature)
        return "Mood" in word.values and any(
            other.lower() == form and features.get(self.feature) == word_value and "Mood" in features
            for other, features in rows
        )


def read_unimorph(path: Path, feature: str, lemmas: set[str]) -> ListedForms:
    """Read a UniMorph table (lemma, form, tags, separated by tabs) for the lemmas of treebanks."""
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
        example = f" One of these words is {min(lemmas)!r}." if lemmas else ""
        raise SuiteError(
            f"{path}: this list of forms has none of the words that have the feature {feature} in the "
            f"treebanks.{example}\n"
            "  Give a list of forms for the language of the treebanks, or leave out --forms."
        )
    return ListedForms("unimorph", feature, listed)
