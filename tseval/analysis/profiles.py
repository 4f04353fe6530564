"""Confidence in the correct answer after each word of a sentence.

Source: Bhatt et al. 2020, Figure 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.special import expit

from tseval.analysis.selection import require_features
from tseval.errors import SuiteError
from tseval.items import POSITION, WORD

if TYPE_CHECKING:
    import pandas as pd

VARIES = "varies"
_FIX = (
    "A profile needs a run of a suite's :profile (language models) or :number_profile (classifiers):\n"
    "  tseval run --model MODEL --suite agreement:profile --case pp"
)


def with_words(verdicts: pd.DataFrame, words: int) -> pd.DataFrame:
    """Keep the items of a profile with so many words before the verb, so that places mean the same in all.

    Args:
        verdicts: Of a run on `SUITE:profile` or `SUITE:number_profile`.
        words: How many.

    Raises:
        SuiteError: The run is of no profile, or no item has so many; names those that items have.
    """
    require_features(verdicts, (POSITION, WORD), _FIX)
    lengths = verdicts.groupby(["case", "item"])[POSITION].transform("max").astype("int64")
    if not (lengths == words).any():
        known = ", ".join(map(str, sorted(lengths.unique())))
        raise SuiteError(f"no item has {words} words before the verb.\n  There are items with {known}.")
    return verdicts[lengths == words]


def profile(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the confidence in the correct answer, by case and number of words read.

    The confidence of one item is its share of the probability of both answers, the logistic function of
    `better_score - worse_score`. Undecidable verdicts are left out.

    Args:
        verdicts: Of a run on `SUITE:profile` or `SUITE:number_profile`.

    Returns:
        One row per case and position, both in order: `n_items`, `confidence` (mean, 0 to 1), `word`, the
        word that the first item has there, and `varies`, whether others have another one.

    Raises:
        SuiteError: The run is of no profile, or the model could decide nothing.
    """
    require_features(verdicts, (POSITION, WORD), _FIX)
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    if decided.empty:
        raise SuiteError(
            "nothing in these runs can be decided: the model knows neither answer.\n"
            "  Language models answer SUITE:profile, classifiers SUITE:number_profile."
        )
    confidence = expit((decided["better_score"] - decided["worse_score"]).astype("float64"))
    groups = decided.assign(confidence=confidence).groupby(["case", POSITION], sort=False)
    rows = groups.agg(
        n_items=("confidence", "size"),
        confidence=("confidence", "mean"),
        word=(WORD, "first"),
        varies=(WORD, "nunique"),
    ).reset_index()
    rows[VARIES] = rows[VARIES] > 1
    order = {case: place for place, case in enumerate(verdicts["case"].unique())}
    rows = rows.assign(order=rows["case"].map(order)).sort_values(["order", POSITION])
    return rows.drop(columns="order").astype({POSITION: "int64"}).reset_index(drop=True)
