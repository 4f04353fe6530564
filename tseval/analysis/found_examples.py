"""How good agreement examples from parsed trees are, against those from gold trees of the same sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import wilson
from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        ends of their Wilson 95% intervals (`..._low`, `..._high`), and `f1_...`, their harmonic mean; missing
        where nothing can be counted.

    Raises:
        SuiteError: The two have no sentence in common.
    """
    gold, parsed = (frame[VERB + EQUAL].drop_duplicates(VERB) for frame in (gold, parsed))
    if not set(gold["sentence"]) & set(parsed["sentence"]):
        raise SuiteError(
            "the two tables have no sentence in common, and sentences are compared word for word.\n"
            "  Parse the words of the treebank: tseval data parse TREEBANK.conllu -o FILE.conllu"
        )
    both = gold.merge(parsed, on=VERB, suffixes=("", "_parsed"))
    same_number = both["number"] == both["number_parsed"]
    equal = pd.concat([both[name] == both[f"{name}_parsed"] for name in EQUAL], axis=1).all(axis=1)
    counts = {
        "n_gold": gold["n_attractors"],
        "n_parsed": parsed["n_attractors"],
        "n_found": both["n_attractors"],
        "n_right": both["n_attractors_parsed"],
        "n_same_number": both.loc[same_number, "n_attractors"],
        "n_equal": both.loc[equal, "n_attractors"],
    }
    kinds = sorted({*gold["n_attractors"], *parsed["n_attractors"]})
    rows = [{name: len(of) for name, of in counts.items()}]
    rows += [{name: int((of == kind).sum()) for name, of in counts.items()} for kind in kinds]
    attractors = pd.Series([None, *kinds], dtype="Int64", name="n_attractors")
    return pd.concat([attractors, pd.DataFrame([row | dict(_shares(row)) for row in rows])], axis=1)


def _shares(row: dict[str, int]) -> Iterator[tuple[str, float | None]]:
    """Give precision, recall and F1 of the verbs, and of whole examples."""
    right = {"verb": (row["n_right"], row["n_found"]), "equal": (row["n_equal"], row["n_equal"])}
    for what, (n_precise, n_recalled) in right.items():
        precision, recall = _share(n_precise, row["n_parsed"]), _share(n_recalled, row["n_gold"])
        for measure, values in (("precision", precision), ("recall", recall)):
            for end, value in zip(("", "_low", "_high"), values, strict=True):
                yield f"{measure}_{what}{end}", value
        yield f"f1_{what}", _harmonic(precision[0], recall[0])


def _share(n: int, of: int) -> tuple[float | None, float | None, float | None]:
    """Give a share and the ends of its interval."""
    ends = wilson(n, of)
    return (None, None, None) if ends is None else (n / of, *ends)


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
