"""BLiMP (Warstadt et al. 2020, TACL): 67 paradigms of 1,000 pairs, with three methods.

`full` compares whole sentences (the paper's simple LM method), `one_prefix` two endings of the same prefix,
`two_prefix` the same ending of two prefixes. The prefix methods do not apply to every paradigm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tseval.errors import SuiteError
from tseval.formats import is_count, read_jsonl
from tseval.questions.pairs import ENDING
from tseval.suites.data.entries import AGREEMENT, DataItem, DataSet, TableReading
from tseval.suites.data.roles import PAIR_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Feature
    from tseval.questions import Score


BLIMP_SOURCE = "Warstadt et al. 2020, BLiMP: The Benchmark of Linguistic Minimal Pairs for English, TACL 8"
# The score of each method. If two sentences share a prefix, their sums differ as their endings do.
BLIMP_METHODS: dict[str, Score] = {"full": "sentence", "one_prefix": "sentence", "two_prefix": "ending"}
_COMPARED = {  # method to the columns of the better and of the worse sentence
    "full": (["sentence_good"], ["sentence_bad"]),
    "one_prefix": [["one_prefix_prefix", f"one_prefix_word_{which}"] for which in PAIR_LABELS],
    "two_prefix": [[f"two_prefix_prefix_{which}", "two_prefix_word"] for which in PAIR_LABELS],
}
# Phenomena as the paper prints them (Table 2). Two paradigms are labelled `s-selection` in the data, but
# belong to argument structure in the paper and in the published results.
PHENOMENA = {
    "anaphor_agreement": "Anaphor agreement", "argument_structure": "Argument structure",
    "s-selection": "Argument structure", "binding": "Binding", "control_raising": "Control/raising",
    "determiner_noun_agreement": "Determiner-noun agreement", "ellipsis": "Ellipsis",
    "filler_gap_dependency": "Filler-gap dependency", "irregular_forms": "Irregular forms",
    "island_effects": "Island effects", "npi_licensing": "NPI licensing", "quantifiers": "Quantifiers",
    "subject_verb_agreement": AGREEMENT,
}  # fmt: skip
# One paradigm spells its field with a slash.
FIELDS = {
    "morphology": "Morphology", "syntax": "Syntax", "semantics": "Semantics",
    "syntax_semantics": "Syntax & semantics", "syntax/semantics": "Syntax & semantics",
}  # fmt: skip
BLIMP_FIELDS = ("UID", "pairID", "field", "linguistics_term", "sentence_good", "sentence_bad")


def read_blimp(paths: Sequence[Path], method: str) -> Iterator[DataItem]:
    """Read paradigms in the order of their names and pair numbers. A pair may be in any file."""
    records = [placed for path in paths for placed in read_jsonl(path)]
    for place, record in records:
        if missing := [name for name in BLIMP_FIELDS if name not in record]:
            fix = f"Add the key {missing[0]!r} with its value."
            raise SuiteError(f"{place}: this line of BLiMP does not have the key {missing[0]!r}.\n  {fix}")
        if not is_count(str(record["pairID"])):
            raise SuiteError(
                f"{place}: the key 'pairID' has the value {record['pairID']!r}, which is not a "
                "number.\n  Write the number of the pair: 0, 1, ..."
            )
    records.sort(key=lambda placed: (str(placed[1]["UID"]), int(cast("str", placed[1]["pairID"]))))
    chosen = [placed for placed in records if method == "full" or placed[1].get(f"{method}_method")]
    if not chosen:
        raise SuiteError(
            f"{paths[0]}: no paradigm of these files can be scored by the method {method!r}.\n"
            f"  Choose another method: {', '.join(BLIMP_METHODS)}."
        )
    return (_blimp_entry(place, record, method) for place, record in chosen)


def _blimp_entry(place: str, record: dict[str, Json], method: str) -> DataItem:
    texts = {name: value for name, value in record.items() if isinstance(value, str)}
    try:
        good, bad = (" ".join(texts[name] for name in names) for names in _COMPARED[method])
        row = texts["UID"], texts["UID"], PHENOMENA[texts["linguistics_term"]], FIELDS[texts["field"]]
    except KeyError as error:
        keys = {*BLIMP_FIELDS, *(key for names in _COMPARED[method] for key in names)}
        problem = f"BLiMP has no field or phenomenon with the name {error}"
        if error.args[0] in keys:
            problem = f"the key {error} is missing, or its value is not a text"
        raise SuiteError(f"{place}: {problem}.\n  Copy this line from the published BLiMP file.") from None
    features: dict[str, Feature] = {"pair": int(cast("str", record["pairID"]))}
    if BLIMP_METHODS[method] == "ending":
        features[ENDING] = len(texts["two_prefix_word"].split())
    return DataItem(place, row, {"good": good, "bad": bad}, features)


def blimp_set(reading: TableReading) -> DataSet:
    """Read files of BLiMP as a set, by one of its methods."""
    method = reading.method or "full"
    # A file of one paradigm is BLiMP too. The name includes the method, because it changes the items.
    title = "BLiMP" if method == "full" else f"BLiMP, {method.replace('_', '-')} method"
    name = reading.name if reading.method is None else f"{reading.name}_{method}"
    cases = reading.build(read_blimp(list(reading.files), method))
    return DataSet(name, title, BLIMP_SOURCE, BLIMP_METHODS[method], cases)
