"""How far a model's scores go with human judgements, and how far they could."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.accuracy import ROW, as_names, in_table_order, refuse_unknown_features
from tseval.analysis.inference.correlations import FEWEST_PAIRED, pearson, spearman
from tseval.analysis.inference.design import Design
from tseval.analysis.inference.factors import Factors
from tseval.items import RATING, RATING_SE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CORRELATIONS = {"spearman": spearman, "pearson": pearson}
# What is told of a row, besides what it is a row of.
OF_RATINGS = (
    "n_items",
    "n_undecidable",
    *(f"{name}{part}" for name in CORRELATIONS for part in ("", "_low", "_high", "_se")),
    "df",
    "ceiling",
    "clusters",
    "fixed",
)
ALL_SENTENCES = "All sentences"


def correlate(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Correlate scores with ratings, row by row of the table.

    Args:
        verdicts: Of rated sentences, as `tseval.verdicts.judge` gives them.
        by: Feature or features to break the rows down by.

    Returns:
        One row per dependency, phenomenon, construction, contrast and feature value, in table order, and,
        where there are several, one over all sentences, whose construction is `ALL_SENTENCES`. Each has
        `n_items`; `n_undecidable`, the sentences too long for the model, which are left out; `spearman` and
        `pearson`, each with `_low`, `_high` and `_se` (missing where there are fewer than three sentences, or
        ratings or scores do not vary); `df`, missing where sentences are independent; `ceiling`, as
        `noise_ceiling` gives it; `clusters` and `fixed`.

    Raises:
        SuiteError: The suite has no such feature.
    """
    by = as_names(by)
    refuse_unknown_features(by, map(str, verdicts.columns))
    keys = [*ROW, *by]
    factors = Factors.of_verdicts(verdicts)
    groups = verdicts.groupby(keys, sort=False, dropna=False, observed=True)
    of_group = groups.ngroup().to_numpy()
    found = []
    for place in range(groups.ngroups):
        own = verdicts[of_group == place]
        found.append({**own.iloc[0][keys], **_row(own, factors.take(of_group == place))})
    rows = in_table_order(pd.DataFrame(found, columns=[*keys, *OF_RATINGS]), by)
    if len(rows) > 1:
        whole = dict.fromkeys(keys) | {"construction": ALL_SENTENCES} | _row(verdicts, factors)
        rows = pd.DataFrame([*rows.to_dict("records"), whole], columns=[*keys, *OF_RATINGS], dtype=object)
    numbers = [name for name in OF_RATINGS[2:] if name not in ("clusters", "fixed")]
    return rows.astype(dict.fromkeys(numbers, "float64") | dict.fromkeys(OF_RATINGS[:2], "int64"))


def points(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Give the `score`, `rating` and `error` of every sentence that was scored; an error may not be known.

    Args:
        verdicts: As for `correlate`.
    """
    scored = verdicts[~verdicts["undecidable"].to_numpy(bool)]
    columns = {"score": "better_score", "rating": RATING, "error": RATING_SE}
    return pd.DataFrame(
        {
            name: scored[own].to_numpy(np.float64, na_value=np.nan) if own in scored else np.nan
            for name, own in columns.items()
        },
        scored.index,
    )


def _row(verdicts: pd.DataFrame, factors: Factors) -> dict[str, object]:
    found = points(verdicts)
    scores, ratings, errors = (found[name].to_numpy() for name in ("score", "rating", "error"))
    design = Design.of(factors.take(~verdicts["undecidable"].to_numpy(bool)))
    told: dict[str, object] = {"n_items": len(verdicts), "n_undecidable": len(verdicts) - len(found)}
    for name, correlation in CORRELATIONS.items():
        one = correlation(scores, ratings, design) if len(scores) >= FEWEST_PAIRED else None
        parts = (None,) * 4 if one is None else (one.value, one.low, one.high, one.se)
        told |= dict(zip((name, f"{name}_low", f"{name}_high", f"{name}_se"), parts, strict=True))
    return told | {
        "df": design.df,
        "ceiling": noise_ceiling(ratings, errors),
        "clusters": design.clusters,
        "fixed": design.fixed,
    }


def noise_ceiling(ratings: NDArray[np.float64], errors: NDArray[np.float64]) -> float | None:
    """Give the correlation with these ratings of a model that knows what people say on average.

    It is the square root of the reliability of the mean ratings, 1 - mean(s.e.²) / variance. For as many
    ratings of each sentence that is the intraclass correlation of their mean, which halves of the ratings,
    stepped up by the formula of Spearman and Brown, have on average.

    Args:
        ratings: Mean rating of each sentence, (items,).
        errors: Its standard error; not a number where it is not known, and such a sentence is left out.

    Returns:
        From 0 to 1; None where fewer than three sentences have a standard error, or all one rating.

    Source: Shrout & Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability",
    Psychological Bulletin 86(2); for the root, Spearman 1904, "The proof and measurement of association
    between two things", American Journal of Psychology 15(1).
    """
    known = np.isfinite(errors)
    if known.sum() < FEWEST_PAIRED or not (spread := float(ratings[known].var(ddof=1))):
        return None
    reliability = 1 - float((errors[known] ** 2).mean()) / spread
    return round(sqrt(max(0.0, reliability)), 12)
