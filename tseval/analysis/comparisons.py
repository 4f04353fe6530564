"""Models against each other, means over seeds, a model along its training: by row, and over rows.

Source: Bansal et al. 2020, tables 4 to 19. McNemar's test (1947), in its exact form, regards items as
independent; the test beside it knows which of them share words. Over the pairs of a table both are corrected
by Holm (1979).
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
    """The rows of a table, the sets of them that means are over, and what is known of several on each.

    Attributes:
        rows: `dependency`, `phenomenon`, `construction`, `contrast`, features.
        of_rows: For each model, architecture or moment a frame with a line for each row.
        means: `over` and `n_rows`; each row counts once.
        of_means: Likewise a line for each set; it is missing where one of its rows is.
    """

    rows: pd.DataFrame
    of_rows: Mapping[Name, pd.DataFrame]
    means: pd.DataFrame
    of_means: Mapping[Name, pd.DataFrame]

    @property
    def parts(self) -> tuple[tuple[pd.DataFrame, Mapping[Name, pd.DataFrame]], ...]:
        """The two parts of a table: the rows, then the means, each with what is known on them."""
        return (self.rows, self.of_rows), (self.means, self.of_means)


@dataclass(frozen=True, slots=True)
class Emergence:
    """When accuracy rises above chance, among the moments at which it was measured.

    At each, `p` is the probability of an accuracy at least as far from chance on either side if it were
    chance, None where nothing is decidable; `p_holm` corrects it for the number of moments, and by it
    accuracy is surely above, at one error rate for all together. `first` is the first moment at which it
    is; `settled` the first from which on it is at every later one too.
    """

    p: tuple[float | None, ...]
    p_holm: tuple[float | None, ...]
    above: tuple[bool, ...]
    first: int | None
    settled: int | None


def trajectory(verdicts: Mapping[int, pd.DataFrame], by: Sequence[str] = ()) -> RowsAndMeans[int]:
    """Follow the rows of a table along a training: moments ascend, with the same items in the same order.

    Known of a row are its `COUNTS` and the columns of `ESTIMATED`, of a mean the latter alone.
    """
    rows, _ = row_places(next(iter(verdicts.values())), by)
    sets = list(row_sets(rows))
    of_rows, of_means = {}, {}
    for moment, frame in verdicts.items():
        counts, answers = tally(frame, by)
        estimates = estimate_means([answers], [places for _, places in sets])
        of_rows[moment] = counts[[*COUNTS, *ESTIMATED]]
        of_means[moment] = estimate_columns(
            one if counts["accuracy"][places].notna().all() else None
            for (one,), (_, places) in zip(estimates, sets, strict=True)
        )
    return RowsAndMeans(rows, of_rows, heads_of(sets), of_means)


def emergence(moments: Mapping[int, pd.Series], chance: float) -> Emergence:
    """Say when accuracy rises above chance.

    It is looked at as often as there are moments, and by chance one of many would lie above. So its tests are
    corrected by Holm's method over all moments.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics.
    """
    p = [_p_of(line, chance) for line in moments.values()]
    corrected = iter(holm([one for one in p if one is not None]))
    p_holm = [None if one is None else next(corrected) for one in p]
    above = [
        one is not None and one < error_rate() and line["accuracy"] > chance
        for one, line in zip(p_holm, moments.values(), strict=True)
    ]
    steps = list(moments)
    last_not = max((place for place, is_above in enumerate(above) if not is_above), default=-1)
    return Emergence(
        p=tuple(p),
        p_holm=tuple(p_holm),
        above=tuple(above),
        first=next((step for step, is_above in zip(steps, above, strict=True) if is_above), None),
        settled=steps[last_not + 1] if last_not + 1 < len(steps) else None,
    )


def _p_of(line: pd.Series, chance: float) -> float | None:
    """Test an accuracy against chance: p is below the error rate where the interval does not hold chance.

    That interval is Wilson's, so the standard error is that of chance itself.
    """
    if pd.isna(line["accuracy"]):
        return None
    distance = abs(line["accuracy"] - chance) / sqrt(chance * (1 - chance) / line["n_eff"])
    return min(1.0, 2 * upper_tail(distance, inf if pd.isna(line["df"]) else line["df"]))


# What is right, (items,) or (items, seeds), and what is decidable, (items,).
Marks = tuple["NDArray[np.bool_]", "NDArray[np.bool_]"]


def share_entries(verdicts: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return every run the lexical factors that any of them knows.

    They are over the same items, so what one says of them holds for all: for a run that was made before
    factors were kept, and for one in which `--cluster` named others. Contexts are no property of items.
    """
    known: dict[tuple[str, int], pd.Series] = {}
    for frame in verdicts.values():
        for name in frame.columns[frame.columns.str.endswith(ENTRY)]:
            if name != f"{CONTEXT}{ENTRY}":
                known.setdefault((name, len(frame)), frame[name])
    return {
        model: frame.assign(
            **{
                name: column.array
                for (name, n_items), column in known.items()
                if n_items == len(frame) and name not in frame.columns
            }
        )
        for model, frame in verdicts.items()
    }


