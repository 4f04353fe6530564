"""CLAMS (Mueller et al. 2020, ACL): agreement in English, French, German, Hebrew and Russian.

A folder for each language (`en_evalset`), a text file for each construction. Every line holds `True` or
`False`, a tab, and a sentence; a grammatical sentence is followed by its ungrammatical twins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_lines
from tseval.suites.datasets.entries import AGREEMENT, DataItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.suites.datasets.entries import TableRow

CLAMS_SOURCE = "Mueller et al. 2020, Cross-Linguistic Syntactic Evaluation of Word Prediction Models, ACL"
REFLEXIVES = "Reflexive anaphora"
NPI = "Negative polarity items"
ANIMACY = {"anim": "animate", "inanim": "inanimate"}
# File name without its animacy: phenomenon and dependency, as in the table of Marvin & Linzen.
CONSTRUCTIONS = {
    "simple_agrmt": ("Simple", AGREEMENT, "short"),
    "sent_comp": ("Sentential complement", AGREEMENT, "short"),
    "vp_coord": ("Short VP coordination", AGREEMENT, "short"),
    "obj_rel_within": ("In an object RC", AGREEMENT, "short"),
    "obj_rel_no_comp_within": ("In an object RC (no that)", AGREEMENT, "short"),
    "long_vp_coord": ("Long VP coordination", AGREEMENT, "long"),
    "prep": ("Across a PP", AGREEMENT, "long"),
    "subj_rel": ("Across a subject RC", AGREEMENT, "long"),
    "obj_rel_across": ("Across an object RC", AGREEMENT, "long"),
    "obj_rel_no_comp_across": ("Across an object RC (no that)", AGREEMENT, "long"),
    "simple_reflexives": ("Simple", REFLEXIVES, "short"),
    "reflexive_sent_comp": ("Sentential complement", REFLEXIVES, "short"),
    "reflexives_across": ("Across a RC", REFLEXIVES, "long"),
    "simple_npi": ("Simple", NPI, "short"),
    "npi_across": ("Across a RC", NPI, "long"),
}
LANGUAGES = {"en": "English", "fr": "French", "de": "German", "he": "Hebrew", "ru": "Russian"}


def read_clams(files: Sequence[Path]) -> Iterator[DataItem]:
    """Read the constructions of one language.

    Raises:
        SuiteError: A line is malformed, or a file is none of CLAMS's.
    """
    for file in files:
        case = bare_name(file).removesuffix(".txt")
        stem, _, animacy = case.rpartition("_")
        known, features = CONSTRUCTIONS.get(case), {}
        if known is None and animacy in ANIMACY:
            known, features = CONSTRUCTIONS.get(stem), {"animacy": ANIMACY[animacy]}
        if known is None:
            raise SuiteError(
                f"{file}: no construction of CLAMS is called {case!r}, and .txt is what CLAMS comes as.\n"
                "  A table of pairs is read as .tsv, .csv or .jsonl: give the file that ending."
            )
        construction, phenomenon, dependency = known
        pairs = list(_pairs(file, (case, construction, phenomenon, dependency), features))
        # Items may share a sentence with several twins; which words they share the files do not say.
        shares = len({pair.entries["sentence"] for pair in pairs}) < len(pairs)
        yield from pairs if shares else (replace(pair, entries={}) for pair in pairs)


def _pairs(file: Path, row: TableRow, features: Mapping[str, str]) -> Iterator[DataItem]:
    """Pair every ungrammatical sentence with the grammatical one before it."""
    good, good_place = None, ""
    for place, line in read_lines(file):
        label, tab, sentence = line.partition("\t")
        if label not in {"True", "False"} or not tab:
            raise SuiteError(f"{place}: neither True nor False, a tab and a sentence: {line[:60]!r}")
        if label == "True":
            good, good_place = sentence, f"{file.name}:{place.rpartition(':')[2]}"
        elif good is None:
            raise SuiteError(f"{place}: an ungrammatical sentence before any grammatical one")
        else:
            forms = {"grammatical": good, "ungrammatical": sentence}
            yield DataItem(place, row, forms, features, {"sentence": good_place})
