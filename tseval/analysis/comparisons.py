"""Comparisons: model against model, means over seeds, and a model during training; by row and over rows.

Source: Bansal et al. 2020, tables 4 to 19. McNemar's exact test (1947) assumes that items are independent.
The other test takes into account which items share words. Both are corrected over the pairs of a table by
Holm's method (1979).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import inf, sqrt
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pandas as pd

from tseval.analysis.correctness import estimate_means, items_of_rows
from tseval.analysis.counts import COUNTS, ESTIMATED, count_groups, estimate_columns, tally
from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import (
    Difference,
    differences_of_seeds,
    holm,
    judge_differences,
    mean_of_seeds,
    over_seeds,
)
from tseval.analysis.estimates import Average, estimate, in_columns
from tseval.analysis.intervals import error_rate, upper_tail
from tseval.analysis.ranks import RankSets, ranks_of_seeds
from tseval.analysis.rows import heads_of, row_places, row_sets
from tseval.items import CONTEXT, ENTRY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


Name = TypeVar("Name", int, str)


@dataclass(frozen=True, slots=True)
class RowsAndMeans(Generic[Name]):
    """The rows of a table and the means over them, with the values of several models on each.

    Attributes:
        rows: `dependency`, `phenomenon`, `construction`, `contrast`, features.
        of_rows: For each model, architecture or checkpoint, a frame with a line for each row.
        means: `over` and `n_rows` of each set of rows; each row counts once.
        of_means: The same with a line for each set; it is missing if one of the set's rows is.
    """

    rows: pd.DataFrame
    of_rows: Mapping[Name, pd.DataFrame]
    means: pd.DataFrame
    of_means: Mapping[Name, pd.DataFrame]

    @property
    def parts(self) -> tuple[tuple[pd.DataFrame, Mapping[Name, pd.DataFrame]], ...]:
        """The two parts of a table: the rows, then the means, each with the values of the models."""
        return (self.rows, self.of_rows), (self.means, self.of_means)


@dataclass(frozen=True, slots=True)
class Emergence:
    """When accuracy rises above chance, among the steps at which it was measured.

    Attributes:
        p: For each step, the two-sided probability of an accuracy at least as far from chance if the model
            guessed. None if nothing is decidable.
        p_holm: The same, corrected for the number of steps.
        above: Whether accuracy is above chance by `p_holm`: one error rate holds for all steps together.
        first: The first step at which it is above.
        settled: The first step from which it is above at all later steps.
    """

    p: tuple[float | None, ...]
    p_holm: tuple[float | None, ...]
    above: tuple[bool, ...]
    first: int | None
    settled: int | None


def trajectory(verdicts: Mapping[int, pd.DataFrame], by: Sequence[str] = ()) -> RowsAndMeans[int]:
    """Follow the rows of a table during training: steps ascend, with the same items in the same order.

    A row has the columns of `COUNTS` and `ESTIMATED`, a mean only those of `ESTIMATED`.
    """
    rows, _ = row_places(next(iter(verdicts.values())), by)
    sets = list(row_sets(rows))
    of_rows, of_means = {}, {}
    for moment, frame in verdicts.items():
        counts, answers = tally(frame, by)
        estimates = estimate_means([answers], [places for _, places in sets])
        of_rows[moment] = counts[[*COUNTS, *ESTIMATED]]
        of_means[moment] = estimate_columns(
            interval if counts["accuracy"][places].notna().all() else None
            for (interval,), (_, places) in zip(estimates, sets, strict=True)
        )
    return RowsAndMeans(rows, of_rows, heads_of(sets), of_means)


def emergence(moments: Mapping[int, pd.Series], chance: float) -> Emergence:
    """Find when accuracy rises above chance.

    With many steps, one of them may be above by chance. So the tests are corrected by Holm's method over
    all steps.
    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics.
    """
    p = [_p_of(line, chance) for line in moments.values()]
    corrected = iter(holm([value for value in p if value is not None]))
    p_holm = [None if value is None else next(corrected) for value in p]
    are_above = [
        value is not None and value < error_rate() and line["accuracy"] > chance
        for value, line in zip(p_holm, moments.values(), strict=True)
    ]
    steps = list(moments)
    last_not_above = max((place for place, is_above in enumerate(are_above) if not is_above), default=-1)
    return Emergence(
        p=tuple(p),
        p_holm=tuple(p_holm),
        above=tuple(are_above),
        first=next((step for step, is_above in zip(steps, are_above, strict=True) if is_above), None),
        settled=steps[last_not_above + 1] if last_not_above + 1 < len(steps) else None,
    )


def _p_of(line: pd.Series, chance: float) -> float | None:
    """Test an accuracy against chance: p is below the error rate if the interval does not contain chance.

    The interval is Wilson's, so the standard error is that of chance itself.
    """
    if pd.isna(line["accuracy"]):
        return None
    distance = abs(line["accuracy"] - chance) / sqrt(chance * (1 - chance) / line["n_eff"])
    return min(1.0, 2 * upper_tail(distance, inf if pd.isna(line["df"]) else line["df"]))


# Which verdicts are correct, (items,) or (items, seeds), and which items are decidable, (items,).
Marks = tuple["NDArray[np.bool_]", "NDArray[np.bool_]"]


def share_entries(verdicts: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Give every run the lexical factors that any of the runs has.

    All runs have the same items, so a factor of one run holds for all. A run may lack a factor if it is
    old, or if `--cluster` named other factors. Contexts belong to a run, so they are not shared.
    """
    columns: dict[tuple[str, int], pd.Series] = {}
    for frame in verdicts.values():
        for name in frame.columns[frame.columns.str.endswith(ENTRY)]:
            if name != f"{CONTEXT}{ENTRY}":
                columns.setdefault((name, len(frame)), frame[name])
    return {
        model: frame.assign(
            **{
                name: column.array
                for (name, n_items), column in columns.items()
                if n_items == len(frame) and name not in frame.columns
            }
        )
        for model, frame in verdicts.items()
    }


