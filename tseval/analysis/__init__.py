"""Accuracy: counts, estimates, means over rows, ranks; which items are asked about. DataFrame in and out.

The digits printed under a table are cut, so a mean must not be off by a rounding error: accuracies and means
are fractions of whole numbers throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tseval.analysis.design import Design, Estimate, Factors, estimate, in_columns, split_by_row
from tseval.analysis.ranks import RankSets, mean_rank_intervals, rank_sets
from tseval.errors import RunError, SuiteError, suggest
from tseval.items import ENTRY, HALF_KNOWN, NOT_FEATURES, Suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from pandas.core.groupby import DataFrameGroupBy


@dataclass(frozen=True, slots=True)
class Correctness:
    """What one model got right, item by item; what is undecidable is not correct.

    `rows` is the row of the table that each item stands in, counted from 0, (items,), as the others are.
    """

    rows: NDArray[np.int64]
    factors: Factors
    correct: NDArray[np.bool_]
    decidable: NDArray[np.bool_]

    def sharing(self, other: Correctness) -> Correctness:
        """Take rows and entries of another model where they are the same: they are kept and grouped once."""
        same = self.factors.names == other.factors.names and all(
            np.array_equal(own, others)
            for own, others in ((self.rows, other.rows), (self.factors.codes, other.factors.codes))
        )
        return replace(self, rows=other.rows, factors=other.factors) if same else self


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranks that models may have, in each row and by the mean over rows; undecidable items are wrong.

    `low` and `high` are the ends of the intervals of their mean arithmetic ranks, (models,).
    """

    of_rows: tuple[RankSets, ...]
    overall: RankSets
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def estimate_means(
    models: Sequence[Correctness], sets: Sequence[Sequence[int]]
) -> list[tuple[Estimate | None, ...]]:
    """Estimate the mean accuracy of every model over sets of rows, given by their places; a row counts once.

    Models that share rows and entries are grouped once (`Correctness.sharing`). A row in which nothing is
    decidable is left out.
    """
    return [tuple(_means_over(models, rows)) for rows in sets]


def _means_over(models: Sequence[Correctness], rows: Sequence[int]) -> Iterator[Estimate | None]:
    designs: dict[int, Design] = {}
    for one in models:
        items = np.isin(one.rows, rows)
        if id(one.factors) not in designs:
            designs[id(one.factors)] = Design.of(one.factors.take(items), one.rows[items])
        yield estimate(one.correct[items], one.decidable[items], designs[id(one.factors)])


def rank_models(models: Sequence[Correctness]) -> Ranking:
    """Find the ranks that models may have in every row and over all, and intervals of their mean ranks.

    All were asked the same items, in the same order, clustered by every factor that one of them knows.
    """
    rows, factors = models[0].rows, factors_of_any(models)
    correct = np.stack([one.correct & one.decidable for one in models], axis=1)
    whole = Design.of(factors, rows)
    low, high = mean_rank_intervals(correct, whole)
    of_rows = tuple(rank_sets(correct[items], design) for items, design in items_of_rows(rows, factors))
    return Ranking(of_rows, rank_sets(correct, whole), low, high)


def factors_of_any(models: Sequence[Correctness]) -> Factors:
    """Join the factors of all models; those of one name are the same."""
    codes = {
        name: column
        for one in reversed(models)
        for name, column in zip(one.factors.names, one.factors.codes.T, strict=True)
    }
    known = {one.factors.names for one in models}
    if len(known) == 1:
        return models[0].factors
    return Factors(tuple(codes), np.stack(list(codes.values()), axis=1))


def items_of_rows(rows: NDArray[np.int64], factors: Factors) -> Iterator[tuple[NDArray[np.int64], Design]]:
    """Give the places of the items of each row, and their design."""
    return ((items, Design.of(factors.take(items))) for items in split_by_row(rows))


# What makes a row of the table. Cases that agree in all four are pooled by item.
ROW = ("dependency", "phenomenon", "construction", "contrast")
COUNTS = ("n_items", "n_correct", "n_tied", "n_undecidable")
# Beside them where anything is: of which pairs a model knows one form only (`tseval.questions.unknown`).
N_HALF_KNOWN = "n_half_known"
# What tables tell of an estimate, as `Estimate` has it; `value` is called `accuracy`.
ESTIMATED = ("accuracy", "low", "high", "se", "df", "n_eff", "clusters", "fixed")


def estimate_columns(found: Iterable[Estimate | None], index: pd.Index[int] | None = None) -> pd.DataFrame:
    """Tabulate estimates in the columns of `ESTIMATED`."""
    return in_columns(found, ("value", *ESTIMATED[1:]), index).rename(columns={"value": "accuracy"})


def as_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Name every feature once; a text alone is one name, not a sequence of letters."""
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


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
    groups = verdicts.groupby([*ROW, *by], sort=False, dropna=False, observed=True)
    counts = count_groups(groups).reset_index()
    # Lexicon entries come in the order of first appearance; the table sorts them as it does all features.
    entries = [name for name in by if name.endswith(ENTRY)]
    numbers = [name for name in (*COUNTS, N_HALF_KNOWN) if name in counts]
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
    return groups.agg(**columns)


def check_features(suite: Suite, by: str | Sequence[str]) -> None:
    """Refuse features that a suite does not have, before anything is scored."""
    refuse_unknown_features(as_names(by), {name for case in suite.cases for name in case.feature_names})


def refuse_unknown_features(by: Sequence[str], columns: Iterable[str]) -> None:
    """Refuse features that are not among the columns of verdicts."""
    features = [name for name in columns if name not in NOT_FEATURES]
    for feature in by:
        if feature not in features:
            raise SuiteError(
                f"--by {feature}: the items of the suite have no feature with this name.\n"
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


def rank_rows(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Rank the models, which are columns, in each row: standard competition ranking, 1 is best.

    Equal accuracies share the smallest rank, and the rank after them is skipped (1, 2, 2, 4). A model without
    a value is None and so is not counted among those that are better.
    """
    ranks = [_rank(list(row)) for row in accuracy.itertuples(index=False, name=None)]
    return pd.DataFrame(ranks, index=accuracy.index, columns=accuracy.columns, dtype=object)


