"""Counts of verdicts in each row of a table, and accuracies computed from the counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


# An additional count if there are any: pairs of which a model knows one form only
# (`tseval.questions.unknown`).
N_HALF_KNOWN = "n_half_known"


# Additional counts if a model answered prompts (`tseval.questions.forced_choice`): answers 1, answers 1 or 2,
# and the share of 1 in these.
N_ONES, N_ANSWERS, SHARE_OF_1 = "n_ones", "n_answers", "share_of_1"
ANSWERS = [BETTER_FIRST, WORSE_FIRST]


# The columns of an estimate, named as in `Estimate`; only `value` is called `accuracy`.
ESTIMATED = ("accuracy", "low", "high", "se", "df", "n_eff", "clusters", "fixed")


def estimate_columns(found: Iterable[Estimate | None], index: pd.Index[int] | None = None) -> pd.DataFrame:
    """Tabulate estimates in the columns of `ESTIMATED`."""
    return in_columns(found, ("value", *ESTIMATED[1:]), index).rename(columns={"value": "accuracy"})


def count(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Count verdicts per construction, and per value of one or more features, in table order.

    Returns:
        The columns of `COUNTS`, and those of `ESTIMATED` for the accuracy on decidable items, clustered by
        lexicon entry. If no item is decidable, the estimates are missing and the last two empty. `df` is
        also missing if items are independent.
    """
    return tally(verdicts, by)[0]


@dataclass(frozen=True, slots=True)
class ItemsByRow:
    """The items of a table grouped by row: the same for all models on the same items.

    Attributes:
        keys: The columns that name each row, in table order.
        answers: The row and the entries of each item; nothing is correct or decidable yet.
        designs: For each row, the places of its items and their design.
    """

    keys: pd.DataFrame
    answers: Correctness
    designs: list[tuple[NDArray[np.int64], Design]]

    @classmethod
    def of(cls, verdicts: pd.DataFrame, by: Sequence[str]) -> ItemsByRow:
        """Group verdicts by construction, and by the values of features, in table order."""
        groups = verdicts.groupby([*ROW, *by], sort=False, dropna=False, observed=True)
        keys = groups.size().reset_index()[[*ROW, *by]]
        # pandas keeps lexicon entries in order of first appearance; as strings they are sorted like all
        # features.
        entries = [name for name in by if name.endswith(ENTRY)]
        keys = keys.astype(dict.fromkeys(entries, "str"))
        keys = in_table_order(keys.assign(group=range(len(keys))), by)
        place_of = np.argsort(keys.pop("group").to_numpy())
        zeros = np.zeros(len(verdicts), np.bool_)
        rows = place_of[groups.ngroup().to_numpy()]
        answers, designs = _grouped(Correctness(rows, Factors.of_verdicts(verdicts), zeros, zeros))
        return cls(keys, answers, designs)

    def count(self, counted: NDArray[np.generic]) -> NDArray[np.int64]:
        """Sum a number or a truth value of each item by row, (items,) to (rows,)."""
        return np.bincount(self.answers.rows, counted, len(self.keys)).astype(np.int64)


def tally(
    verdicts: pd.DataFrame, by: str | Sequence[str] = (), grouping: ItemsByRow | None = None
) -> tuple[pd.DataFrame, Correctness]:
    """Count verdicts as `count` does, and return also the correctness and the row of each item.

    If `grouping` is given, from the same items, verdicts need no columns of rows or entries.
    """
    if len(verdicts) and verdicts["correct"].isna().all():
        raise no_accuracy("the run")
    by = as_names(by)
    if grouping is None:
        refuse_unknown_features(by, map(str, verdicts.columns))
        grouping = ItemsByRow.of(verdicts, by)
    values_by_name: dict[str, NDArray[Any]] = {
        "n_items": np.ones(len(verdicts)),
        "n_correct": verdicts["correct"].fillna(value=False).to_numpy(bool),  # None of a rated sentence
        "n_tied": verdicts["tie"].fillna(value=False).to_numpy(bool),
        "n_undecidable": verdicts["undecidable"].to_numpy(bool),
    }
    if HALF_KNOWN in verdicts:
        values_by_name[N_HALF_KNOWN] = verdicts[HALF_KNOWN].fillna(value=False).to_numpy(bool)
    has_answers = set(ANSWERS) <= set(verdicts)
    if has_answers:
        pairs = verdicts[ANSWERS]
        values_by_name[N_ONES] = pairs.eq(1).sum(axis=1).to_numpy()
        values_by_name[N_ANSWERS] = pairs.notna().sum(axis=1).to_numpy()
    counts = grouping.keys.assign(**{name: grouping.count(values) for name, values in values_by_name.items()})
    answers = replace(
        grouping.answers,
        correct=verdicts["correct"].to_numpy(bool),
        decidable=~values_by_name["n_undecidable"],
    )
    estimates = (
        estimate(answers.correct[items], answers.decidable[items], design)
        for items, design in grouping.designs
    )
    columns = estimate_columns(estimates, counts.index).astype({"df": "Float64"})
    for name, empty in (("clusters", {}), ("fixed", ())):
        columns[name] = [empty if value is None else value for value in columns[name]]
    if has_answers:
        columns[SHARE_OF_1] = counts[N_ONES] / counts[N_ANSWERS].where(counts[N_ANSWERS] > 0)
    return counts.join(columns), answers


_last: tuple[Correctness, list[tuple[NDArray[np.int64], Design]]] | None = None


def _grouped(answers: Correctness) -> tuple[Correctness, list[tuple[NDArray[np.int64], Design]]]:
    """Group the items of each row; reuse the grouping of the last model if it has the same items."""
    global _last  # noqa: PLW0603 - models of one suite follow one another
    if _last is not None:
        answers = answers.sharing(_last[0])
        if answers.factors is _last[0].factors:
            return answers, _last[1]
    _last = answers, [*items_of_rows(answers.rows, answers.factors)]
    return _last


def no_accuracy(name: str) -> RunError:
    """Return the error for a run on rated sentences, which have no accuracy."""
    return RunError(
        f"{name} is a run on rated sentences, which has correlations with ratings but no accuracy.\n"
        "  To print the correlations: tseval table RUN, or tseval analyze ratings RUN"
    )


def count_groups(groups: DataFrameGroupBy[Any, Any]) -> pd.DataFrame:
    """Count the verdicts of each group, in order of first appearance, in the columns of `COUNTS`.

    If verdicts are marked as half known, the column `n_half_known` is added.
    """
    columns = {
        "n_items": ("correct", "size"),
        "n_correct": ("correct", "sum"),
        "n_tied": ("tie", "sum"),
        "n_undecidable": ("undecidable", "sum"),
    }
    if HALF_KNOWN in groups.obj.columns:
        columns[N_HALF_KNOWN] = (HALF_KNOWN, "sum")
    return groups.agg(**columns)


def decidable(counts: pd.DataFrame) -> pd.Series[int]:
    """Count the items that accuracy is computed from: those that are decidable."""
    return counts["n_items"] - counts["n_undecidable"]


def exact_accuracy(counts: pd.DataFrame) -> list[Fraction | None]:
    """Return each row's accuracy as a fraction of whole numbers; None if no item is decidable."""
    pairs = zip(counts["n_correct"], decidable(counts), strict=True)
    return [Fraction(int(k), int(n)) if n else None for k, n in pairs]