def marks(verdicts: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which verdicts are correct, and which are decidable, (items,) each."""
    correct: NDArray[np.bool_] = verdicts["correct"].to_numpy(bool)
    undecidable: NDArray[np.bool_] = verdicts["undecidable"].to_numpy(bool)
    return correct, ~undecidable


def marks_of_seeds(seeds: Sequence[pd.DataFrame]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what each seed gets right, (items, seeds), and which items all of them can decide, (items,)."""
    marked = [marks(verdicts) for verdicts in seeds]
    correct = np.stack([seed_correct for seed_correct, _ in marked], axis=1)
    return correct, np.logical_and.reduce([decidable for _, decidable in marked])


def count_clustered(verdicts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Count the verdicts of each group, with intervals that take shared words into account.

    Returns:
        A row for each group in order of first appearance, in the columns of `COUNTS` and of `ESTIMATED`. The
        latter are missing if no item is decidable; `df` is missing if items are independent.
    """
    correct, decidable = marks(verdicts)
    groups = verdicts.groupby([*by], sort=False, dropna=False, observed=True)
    counts = count_groups(groups)
    designs = items_of_rows(np.asarray(groups.ngroup(), np.int64), Factors.of_verdicts(verdicts))
    estimates = (estimate(correct[items], decidable[items], design) for items, design in designs)
    return counts.join(estimate_columns(estimates, counts.index))


def paired_differences(
    marked: Mapping[str, Marks],
    pairs: Sequence[tuple[str, str]],
    design: Design,
) -> list[Difference | None]:
    """Compare pairs of models, or of means over seeds, on the items that both can decide.

    The first model of a pair must come before the second in `marked`. The result is None for a pair without
    such items.
    """
    # Most models can decide the same items, so pairs with the same items are computed together.
    pairs_by_items: dict[bytes, list[tuple[str, str]]] = {}
    for first, second in pairs:
        pairs_by_items.setdefault((marked[first][1] & marked[second][1]).tobytes(), []).append(
            (first, second)
        )
    results: dict[tuple[str, str], Difference] = {}
    for decidable_bytes, pairs_of_items in pairs_by_items.items():
        decidable = np.frombuffer(decidable_bytes, bool)
        if decidable.any():
            needed = {name for pair in pairs_of_items for name in pair}
            names = [name for name in marked if name in needed]
            correct = [marked[name][0][decidable].reshape(decidable.sum(), -1) for name in names]
            computed = differences_of_seeds(correct, design.among(decidable))
            results |= dict(zip(combinations(names, 2), computed, strict=True))
    return [results.get(pair) for pair in pairs]


def differences(
    models: Mapping[str, Marks],
    rows: tuple[Factors, NDArray[np.int64], Sequence[Sequence[int]]],
    pairs: Sequence[tuple[str, str]],
) -> dict[tuple[str, str], list[Difference | None]]:
    """Compare pairs of models, or of means over seeds, on rows and on means over rows.

    Args:
        rows: Lexical factors of the items; the row of each item, (items,); and the sets of rows to compare
            on, single rows first and in order. Each row of a set counts once.

    Returns:
        For each pair, one difference for each set; None if a row of the set has no item that both can decide.
    """
    factors, row_of, sets = rows
    results: dict[tuple[str, str], list[Difference | None]] = {pair: [] for pair in pairs}
    for places in sets:
        is_in_set = np.isin(row_of, places)
        marked = {
            name: (correct[is_in_set], decidable[is_in_set]) for name, (correct, decidable) in models.items()
        }
        design = Design.of(factors.take(is_in_set), row_of[is_in_set])
        for pair, difference in zip(pairs, paired_differences(marked, pairs, design), strict=True):
            lacks_a_row = len(places) > 1 and any(results[pair][row] is None for row in places)
            results[pair].append(None if lacks_a_row else difference)
    return results


# The smallest difference of accuracies that matters, unless a user names another one.
DEFAULT_MARGIN = 0.02
COMPARED = (
    "difference", "se", "low", "high", "df", "p", "p_holm", "p_beyond", "margin", "outcome",
    "clusters", "fixed",
)  # fmt: skip
_COUNTED = ("both", "only_first", "only_second", "neither")
PAIR_COLUMNS = ("first", "second", "n_items", *COMPARED, *_COUNTED, "p_mcnemar", "p_mcnemar_holm")


def pairwise(
    seeds: Mapping[str, Sequence[pd.DataFrame]], by: str | None = None, margin: float = DEFAULT_MARGIN
) -> pd.DataFrame:
    """Compare all pairs of models on the same items: over all items, then for each value of a feature.

    Each pair has the columns of `compared`, for the first model of the pair. It has also the number of items
    that both models, one alone or neither got right, and McNemar's exact test (two-sided), corrected over the
    pairs of the table. Means over seeds have neither these counts nor McNemar's test.

    Args:
        seeds: The verdicts of each model: of one run, or of all seeds to average over.
    """
    first = next(iter(seeds.values()))[0]
    tables = [(None, pd.Series(data=True, index=first.index))]
    if by is not None:
        tables += [
            (value, (first[by] == value).fillna(False)) for value in sorted(first[by].dropna().unique())
        ]
    results = [
        _table(
            {name: [frame[is_in_table.to_numpy(bool)] for frame in frames] for name, frames in seeds.items()},
            margin,
        )
        for _, is_in_table in tables
    ]
    frame = pd.concat(results, ignore_index=True)
    # The first table has no value. With None in a numeric column, pandas would make whole numbers floats.
    values = [value for (value, _), rows in zip(tables, results, strict=True) for _ in range(len(rows))]
    frame.insert(0, by or "all", pd.Series(values, dtype=object))
    return frame


def _table(seeds: Mapping[str, Sequence[pd.DataFrame]], margin: float) -> pd.DataFrame:
    single = all(len(frames) == 1 for frames in seeds.values())
    marked = {name: marks(frames[0]) if single else marks_of_seeds(frames) for name, frames in seeds.items()}
    pairs = list(combinations(marked, 2))
    factors = Factors.of_paired([frame for frames in seeds.values() for frame in frames])
    results = differences(marked, (factors, np.zeros(len(factors.codes), np.int64), [[0]]), pairs)
    frame = pd.DataFrame(pairs, columns=["first", "second"])
    columns = compared([first for (first,) in results.values()], margin)
    if not single:
        n_items = [int((marked[first][1] & marked[second][1]).sum()) for first, second in pairs]
        return frame.assign(n_items=n_items).join(columns)
    frame = frame.join(pd.DataFrame([_count(marked[first], marked[second]) for first, second in pairs]))
    frame = frame.join(columns)
    tested = [mcnemar(*counts) for counts in zip(frame["only_first"], frame["only_second"], strict=True)]
    return frame.assign(p_mcnemar=tested, p_mcnemar_holm=holm(tested))[[*PAIR_COLUMNS]]


def compared(found: Sequence[Difference | None], margin: float) -> pd.DataFrame:
    """Tabulate the difference of each pair in the columns of `COMPARED`, with one error rate for all pairs.

    `difference` is the accuracy of the first model minus that of the second. `p` tests for no difference and
    `p_holm` is its corrected value. `p_beyond` tests for a difference of the margin or more, corrected.
    `outcome` is a word about the first model. All are missing if a pair has no difference.
    """
    columns = in_columns(found, ("value", "se", "low", "high", "df", "p", "clusters", "fixed"))
    places = [place for place, pair in enumerate(found) if pair is not None]
    words = judge_differences([pair for pair in found if pair is not None], margin)
    names = ["p_holm", "p_beyond", "margin", "outcome"]
    corrected = pd.DataFrame(
        [(pair.p_holm, pair.p_beyond, margin, pair.word) for pair in words], places, names
    ).astype(dict.fromkeys(names[:3], "float64"))
    columns = columns.rename(columns={"value": "difference"}).join(corrected)
    return columns[[*COMPARED]]


def _count(first: Marks, second: Marks) -> dict[str, int]:
    """Count the items that both models, one alone or neither gets right, among those that both can decide."""
    decidable = first[1] & second[1]
    a, b = first[0][decidable], second[0][decidable]
    cells = dict(zip(_COUNTED, (a & b, a & ~b, ~a & b, ~a & ~b), strict=True))
    return {"n_items": len(a), **{name: int(cell.sum()) for name, cell in cells.items()}}


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided p of McNemar's exact test; 1 if the two models never differ.

    If two models are equally good, an item that only one gets right is equally likely to be right for either
    model. Items are assumed to be independent.
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0


@dataclass(frozen=True, slots=True)
class Against(RowsAndMeans[str]):
    """How models, or the means over seeds of architectures, differ from one reference.

    `rows` and `means` have the `accuracy` of the reference on the items that all its seeds can decide, and
    `spread`, the standard deviation between seeds. Both are missing if nothing is decidable. Each other
    model has `n_items`, the items decidable for all seeds of both, and the columns of `COMPARED`.
    """

    reference: str


def against(
    groups: Mapping[str, Sequence[pd.DataFrame]], reference: str, by: Sequence[str], margin: float
) -> Against:
    """Compare models, or architectures by their means over seeds, on the items that are decidable for both.

    Tests are corrected by Holm's method over all models and rows, and separately over all models and means.
    """
    first = groups[reference][0]
    keys, row_of = row_places(first, by)
    others = [name for name in groups if name != reference]
    # A difference is first minus second, so the others come before the reference.
    marked = {name: marks_of_seeds(groups[name]) for name in (*others, reference)}
    sets = list(row_sets(keys))
    row_numbers = [*([row] for row in range(len(keys))), *(rows for _, rows in sets)]
    pairs = [(name, reference) for name in others]
    factors = Factors.of_paired([first, *(frame for name in others for frame in groups[name])])
    of_pairs = differences(marked, (factors, row_of, row_numbers), pairs)
    by_group = {name: of_pairs[name, reference] for name in others}
    levels = _accuracies(*marked[reference], row_of)
    of_sets = np.array([[values[rows].mean() for values in levels.T] for _, rows in sets])
    names = "accuracy", "spread"
    return Against(
        keys.assign(**dict(zip(names, over_seeds(levels), strict=True))),
        _frames_of({name: values[: len(keys)] for name, values in by_group.items()}, margin),
        heads_of(sets).assign(**dict(zip(names, over_seeds(of_sets), strict=True))),
        _frames_of({name: values[len(keys) :] for name, values in by_group.items()}, margin),
        reference,
    )


def _accuracies(
    correct: NDArray[np.bool_], decidable: NDArray[np.bool_], row_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the accuracy of each seed on each row, (rows, seeds), NaN if nothing is decidable."""
    n_rows = int(row_of.max()) + 1
    n_items = np.bincount(row_of[decidable], minlength=n_rows)[:, None]
    right = [np.bincount(row_of[decidable], column[decidable], n_rows) for column in correct.T]
    accuracies: NDArray[np.float64] = np.full((n_rows, len(right)), np.nan)
    return np.divide(np.stack(right, axis=1), n_items, out=accuracies, where=n_items > 0)


def _frames_of(found: Mapping[str, Sequence[Difference | None]], margin: float) -> dict[str, pd.DataFrame]:
    """Tabulate differences, a frame for each model; all of them are one family of tests."""
    flat = [difference for values in found.values() for difference in values]
    table = compared(flat, margin)
    table.insert(0, "n_items", [0 if difference is None else difference.n_items for difference in flat])
    size = len(flat) // len(found)
    return {
        name: table.iloc[place * size : (place + 1) * size].reset_index(drop=True)
        for place, name in enumerate(found)
    }


SEED_COLUMNS = (
    "n_seeds", "n_items", "accuracy", "spread", "low", "high", "se", "df", "clusters", "fixed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SeedTable(RowsAndMeans[str]):
    """A table with a column for each architecture: the mean over its seeds, as `SEED_COLUMNS`.

    `n_items` are decidable for all seeds of the architecture. `spread` is the standard deviation between
    seeds. The interval is for other seeds and other words; with one seed there is no spread, and the
    interval is for other words only. All values are missing if nothing is decidable. Ranks are by the mean
    of all rows, with undecidable items counted as wrong; None for a single architecture.
    """

    ranks: RankSets | None


def seed_means(groups: Mapping[str, Sequence[pd.DataFrame]], by: Sequence[str] = ()) -> SeedTable:
    """Average over seeds, which must have the same items in the same order."""
    first = next(iter(groups.values()))[0]
    rows, row_of = row_places(first, by)
    sets = list(row_sets(rows))
    of_rows, of_means, all_correct = {}, {}, []
    for name, seeds in groups.items():
        factors = Factors.of_paired(seeds)
        correct, decidable = marks_of_seeds(seeds)
        means: list[Average | None] = []
        for places in (*([row] for row in range(len(rows))), *(places for _, places in sets)):
            is_of_rows = np.isin(row_of, places) & decidable
            mean = None
            if len(np.unique(row_of[is_of_rows])) == len(places):
                design = Design.of(factors.take(is_of_rows), row_of[is_of_rows])
                has_seeds, all_decidable = len(seeds) > 1, np.ones(is_of_rows.sum(), bool)
                mean = (
                    mean_of_seeds(correct[is_of_rows], design)
                    if has_seeds
                    else estimate(correct[is_of_rows, 0], all_decidable, design)
                )
            means.append(mean)
        frame = in_columns(means, ("value", *SEED_COLUMNS[3:])).rename(columns={"value": "accuracy"})
        frame.insert(0, "n_seeds", len(seeds))
        frame.insert(1, "n_items", [None if average is None else average.n_items for average in means])
        of_rows[name] = frame[: len(rows)]
        of_means[name] = frame[len(rows) :].reset_index(drop=True)
        all_correct.append(correct)
    all_factors = Factors.of_paired([frame for seeds in groups.values() for frame in seeds])
    ranks = ranks_of_seeds(all_correct, Design.of(all_factors, row_of)) if len(groups) > 1 else None
    return SeedTable(rows, of_rows, heads_of(sets), of_means, ranks)
