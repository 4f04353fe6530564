"""The influence of single words on a result: accuracy by entry and without it, and limits of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.design import FEWEST_LEVELS, Design, Factors
from tseval.analysis.estimates import Estimate, estimate
from tseval.analysis.intervals import quantile
from tseval.analysis.rows import ROW, in_table_order
from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray


# The accuracy on fewer items says nothing about their word.
FEWEST_ITEMS = 5
# If a factor has more entries, such as the sentences of a corpus, only those with most items are used.
MOST_ENTRIES = 200
CHANCE_OF_A_PAIR = 0.5
POWER = 0.8
# The limit of an interval if no factor limits it.
ITEMS = "items"
_OF_A_ROW = ("n_items", "accuracy", "low", "high", "se", "n_eff", "limit", "share", "n_entries")
_OF_AN_ENTRY = ("factor", "entry", "n_items", "accuracy", "low", "high", "without", "decides")


@dataclass(frozen=True, slots=True)
class Robustness:
    """How much the rows of a run depend on single words.

    Attributes:
        rows: For each row its `limit`: the factor with the largest `share` of the variance, or `items`.
        entries: For each entry the accuracy of the row `without` it. An entry `decides` the row if the row's
            interval lies on one side of chance with it and not without it, or the other way round.
        n_passed_over: The number of entries left out because they have too few items.
    """

    rows: pd.DataFrame
    entries: pd.DataFrame
    n_passed_over: int


@dataclass(frozen=True, slots=True)
class _Items:
    """The decidable items of a row: which are correct, (items,), and their entries."""

    correct: NDArray[np.bool_]
    factors: Factors

    def estimate(self, chosen: NDArray[np.bool_]) -> Estimate | None:
        correct = self.correct[chosen]
        return estimate(correct, np.ones(len(correct), bool), Design.of(self.factors.take(chosen)))


def robustness(verdicts: pd.DataFrame) -> Robustness:
    """Analyse every row of a run word by word; without columns of entries there are no words."""
    rows: list[dict[str, object]] = []
    entries: list[dict[str, object]] = []
    n_passed_over = 0
    for key, group in verdicts.groupby(list(ROW), sort=False, dropna=False):
        decided = group[~group["undecidable"].to_numpy(bool)]
        items = _Items(decided["correct"].to_numpy(bool), Factors.of_verdicts(decided))
        overall = items.estimate(np.ones(len(decided), bool))
        row_key: dict[str, object] = dict(zip(ROW, key, strict=True))
        if overall is None:
            rows.append(row_key | {"n_items": 0})
            continue
        rows.append(row_key | _of_row(items, overall))
        for factor in items.factors.names:
            words = decided[f"{factor}{ENTRY}"]
            counts = words.value_counts()
            chosen = counts[counts >= FEWEST_ITEMS].index[:MOST_ENTRIES]
            n_passed_over += int((counts > 0).sum()) - len(chosen)
            results = _of_entries(items, overall, words, [str(entry) for entry in sorted(chosen)])
            entries += [row_key | {"factor": factor} | result for result in results]
    columns = [*ROW, *_OF_A_ROW, "smallest_difference"]
    return Robustness(
        in_table_order(pd.DataFrame(rows, columns=columns).astype({"n_entries": "Int64"})),
        pd.DataFrame(entries, columns=[*ROW, *_OF_AN_ENTRY]),
        n_passed_over,
    )


def by_factor(entries: pd.DataFrame) -> pd.DataFrame:
    """Summarise the entries of each factor in each row, both in order of first appearance.

    `without_low` and `without_high` are the range of the row's accuracy without one entry. `decides` are the
    entries that decide the row. `rho` is Spearman's correlation of accuracy and frequency. It is missing if
    one of them is the same for all entries, or if there are fewer than `FEWEST_LEVELS` entries.
    """
    lines = []
    for key, group in entries.groupby([*ROW, "factor"], sort=False, dropna=False):
        lowest, highest = (
            group.iloc[int(place)] for place in (group["accuracy"].argmin(), group["accuracy"].argmax())
        )
        has_frequencies = "frequency" in group and len(group) >= FEWEST_LEVELS
        rho = group["accuracy"].rank().corr(group["frequency"].rank()) if has_frequencies else None
        line = dict(zip([*ROW, "factor"], key, strict=True)) | {
            "n_entries": len(group),
            "lowest": lowest["entry"],
            "lowest_accuracy": lowest["accuracy"],
            "highest": highest["entry"],
            "highest_accuracy": highest["accuracy"],
            "without_low": group["without"].min(),
            "without_high": group["without"].max(),
            "decides": tuple(group.loc[group["decides"], "entry"]),
            "rho": rho,
        }
        lines.append(line)
    return pd.DataFrame(lines)


def frequencies(entries: Iterable[str], counts: Mapping[str, int]) -> list[int]:
    """Look up the frequency of entries; an entry of several words has the frequency of its rarest word."""
    return [min(counts.get(word, 0) for word in str(entry).lower().split(" ")) for entry in entries]


def smallest_difference(se: float, df: float | None) -> float:
    """Return the smallest difference between two models that items would show, four times in five.

    The errors of the models are assumed to be uncorrelated; a correlation makes the difference smaller.

    Source: Bloom 1995, "Minimum detectable effects", Evaluation Review 19(5): the sum of the quantiles of the
    test, two-sided at the error rate, and of its power, times the standard error of the difference.
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - slow to import

    power = float(ndtri(POWER) if df is None else stdtrit(df, POWER))
    return (quantile(df) + power) * sqrt(2) * se


