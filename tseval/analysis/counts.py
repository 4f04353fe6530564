"""Counts of verdicts in each row of a table, and the accuracies that follow from them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tseval.analysis.correctness import Correctness, items_of_rows
from tseval.analysis.design import Design, Factors
from tseval.analysis.estimates import Estimate, estimate, in_columns
from tseval.analysis.features import refuse_unknown_features
from tseval.analysis.rows import ROW, as_names, in_table_order
from tseval.errors import RunError
from tseval.items import ENTRY, HALF_KNOWN
from tseval.questions.forced_choice import BETTER_FIRST, WORSE_FIRST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray
    from pandas.core.groupby import DataFrameGroupBy


COUNTS = ("n_items", "n_correct", "n_tied", "n_undecidable")


# Beside them where anything is: of which pairs a model knows one form only (`tseval.questions.unknown`).
N_HALF_KNOWN = "n_half_known"


# Beside them where a model was asked (`tseval.questions.forced_choice`): how many answers were 1, how many
# were 1 or 2, and the share of the first in the second.
N_ONES, N_ANSWERS, SHARE_OF_1 = "n_ones", "n_answers", "share_of_1"
ANSWERS = [BETTER_FIRST, WORSE_FIRST]


# What tables tell of an estimate, as `Estimate` has it; `value` is called `accuracy`.
ESTIMATED = ("accuracy", "low", "high", "se", "df", "n_eff", "clusters", "fixed")


def estimate_columns(found: Iterable[Estimate | None], index: pd.Index[int] | None = None) -> pd.DataFrame:
    """Tabulate estimates in the columns of `ESTIMATED`."""
    return in_columns(found, ("value", *ESTIMATED[1:]), index).rename(columns={"value": "accuracy"})


def count(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Count verdicts per construction, and per value of a feature or several, in table order.

    Beside the columns of `COUNTS` stand those of `ESTIMATED`, of the correct share of the decidable items,
    clustered by lexicon entry. Where no item is decidable these are missing, and the last two empty; `df` is
    also missing where items are independent.
    """
    return tally(verdicts, by)[0]


def tally(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> tuple[pd.DataFrame, Correctness]:
    """Count verdicts as `count` does, and keep from which items each row is made."""
    if len(verdicts) and verdicts["correct"].isna().all():
        raise no_accuracy("the run")
    by = as_names(by)
    refuse_unknown_features(by, map(str, verdicts.columns))
    asked = set(ANSWERS) <= set(verdicts)
    if asked:
        both = verdicts[ANSWERS]
        verdicts = verdicts.assign(**{N_ONES: both.eq(1).sum(axis=1), N_ANSWERS: both.notna().sum(axis=1)})
    groups = verdicts.groupby([*ROW, *by], sort=False, dropna=False, observed=True)
    counts = count_groups(groups).reset_index()
    # Lexicon entries come in the order of first appearance; the table sorts them as it does all features.
    entries = [name for name in by if name.endswith(ENTRY)]
    numbers = [name for name in (*COUNTS, N_HALF_KNOWN, N_ONES, N_ANSWERS) if name in counts]
    counts = counts.astype(dict.fromkeys(entries, "str") | dict.fromkeys(numbers, "int64"))
    counts = in_table_order(counts.assign(group=range(len(counts))), by)
    place_of = np.argsort(counts.pop("group").to_numpy())
    answers = Correctness(
        rows=place_of[groups.ngroup().to_numpy()],
        factors=Factors.of_verdicts(verdicts),
        correct=verdicts["correct"].to_numpy(bool),
        decidable=~verdicts["undecidable"].to_numpy(bool),
    )
    answers, designs = _grouped(answers)
    estimates = (
        estimate(answers.correct[items], answers.decidable[items], design) for items, design in designs
    )
    found = estimate_columns(estimates, counts.index).astype({"df": "Float64"})
    for name, nothing in (("clusters", {}), ("fixed", ())):
        found[name] = [nothing if one is None else one for one in found[name]]
    if asked:
        found[SHARE_OF_1] = counts[N_ONES] / counts[N_ANSWERS].where(counts[N_ANSWERS] > 0)
    return counts.join(found), answers


_last: tuple[Correctness, list[tuple[NDArray[np.int64], Design]]] | None = None


def _grouped(answers: Correctness) -> tuple[Correctness, list[tuple[NDArray[np.int64], Design]]]:
    """Group the items of each row; those of the model before are the same where the suite is."""
    global _last  # noqa: PLW0603 - models of one suite follow one another
    if _last is not None:
        answers = answers.sharing(_last[0])
        if answers.factors is _last[0].factors:
            return answers, _last[1]
    _last = answers, [*items_of_rows(answers.rows, answers.factors)]
    return _last


def no_accuracy(name: str) -> RunError:
    """Make the error that says that rated sentences have no accuracy."""
    return RunError(
        f"{name} is a run on rated sentences, which has correlations with ratings but no accuracy.\n"
        "  To print the correlations: tseval table RUN, or tseval analyze ratings RUN"
    )


def count_groups(groups: DataFrameGroupBy[Any, Any]) -> pd.DataFrame:
    """Count the verdicts of each group, in order of first appearance, in the columns of `COUNTS`.

    Where anything is half known, `n_half_known` stands beside them.
    """
    columns = {
        "n_items": ("correct", "size"),
        "n_correct": ("correct", "sum"),
        "n_tied": ("tie", "sum"),
        "n_undecidable": ("undecidable", "sum"),
    }
    if HALF_KNOWN in groups.obj.columns:
        columns[N_HALF_KNOWN] = (HALF_KNOWN, "sum")
    for name in (N_ONES, N_ANSWERS):
        if name in groups.obj.columns:
            columns[name] = (name, "sum")
    return groups.agg(**columns)


def decidable(counts: pd.DataFrame) -> pd.Series[int]:
    """Count the items on which accuracy rests."""
    return counts["n_items"] - counts["n_undecidable"]


def exact_accuracy(counts: pd.DataFrame) -> list[Fraction | None]:
    """Return each row's accuracy as a fraction of whole numbers, None where no item is decidable."""
    pairs = zip(counts["n_correct"], decidable(counts), strict=True)
    return [Fraction(int(k), int(n)) if n else None for k, n in pairs]
