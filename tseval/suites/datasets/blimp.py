"""BLiMP (Warstadt et al. 2020, TACL): 67 paradigms of 1,000 pairs, and three methods to compare them.

`full` compares whole sentences (the paper's simple LM method). `one_prefix` compares two endings of the same
prefix, `two_prefix` the same ending of two prefixes; not every paradigm allows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tseval.errors import SuiteError
from tseval.formats import is_count, read_jsonl
from tseval.questions.pairs import ENDING
from tseval.suites.datasets.entries import DataItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Feature
    from tseval.questions import Score

BLIMP_SOURCE = "Warstadt et al. 2020, BLiMP: The Benchmark of Linguistic Minimal Pairs for English, TACL 8"
# What each method compares: the sums of two sentences that share a prefix differ as their endings do.
BLIMP_METHODS: dict[str, Score] = {"full": "sentence", "one_prefix": "sentence", "two_prefix": "ending"}

# As the paper prints them (Table 2). Two paradigms carry `s-selection` in the data and stand under argument
# structure in the paper and in the published results.
PHENOMENA = {
    "anaphor_agreement": "Anaphor agreement",
    "argument_structure": "Argument structure",
    "s-selection": "Argument structure",
    "binding": "Binding",
    "control_raising": "Control/raising",
    "determiner_noun_agreement": "Determiner-noun agreement",
    "ellipsis": "Ellipsis",
    "filler_gap_dependency": "Filler-gap dependency",
    "irregular_forms": "Irregular forms",
    "island_effects": "Island effects",
    "npi_licensing": "NPI licensing",
    "quantifiers": "Quantifiers",
    "subject_verb_agreement": "Subject-verb agreement",
}
# One paradigm spells its field with a slash.
FIELDS = {
    "morphology": "Morphology",
    "syntax": "Syntax",
    "semantics": "Semantics",
    "syntax_semantics": "Syntax & semantics",
    "syntax/semantics": "Syntax & semantics",
}
BLIMP_FIELDS = ("UID", "pairID", "field", "linguistics_term", "sentence_good", "sentence_bad")


def read_blimp(paths: Sequence[Path], method: str) -> Iterator[DataItem]:
    """Read paradigms, from one file or several.

    Items are in the order of paradigm names and pair numbers, however the files are cut.

    Raises:
        SuiteError: A record lacks a field; no paradigm allows the method.
    """
    records = [found for path in paths for found in read_jsonl(path)]
    for place, record in records:
        if missing := [name for name in BLIMP_FIELDS if name not in record]:
            raise SuiteError(f"{place}: no BLiMP record: there is no {missing[0]!r}")
        if not is_count(str(record["pairID"])):
            raise SuiteError(f"{place}: pairID is no number, but {record['pairID']!r}")
    records.sort(key=lambda found: (str(found[1]["UID"]), int(cast("str", found[1]["pairID"]))))
    chosen = [found for found in records if method == "full" or found[1].get(f"{method}_method")]
    if not chosen:
        raise SuiteError(
            f"{paths[0]}: no paradigm allows the method {method}.\n  Methods: {', '.join(BLIMP_METHODS)}."
        )
    return (_entry(place, record, method) for place, record in chosen)


def _entry(place: str, record: dict[str, Json], method: str) -> DataItem:
    texts = {name: value for name, value in record.items() if isinstance(value, str)}
    try:
        good, bad = _sentences(texts, method)
        row = texts["UID"], texts["UID"], PHENOMENA[texts["linguistics_term"]], FIELDS[texts["field"]]
    except KeyError as error:
        raise SuiteError(f"{place}: {error} is missing, or none of BLiMP's") from None
    features: dict[str, Feature] = {"pair": int(cast("str", record["pairID"]))}
    if BLIMP_METHODS[method] == "ending":
        features[ENDING] = len(texts["two_prefix_word"].split())
    return DataItem(place, row, {"good": good, "bad": bad}, features)


def _sentences(texts: dict[str, str], method: str) -> tuple[str, str]:
    """Give what is compared."""
    if method == "one_prefix":
        prefix = texts["one_prefix_prefix"]
        return f"{prefix} {texts['one_prefix_word_good']}", f"{prefix} {texts['one_prefix_word_bad']}"
    if method == "two_prefix":
        word = texts["two_prefix_word"]
        return f"{texts['two_prefix_prefix_good']} {word}", f"{texts['two_prefix_prefix_bad']} {word}"
    return texts["sentence_good"], texts["sentence_bad"]
