"""Intervals of mean confidences, for the figure of profiles."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit, stdtrit

from tseval.suites.items import POSITION

LEVEL = 0.95


def with_intervals(rows: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Add the ends of an interval to the mean confidences of a profile.

    Student's 95% interval of the mean over items, cut to 0 and 1. It treats items as independent draws, as
    Wilson's does.

    Args:
        rows: Of `tseval.analysis.profiles.profile`.
        verdicts: What they were made from.

    Returns:
        The rows with `low` and `high`, missing where there is one item only.
    """
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    differences = (decided["better_score"] - decided["worse_score"]).astype("float64")
    confidence = pd.Series(expit(differences), decided.index)
    deviations = confidence.groupby([decided["case"], decided[POSITION].astype("int64")]).std()
    own = rows.set_index(["case", POSITION]).index
    n_items = rows["n_items"].to_numpy()
    freedom = np.where(n_items > 1, n_items - 1, np.nan)
    half = stdtrit(freedom, (1 + LEVEL) / 2) * deviations.reindex(own).to_numpy() / np.sqrt(n_items)
    return rows.assign(
        low=(rows["confidence"] - half).clip(lower=0), high=(rows["confidence"] + half).clip(upper=1)
    )
