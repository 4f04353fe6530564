"""CLAMS (Mueller et al. 2020, ACL): agreement in English, French, German, Hebrew and Russian.

Each language has a folder (`en_evalset`) with a text file for each construction. Every line holds `True` or
`False`, a tab, and a sentence. A grammatical sentence is followed by its ungrammatical variants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_lines
from tseval.suites.data.entries import AGREEMENT, DataItem, DataSet, TableReading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.suites.data.entries import TableRow


CLAMS_SOURCE = "Mueller et al. 2020, Cross-Linguistic Syntactic Evaluation of Word Prediction Models, ACL"
REFLEXIVES = "Reflexive anaphora"
NPI = "Negative polarity items"
ANIMACY = {"anim": "animate", "inanim": "inanimate"}
# File name without the animacy: name, phenomenon and dependency, as in the table of Marvin & Linzen.
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
    """Read the constructions of one language."""
    for file in files:
        case = bare_name(file).removesuffix(".txt")
        stem, _, animacy = case.rpartition("_")
        description, features = CONSTRUCTIONS.get(case), {}
        if description is None and animacy in ANIMACY:
            description, features = CONSTRUCTIONS.get(stem), {"animacy": ANIMACY[animacy]}
        if description is None:
            raise SuiteError(
                f"{file}: tseval reads this .txt file as CLAMS, but CLAMS has no construction {case!r}.\n"
                "  If the file is a table of pairs, rename it to .tsv, .csv or .jsonl."
            )
        construction, phenomenon, dependency = description
        pairs = list(_pairs(file, (case, construction, phenomenon, dependency), features))
        # Several items may share a grammatical sentence. The files do not say which words items share.
        shares = len({pair.entries["sentence"] for pair in pairs}) < len(pairs)
        yield from pairs if shares else (replace(pair, entries={}) for pair in pairs)


def _pairs(file: Path, row: TableRow, features: Mapping[str, str]) -> Iterator[DataItem]:
    """Pair every ungrammatical sentence with the grammatical one before it."""
    good, good_place = None, ""
    for place, line in read_lines(file):
        label, tab, sentence = line.partition("\t")
        if label not in {"True", "False"} or not tab:
            raise SuiteError(
                f"{place}: this line does not begin with True or False and a tab: {line[:60]!r}.\n"
                "  Write True or False, a tab, and a sentence."
            )
        if label == "True":
            good, good_place = sentence, f"{file.name}:{place.rpartition(':')[2]}"
        elif good is None:
            raise SuiteError(
                f"{place}: the file begins with an ungrammatical sentence.\n"
                "  Write the grammatical sentence of the pair on the line before."
            )
        else:
            forms = {"grammatical": good, "ungrammatical": sentence}
            yield DataItem(place, row, forms, features, {"sentence": good_place})


def clams_set(reading: TableReading) -> DataSet:
    """Read the files of one language of CLAMS as a set."""
    code = reading.name.removesuffix("_evalset")
    title = f"CLAMS, {LANGUAGES[code]}" if code in LANGUAGES else "CLAMS"
    cases = reading.build(read_clams(list(reading.files)))
    return DataSet(f"clams_{code}", title, CLAMS_SOURCE, "sentence", cases)
