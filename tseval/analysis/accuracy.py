"""Accuracy per construction: counts first, ratios and intervals from them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.answers import Answers, estimate_rows
from tseval.analysis.inference.estimates import score_interval
from tseval.analysis.inference.factors import Factors
from tseval.analysis.inference.quantiles import Z
from tseval.errors import RunError, SuiteError, suggest
from tseval.items import ENTRY, RESERVED_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tseval.analysis.inference.estimates import Estimate
    from tseval.items import Suite

# What makes a row of the table. Cases that agree in all four are pooled by item.
ROW = ("dependency", "phenomenon", "construction", "contrast")
COUNTS = ("n_items", "n_correct", "n_tied", "n_undecidable")
# What tables tell of `Estimate`, besides the accuracy itself.
_ESTIMATED = {
    **dict.fromkeys(("se", "low", "high"), "float64"),
    "df": "Int64",
    "n_eff": "float64",
    **dict.fromkeys(("clusters", "fixed"), "object"),
}


def as_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Name every feature once; a text alone is one name, not a sequence of letters."""
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


def count(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Count verdicts per construction, and per value of a feature or several.

    Args:
        verdicts: One row per item and contrast, as `tseval.verdicts.judge` gives them.
        by: Feature or features to break the rows down by.

    Returns:
        One row per dependency, phenomenon, construction, contrast and feature value, in table order,
        with `n_items`, `n_correct`, `n_tied`, `n_undecidable`; `accuracy`, the correct share of the
        decidable items; and of its estimate, clustered by lexicon entry, `se`, `low`, `high`, `df`, `n_eff`,
        `clusters` and `fixed`. Where no item is decidable these are missing, and the last two empty; `df` is
        also missing where items are independent.

    Raises:
        SuiteError: The suite has no such feature.
    """
    return tally(verdicts, by)[0]


def tally(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> tuple[pd.DataFrame, Answers]:
    """Count verdicts as `count` does, and keep from which items each row is made.

    Raises:
        SuiteError: The suite has no such feature.
        RunError: The verdicts are of rated sentences: nothing is right or wrong.
    """
    if len(verdicts) and verdicts["correct"].isna().all():
        raise no_accuracy("the run")
    by = as_names(by)
    refuse_unknown_features(by, map(str, verdicts.columns))
    counts = count_groups(verdicts, [*ROW, *by]).reset_index()
    # Lexicon entries come in the order of first appearance; the table sorts them as it does all features.
    entries = [name for name in by if name.endswith(ENTRY)]
    counts = counts.astype(dict.fromkeys(entries, "str") | dict.fromkeys(COUNTS, "int64"))
    counts = in_table_order(counts.assign(group=range(len(counts))), by)
    place_of = np.argsort(counts.pop("group").to_numpy())
    groups = verdicts.groupby([*ROW, *by], sort=False, dropna=False, observed=True)
    answers = Answers(
        rows=place_of[groups.ngroup().to_numpy()],
        factors=Factors.of_verdicts(verdicts),
        correct=verdicts["correct"].to_numpy(bool),
        decidable=~verdicts["undecidable"].to_numpy(bool),
    )
    return _with_estimates(with_accuracy(counts), estimate_rows(answers)), answers


def no_accuracy(name: str) -> RunError:
    """Make the error that says that rated sentences have no accuracy."""
    return RunError(
        f"{name} is over rated sentences: its model has correlations with ratings, and no accuracy.\n"
        "  Print these with tseval table RUN, or tseval analyze ratings RUN."
    )


def _with_estimates(counts: pd.DataFrame, estimates: Sequence[Estimate | None]) -> pd.DataFrame:
    nothing: dict[str, object] = {"clusters": {}, "fixed": ()}
    values = {
        name: [nothing.get(name) if one is None else getattr(one, name) for one in estimates]
        for name in _ESTIMATED
    }
    return counts.assign(**{name: pd.Series(values[name], dtype=_ESTIMATED[name]) for name in values})


def count_groups(verdicts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Count the verdicts of each group, in order of first appearance, in the columns of `COUNTS`."""
    return verdicts.groupby([*by], sort=False, dropna=False, observed=True).agg(
        n_items=("correct", "size"),
        n_correct=("correct", "sum"),
        n_tied=("tie", "sum"),
        n_undecidable=("undecidable", "sum"),
    )


def with_accuracy(counts: pd.DataFrame) -> pd.DataFrame:
    """Add `accuracy`, `low` and `high` to counts; items are regarded as independent."""
    accuracies = exact_accuracy(counts)
    intervals = [wilson(int(k), int(n)) for k, n in zip(counts["n_correct"], decidable(counts), strict=True)]
    return counts.assign(
        accuracy=pd.Series([None if a is None else float(a) for a in accuracies], dtype="float64"),
        low=pd.Series([None if ends is None else ends[0] for ends in intervals], dtype="float64"),
        high=pd.Series([None if ends is None else ends[1] for ends in intervals], dtype="float64"),
    )


def check_features(suite: Suite, by: str | Sequence[str]) -> None:
    """Refuse features that a suite does not have, before anything is scored.

    Raises:
        SuiteError: Names the feature, and the nearest one the suite has.
    """
    refuse_unknown_features(as_names(by), {name for case in suite.cases for name in case.feature_names})


def refuse_unknown_features(by: Sequence[str], columns: Iterable[str]) -> None:
    """Refuse features that are not among the columns of verdicts.

    Raises:
        SuiteError: Names the feature, and the nearest one there is.
    """
    features = [name for name in columns if name not in RESERVED_NAMES]
    for feature in by:
        if feature not in features:
            raise SuiteError(
                f"the suite has no feature {feature!r} to break the table down by.\n"
                f"  {suggest(feature, features, 'Features')}"
            )


def in_table_order(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Put rows in the order of the table.

    Short dependencies come before long ones, and these before other headings; the rows of a heading, of a
    phenomenon and of a construction stand together, all in order of first appearance; feature values ascend.
    """
    known = rows["dependency"].map({"short": -2, "long": -1})
    other = pd.Series(pd.factorize(rows["dependency"], use_na_sentinel=False)[0], rows.index)
    order = pd.DataFrame({"dependency": known.fillna(other)})
    for depth in range(2, len(ROW) + 1):
        groups = rows.groupby(list(ROW[:depth]), sort=False, dropna=False)
        order[ROW[depth - 1]] = groups.ngroup()
    order = pd.concat([order, rows[list(by)]], axis=1)
    return rows.loc[order.sort_values([*ROW, *by], kind="stable").index].reset_index(drop=True)


def decidable(counts: pd.DataFrame) -> pd.Series[int]:
    """Count the items on which accuracy rests."""
    return counts["n_items"] - counts["n_undecidable"]


def exact_accuracy(counts: pd.DataFrame) -> list[Fraction | None]:
    """Give each row's accuracy as a fraction of whole numbers, None where no item is decidable."""
    pairs = zip(counts["n_correct"], decidable(counts), strict=True)
    return [Fraction(int(k), int(n)) if n else None for k, n in pairs]


def wilson(n_correct: int, n_items: int) -> tuple[float, float] | None:
    """Give the ends of the Wilson 95% interval, or None without items.

    The interval treats items as independent draws. Items made from one template are not, so it is
    a lower bound on the uncertainty.
    """
    if n_items == 0:
        return None
    return score_interval(n_correct / n_items, n_items, Z)