def _of_row(items: _Items, whole: Estimate) -> dict[str, object]:
    limit, share = max(_shares(items, whole), key=lambda pair: pair[1], default=(None, None))
    return {
        "n_items": whole.n_items,
        "accuracy": whole.value,
        "low": whole.low,
        "high": whole.high,
        "se": whole.se,
        "n_eff": whole.n_eff,
        "limit": limit,
        "share": share,
        "n_entries": whole.clusters.get(limit) if limit else None,
        "smallest_difference": smallest_difference(whole.se, whole.df) if whole.se else None,
    }


def _shares(items: _Items, whole: Estimate) -> Iterator[tuple[str, float]]:
    """Yield the share of each factor, and of single items, in the variance of a row; at most 1 each.

    The share of a factor is the variance that clustering by it alone adds to that of independent items. The
    effect of words in combination is in no share or in several, so the shares need not add up to 1.
    """
    if whole.se == 0:
        return
    values = items.correct[:, None].astype(np.float64)
    independent = float(Design.of(items.factors.keep([])).spread(values).variances[0])
    yield ITEMS, min(independent / whole.se**2, 1.0)
    for place, name in enumerate(items.factors.names):
        if name in whole.clusters:
            alone = float(Design.of(items.factors.keep([place])).spread(values).variances[0])
            yield name, min((alone - independent) / whole.se**2, 1.0)


def _of_entries(
    items: _Items, whole: Estimate, words: pd.Series[str], entries: list[str]
) -> Iterator[dict[str, object]]:
    for entry in entries:
        chosen = (words == entry).fillna(False).to_numpy(bool)
        accuracy, others = items.estimate(chosen), items.estimate(~chosen)
        assert accuracy is not None
        yield {
            "entry": entry,
            "n_items": accuracy.n_items,
            "accuracy": accuracy.value,
            "low": accuracy.low,
            "high": accuracy.high,
            "without": others.value if others else None,
            "decides": others is not None and _side(others) != _side(whole),
        }


def _side(found: Estimate) -> int:
    """Return the side of chance of an interval: 1 above, -1 below, 0 if it contains chance."""
    return int(found.low > CHANCE_OF_A_PAIR) - int(found.high < CHANCE_OF_A_PAIR)