def marks(verdicts: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what is right among verdicts, and what is decidable, (items,) each."""
    correct: NDArray[np.bool_] = verdicts["correct"].to_numpy(bool)
    undecidable: NDArray[np.bool_] = verdicts["undecidable"].to_numpy(bool)
    return correct, ~undecidable


def marks_of_seeds(seeds: Sequence[pd.DataFrame]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what each seed gets right, (items, seeds), and what is decidable for all of them, (items,)."""
    marked = [marks(verdicts) for verdicts in seeds]
    correct = np.stack([one for one, _ in marked], axis=1)
    return correct, np.logical_and.reduce([known for _, known in marked])


def count_clustered(verdicts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Count the verdicts of each group, with intervals that know which items share words.

    Returns:
        A row for each group in order of first appearance, in the columns of `COUNTS` and of `ESTIMATED`. The
        latter are missing where no item is decidable; `df` is missing where items are independent.
    """
    correct, decidable = marks(verdicts)
    groups = verdicts.groupby([*by], sort=False, dropna=False, observed=True)
    counts = count_groups(groups)
    designs = items_of_rows(np.asarray(groups.ngroup(), np.int64), Factors.of_verdicts(verdicts))
    found = (estimate(correct[items], decidable[items], design) for items, design in designs)
    return counts.join(estimate_columns(found, counts.index))


def paired_differences(
    marked: Mapping[str, Marks],
    pairs: Sequence[tuple[str, str]],
    design: Design,
) -> list[Difference | None]:
    """Set pairs of models or means over seeds against each other, each on what is decidable for both of it.

    The first of a pair comes first among the models too. None where no item is decidable for both.
    """
    # Most models can decide the same items; what these share is worked out once.
    alike: dict[bytes, list[tuple[str, str]]] = {}
    for one, other in pairs:
        alike.setdefault((marked[one][1] & marked[other][1]).tobytes(), []).append((one, other))
    found: dict[tuple[str, str], Difference] = {}
    for both, own in alike.items():
        decidable = np.frombuffer(both, bool)
        if decidable.any():
            named = {name for pair in own for name in pair}
            names = [name for name in marked if name in named]
            correct = [marked[name][0][decidable].reshape(decidable.sum(), -1) for name in names]
            of_pairs = differences_of_seeds(correct, design.among(decidable))
            found |= dict(zip(combinations(names, 2), of_pairs, strict=True))
    return [found.get(pair) for pair in pairs]


def differences(
    models: Mapping[str, Marks],
    rows: tuple[Factors, NDArray[np.int64], Sequence[Sequence[int]]],
    pairs: Sequence[tuple[str, str]],
) -> dict[tuple[str, str], list[Difference | None]]:
    """Set pairs of models, or of means over seeds, against each other on rows and on means over rows.

    Args:
        rows: Lexical factors of the items; the row of each, (items,); and the sets of rows to compare on,
            single rows first and in order. Rows of a set count once each.

    Returns:
        For each pair one for each set; None where no item of a row in it is decidable for both.
    """
    factors, row_of, sets = rows
    found: dict[tuple[str, str], list[Difference | None]] = {pair: [] for pair in pairs}
    for own in sets:
        chosen = np.isin(row_of, own)
        within = {name: (correct[chosen], known[chosen]) for name, (correct, known) in models.items()}
        design = Design.of(factors.take(chosen), row_of[chosen])
        for pair, one in zip(pairs, paired_differences(within, pairs, design), strict=True):
            lacks_a_row = len(own) > 1 and any(found[pair][row] is None for row in own)
            found[pair].append(None if lacks_a_row else one)
    return found


# The smallest difference of accuracies that matters, where nobody says another.
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
    """Compare all pairs of models on the same items: a table over all, then one for each value of a feature.

    Each has what `compared` tells of the first of a pair, how many items both, one alone or neither got
    right, and McNemar's exact test (two-sided), corrected over the pairs of the table too. Means over seeds
    have neither counts nor McNemar's test.

    Args:
        seeds: The verdicts of each model, or of all seeds whose mean is compared.
    """
    first = next(iter(seeds.values()))[0]
    tables = [(None, pd.Series(data=True, index=first.index))]
    if by is not None:
        tables += [
            (value, (first[by] == value).fillna(False)) for value in sorted(first[by].dropna().unique())
        ]
    found = [
        _table(
            {name: [frame[chosen.to_numpy(bool)] for frame in frames] for name, frames in seeds.items()},
            margin,
        )
        for _, chosen in tables
    ]
    frame = pd.concat(found, ignore_index=True)
    # Beside the missing value of the first table, whole numbers would turn into fractions.
    values = [value for (value, _), own in zip(tables, found, strict=True) for _ in range(len(own))]
    frame.insert(0, by or "all", pd.Series(values, dtype=object))
    return frame


def _table(seeds: Mapping[str, Sequence[pd.DataFrame]], margin: float) -> pd.DataFrame:
    single = all(len(frames) == 1 for frames in seeds.values())
    marked = {name: marks(frames[0]) if single else marks_of_seeds(frames) for name, frames in seeds.items()}
    pairs = list(combinations(marked, 2))
    factors = Factors.of_paired([frame for frames in seeds.values() for frame in frames])
    found = differences(marked, (factors, np.zeros(len(factors.codes), np.int64), [[0]]), pairs)
    frame = pd.DataFrame(pairs, columns=["first", "second"])
    told = compared([one for (one,) in found.values()], margin)
    if not single:
        n_items = [int((marked[one][1] & marked[other][1]).sum()) for one, other in pairs]
        return frame.assign(n_items=n_items).join(told)
    frame = frame.join(pd.DataFrame([_count(marked[one], marked[other]) for one, other in pairs]))
    frame = frame.join(told)
    tested = [mcnemar(*both) for both in zip(frame["only_first"], frame["only_second"], strict=True)]
    return frame.assign(p_mcnemar=tested, p_mcnemar_holm=holm(tested))[[*PAIR_COLUMNS]]


def compared(found: Sequence[Difference | None], margin: float) -> pd.DataFrame:
    """Say what is known of each pair of a table, at one error rate for all of them together.

    `difference` is what the first gets right more than the second; `p` that of no difference, `p_holm`
    corrected; `p_beyond` that of a difference of the margin or more, corrected; `outcome` a word, for the
    first. All are missing where a pair has none.
    """
    told = in_columns(found, ("value", "se", "low", "high", "df", "p", "clusters", "fixed"))
    known = [place for place, one in enumerate(found) if one is not None]
    words = judge_differences([one for one in found if one is not None], margin)
    names = ["p_holm", "p_beyond", "margin", "outcome"]
    corrected = pd.DataFrame(
        [(one.p_holm, one.p_beyond, margin, one.word) for one in words], known, names
    ).astype(dict.fromkeys(names[:3], "float64"))
    told = told.rename(columns={"value": "difference"}).join(corrected)
    return told[[*COMPARED]]


def _count(first: Marks, second: Marks) -> dict[str, int]:
    """Count what both models, one alone or neither gets right, of the items that both can decide."""
    decidable = first[1] & second[1]
    one, other = first[0][decidable], second[0][decidable]
    cells = dict(zip(_COUNTED, (one & other, one & ~other, ~one & other, ~one & ~other), strict=True))
    return {"n_items": len(one), **{name: int(cell.sum()) for name, cell in cells.items()}}


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided p of McNemar's exact test; 1 where the two never differ.

    Where two models are equally good, an item that one of them alone gets right is as likely to be the one's
    as the other's, whatever the others are: items are regarded as independent.
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0


@dataclass(frozen=True, slots=True)
class Against(RowsAndMeans[str]):
    """How models, or the means over seeds of architectures, differ from one of them.

    `rows` and `means` have its `accuracy`, of all that its seeds can decide, and `spread`, the standard
    deviation between seeds; missing where nothing is decidable. Known of each other model are `n_items`,
    decidable for all seeds of both, and the columns of `COMPARED`.
    """

    reference: str


def against(
    groups: Mapping[str, Sequence[pd.DataFrame]], reference: str, by: Sequence[str], margin: float
) -> Against:
    """Compare models, or architectures by their means over seeds, on the items that are decidable for both.

    Tests are corrected by Holm over all models and rows, and likewise over all models and means.
    """
    first = groups[reference][0]
    keys, row_of = row_places(first, by)
    others = [name for name in groups if name != reference]
    # What is told is of the others, so they come before the one that all are compared with.
    marked = {name: marks_of_seeds(groups[name]) for name in (*others, reference)}
    sets = list(row_sets(keys))
    over = [*([row] for row in range(len(keys))), *(rows for _, rows in sets)]
    pairs = [(name, reference) for name in others]
    factors = Factors.of_paired([first, *(frame for name in others for frame in groups[name])])
    of_pairs = differences(marked, (factors, row_of, over), pairs)
    found = {name: of_pairs[name, reference] for name in others}
    levels = _accuracies(*marked[reference], row_of)
    of_sets = np.array([[own[rows].mean() for own in levels.T] for _, rows in sets])
    known = "accuracy", "spread"
    return Against(
        keys.assign(**dict(zip(known, over_seeds(levels), strict=True))),
        _tell({name: own[: len(keys)] for name, own in found.items()}, margin),
        heads_of(sets).assign(**dict(zip(known, over_seeds(of_sets), strict=True))),
        _tell({name: own[len(keys) :] for name, own in found.items()}, margin),
        reference,
    )


def _accuracies(
    correct: NDArray[np.bool_], decidable: NDArray[np.bool_], row_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the accuracy of each seed on each row, (rows, seeds), NaN where nothing is decidable."""
    n_rows = int(row_of.max()) + 1
    n_items = np.bincount(row_of[decidable], minlength=n_rows)[:, None]
    right = [np.bincount(row_of[decidable], own[decidable], n_rows) for own in correct.T]
    accuracies: NDArray[np.float64] = np.full((n_rows, len(right)), np.nan)
    return np.divide(np.stack(right, axis=1), n_items, out=accuracies, where=n_items > 0)


def _tell(found: Mapping[str, Sequence[Difference | None]], margin: float) -> dict[str, pd.DataFrame]:
    """Say what is known of differences, all of which are one family of tests; a frame for each model."""
    flat = [one for own in found.values() for one in own]
    told = compared(flat, margin)
    told.insert(0, "n_items", [0 if one is None else one.n_items for one in flat])
    size = len(flat) // len(found)
    return {
        name: told.iloc[place * size : (place + 1) * size].reset_index(drop=True)
        for place, name in enumerate(found)
    }


SEED_COLUMNS = (
    "n_seeds", "n_items", "accuracy", "spread", "low", "high", "se", "df", "clusters", "fixed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SeedTable(RowsAndMeans[str]):
    """Architectures side by side, each the mean over its seeds, in the columns of `SEED_COLUMNS`.

    `n_items` are decidable for all its seeds; `spread` is the standard deviation between them, and the
    interval for other seeds and other words. All is missing where nothing is decidable; with one seed there
    is no spread, and the interval is for other words alone. Ranks are by the mean of all rows, undecidable
    items wrong; None of a single one.
    """

    ranks: RankSets | None


def seed_means(groups: Mapping[str, Sequence[pd.DataFrame]], by: Sequence[str] = ()) -> SeedTable:
    """Average over seeds, which have the same items in the same order."""
    first = next(iter(groups.values()))[0]
    rows, row_of = row_places(first, by)
    sets = list(row_sets(rows))
    of_rows, of_means, of_all = {}, {}, []
    for name, seeds in groups.items():
        factors = Factors.of_paired(seeds)
        correct, decidable = marks_of_seeds(seeds)
        found: list[Average | None] = []
        for places in (*([row] for row in range(len(rows))), *(places for _, places in sets)):
            own = np.isin(row_of, places) & decidable
            mean = None
            if len(np.unique(row_of[own])) == len(places):
                design = Design.of(factors.take(own), row_of[own])
                several, all_of_them = len(seeds) > 1, np.ones(own.sum(), bool)
                mean = (
                    mean_of_seeds(correct[own], design)
                    if several
                    else estimate(correct[own, 0], all_of_them, design)
                )
            found.append(mean)
        frame = in_columns(found, ("value", *SEED_COLUMNS[3:])).rename(columns={"value": "accuracy"})
        frame.insert(0, "n_seeds", len(seeds))
        frame.insert(1, "n_items", [None if one is None else one.n_items for one in found])
        of_rows[name] = frame[: len(rows)]
        of_means[name] = frame[len(rows) :].reset_index(drop=True)
        of_all.append(correct)
    all_factors = Factors.of_paired([frame for seeds in groups.values() for frame in seeds])
    ranks = ranks_of_seeds(of_all, Design.of(all_factors, row_of)) if len(groups) > 1 else None
    return SeedTable(rows, of_rows, heads_of(sets), of_means, ranks)