def _rank(values: list[Fraction | None]) -> list[Fraction | None]:
    present = [value for value in values if value is not None]
    return [None if v is None else Fraction(1 + sum(other > v for other in present)) for v in values]


def mean(values: pd.DataFrame) -> list[Fraction | None]:
    """Average each column exactly and unweighted, None where a value is missing or there are no rows."""
    known = [[value for value in values[name] if value is not None] for name in values.columns]
    return [sum(own, Fraction(0)) / len(own) if own and len(own) == len(values) else None for own in known]


def cut(value: Fraction, decimals: int) -> Fraction:
    """Cut a number to some decimals without rounding, as the published values are: 0.979 to 0.97."""
    scale = 10**decimals
    return Fraction(value.numerator * scale // value.denominator, scale)


SECTIONS = {"short": "Short-range dependency", "long": "Long-range dependency"}


@dataclass(frozen=True, slots=True)
class Mean:
    """The unweighted mean accuracy and rank of every model over a set of rows, given by their places.

    None for a model that lacks one of them; `estimates` say how sure mean accuracies are.
    """

    over: str
    rows: tuple[int, ...]
    accuracy: tuple[Fraction | None, ...]
    rank: tuple[Fraction | None, ...]
    estimates: tuple[Estimate | None, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows averaged."""
        return len(self.rows)


def means(rows: pd.DataFrame, accuracy: pd.DataFrame, ranked: pd.DataFrame | None = None) -> tuple[Mean, ...]:
    """Average accuracies and ranks over sets of rows, each row counting once whatever its size.

    A model, a column, that lacks a row has no mean over a set that holds it, and takes it from no other
    model: these are averaged over all rows of the set. A division with a single set (one phenomenon, say) is
    left out, as its mean is the mean over all rows; the last mean is over all rows. Ranked is by accuracy,
    unless said otherwise.
    """
    ranks = rank_rows(accuracy if ranked is None else ranked)
    return tuple(
        Mean(over, tuple(places), tuple(mean(accuracy.loc[places])), tuple(mean(ranks.loc[places])))
        for over, places in row_sets(rows)
    )


def row_sets(rows: pd.DataFrame) -> Iterator[tuple[str, list[int]]]:
    """Give the sets of rows that a table has means over, each with its name and the places of its rows."""
    for name, title in (("dependency", SECTIONS), ("phenomenon", {})):
        values = list(rows[name].dropna().unique())
        if len(values) > 1:
            for value in values:
                yield title.get(value, str(value)), [*rows.index[rows[name] == value]]
    yield "All rows", [*rows.index]


def heads_of(sets: Iterable[tuple[str, Sequence[int]]]) -> pd.DataFrame:
    """Tabulate sets of rows: what each is over, and how many rows it has."""
    return pd.DataFrame([(over, len(places)) for over, places in sets], columns=["over", "n_rows"])


def row_places(verdicts: pd.DataFrame, by: Sequence[str]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Give the rows of a table in its order, and the row of each verdict."""
    names = [*ROW, *by]
    cells = verdicts[names].astype({name: "str" for name in by if name.endswith(ENTRY)})
    appeared = cells.groupby(names, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    keys = cells.assign(place=appeared).drop_duplicates("place").reset_index(drop=True)
    keys = in_table_order(keys, by)
    cells = keys[names].astype(object)
    return cells.where(cells.notna(), None), np.argsort(keys["place"].to_numpy())[appeared]


_SHOWN = 12


def select(verdicts: pd.DataFrame, where: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Keep the verdicts that have the given values of features, or of `case`, as they are printed.

    All must hold, and of one feature that is named several times one of its values.
    """
    kept = verdicts
    for name in dict.fromkeys(name for name, _ in where):
        if name != "case":
            require_features(verdicts, (name,))
        values = verdicts[name].astype("string")
        wanted = [value for other, value in where if other == name]
        for value in wanted:
            if not (values == value).any():
                present = [str(one) for one in sorted(verdicts[name].dropna().unique())]
                more = f" and {len(present) - _SHOWN} more" if len(present) > _SHOWN else ""
                choices = f"{', '.join(present[:_SHOWN]) or 'none'}{more}"
                raise SuiteError(
                    f"no item has {name}={value}.\n  Choose a value of {name} that items have: {choices}."
                )
        kept = kept[values.loc[kept.index].isin(wanted)]
    if kept.empty:
        conditions = " and ".join(f"{name}={value}" for name, value in where)
        raise SuiteError(
            f"no item meets all of these conditions: {conditions}.\n  Leave out one of the conditions."
        )
    return kept


def entry_columns(verdicts: pd.DataFrame) -> list[str]:
    """Name the columns of lexical factors, `verb.entry` and the like."""
    return [str(name) for name in verdicts.columns if str(name).endswith(ENTRY)]


def require_features(verdicts: pd.DataFrame, names: Sequence[str], fix: str = "") -> None:
    """Refuse an analysis of features that the suite does not have."""
    features = [str(name) for name in verdicts.columns if name not in NOT_FEATURES]
    for name in names:
        if name not in features or verdicts[name].isna().all():
            hint = fix or suggest(name, features, "Features")
            raise SuiteError(f"the items of these runs have no feature with the name {name!r}.\n  {hint}")
