"""How good agreement examples from parsed trees are, against those from gold trees of the same sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tseval.analysis.inference.design import Design
from tseval.analysis.inference.estimates import estimate
from tseval.analysis.inference.factors import Factors
from tseval.errors import SuiteError

VERB = ["sentence", "verb_index"]
EQUAL = ["subj_index", "number", "n_attractors"]


def compare_examples(gold: pd.DataFrame, parsed: pd.DataFrame) -> pd.DataFrame:
    """Count what was found of the gold examples, and what of the found ones is right, by attractors.

    A verb is the same if its sentence and its position are. An example is equal if besides the subject's
    position, the number and the number of attractors are.

    Args:
        gold: Examples of gold trees, with the columns of `VERB` and `EQUAL`.
        parsed: Examples of parsed trees of the same sentences.

    Returns:
        A row for all examples (`n_attractors` missing) and one for each number of attractors, which is that
        of the gold tree for what is counted of gold examples, and that of the parsed tree for what is counted
        of parsed ones. `n_gold`, `n_parsed`: examples. `n_found`: gold ones whose verb was found; `n_right`:
        parsed ones whose verb is a gold one's; `n_same_number`: of those found, with the number they have.
        `n_equal`: equal ones. For `verb` and for `equal` the shares `precision_...` and `recall_...` with the
        ends of their 95% intervals (`..._low`, `..._high`), in which the examples of a sentence go together,
        and `f1_...`, their harmonic mean; missing where nothing can be counted.

    Raises:
        SuiteError: The two have no sentence in common.
    """
    gold, parsed = (frame[VERB + EQUAL].drop_duplicates(VERB) for frame in (gold, parsed))
    if not set(gold["sentence"]) & set(parsed["sentence"]):
        raise SuiteError(
            "the two tables have no sentence in common, and sentences are compared word for word.\n"
            "  Parse the words of the treebank: tseval data parse TREEBANK.conllu -o FILE.conllu"
        )
    gold, parsed = _marked(gold, parsed), _marked(parsed, gold)
    kinds = sorted({*gold["n_attractors"], *parsed["n_attractors"]})
    rows = [_row(gold, parsed)]
    rows += [_row(*(frame[frame["n_attractors"] == kind] for frame in (gold, parsed))) for kind in kinds]
    attractors = pd.Series([None, *kinds], dtype="Int64", name="n_attractors")
    return pd.concat([attractors, pd.DataFrame(rows)], axis=1)


def _marked(own: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Say of each example whether the others have its verb, its verb with this number, and all of it."""
    both = own.merge(others, on=VERB, how="left", suffixes=("", "_there"))
    same = {name: (both[name] == both[f"{name}_there"]).to_numpy() for name in EQUAL}
    verb = both["number_there"].notna().to_numpy()
    return own.assign(verb=verb, same_number=same["number"], equal=np.all([*same.values()], axis=0))


def _row(gold: pd.DataFrame, parsed: pd.DataFrame) -> dict[str, int | float | None]:
    """Count examples, and give precision, recall and F1 of the verbs and of whole examples."""
    row: dict[str, int | float | None] = {
        "n_gold": len(gold),
        "n_parsed": len(parsed),
        "n_found": int(gold["verb"].sum()),
        "n_right": int(parsed["verb"].sum()),
        "n_same_number": int(gold["same_number"].sum()),
        "n_equal": int(gold["equal"].sum()),
    }
    for what in ("verb", "equal"):
        precision, recall = _share(parsed, what), _share(gold, what)
        for measure, values in (("precision", precision), ("recall", recall)):
            for end, value in zip(("", "_low", "_high"), values, strict=True):
                row[f"{measure}_{what}{end}"] = value
        row[f"f1_{what}"] = _harmonic(precision[0], recall[0])
    return row


def _share(examples: pd.DataFrame, what: str) -> tuple[float | None, float | None, float | None]:
    """Give the share of examples that are so, and the ends of its interval, clustered by sentence."""
    design = Design.of(Factors.of(examples[["sentence"]]))
    found = estimate(examples[what].to_numpy(bool), np.ones(len(examples), bool), design)
    return (None, None, None) if found is None else (found.value, found.low, found.high)


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
