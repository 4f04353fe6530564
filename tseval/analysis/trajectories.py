"""Accuracy along a training: row by row of a table and over its rows, and when it rises above chance."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis import COUNTS, ROW, as_names, estimate_means, row_sets, tally
from tseval.analysis.design import upper_tail
from tseval.analysis.differences import ERROR_RATE, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.analysis.design import Estimate

_ESTIMATED = ("accuracy", "low", "high", "se", "df", "n_eff", "clusters", "fixed")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """How accurate a model was at each moment of its training.

    Attributes:
        rows: The rows of the table: `dependency`, `phenomenon`, `construction`, `contrast`, features.
        of_rows: For each moment a frame with a line for each row: `n_items`, `n_correct`, `n_tied`,
            `n_undecidable`, `accuracy`, its interval (`low`, `high`), standard error, degrees of freedom,
            `n_eff`, and the lexical factors; as `tseval.analysis.count` gives them.
        means: The sets of rows that means are over: `over` and `n_rows`.
        of_means: For each moment a frame with a line for each of these sets, without counts, each row counted
            once. A set is missing where one of its rows is.
    """

    rows: pd.DataFrame
    of_rows: Mapping[int, pd.DataFrame]
    means: pd.DataFrame
    of_means: Mapping[int, pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Emergence:
    """When accuracy rises above chance, among the moments at which it was measured.

    Attributes:
        p: At each moment, the probability of an accuracy at least as far from chance on either side if it
            were chance; None where nothing is decidable.
        p_holm: The same, corrected for the number of moments.
        above: Whether it is surely above chance then: by the corrected p, at an error rate of 5% for all
            moments together.
        first: The first moment at which it is; None for never.
        settled: The first from which on it is at every later one too; None where it is not at the last.
    """

    p: tuple[float | None, ...]
    p_holm: tuple[float | None, ...]
    above: tuple[bool, ...]
    first: int | None
    settled: int | None


def trajectory(verdicts: Mapping[int, pd.DataFrame], by: str | Sequence[str] = ()) -> Trajectory:
    """Follow the rows of a table along a training.

    Args:
        verdicts: Moment, ascending, to the verdicts of the model then; the same items in the same order.
        by: Features that rows are broken down by.

    Raises:
        SuiteError: The suite has no such feature.
    """
    keys = [*ROW, *as_names(by)]
    rows, heads = pd.DataFrame(), pd.DataFrame()
    of_rows, of_means = {}, {}
    for moment, frame in verdicts.items():
        counts, answers = tally(frame, by)
        named = counts[keys].astype(object)
        rows, sets = named.where(named.notna(), None), list(row_sets(counts))
        heads = pd.DataFrame([(over, len(places)) for over, places in sets], columns=["over", "n_rows"])
        whole = [counts["accuracy"][places].notna().all() for _, places in sets]
        estimates = estimate_means([answers], [places for _, places in sets])
        of_rows[moment] = counts[[*COUNTS, *_ESTIMATED]]
        of_means[moment] = _told(
            [one if known else None for (one,), known in zip(estimates, whole, strict=True)]
        )
    return Trajectory(rows, of_rows, heads, of_means)


def _told(means: Sequence[Estimate | None]) -> pd.DataFrame:
    values = [
        (None,) * len(_ESTIMATED)
        if one is None
        else (one.value, one.low, one.high, one.se, one.df, one.n_eff, one.clusters, one.fixed)
        for one in means
    ]
    return pd.DataFrame(values, columns=[*_ESTIMATED])


def emergence(moments: Mapping[int, pd.Series], chance: float) -> Emergence:
    """Say when accuracy rises above chance.

    It is looked at as often as there are moments, and by chance one of many would lie above. So its tests are
    corrected by Holm's method over all moments.

    Args:
        moments: Moment, ascending, to a line of `Trajectory`: `accuracy`, `n_eff` and `df`.
        chance: The accuracy of who guesses.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics.
    """
    p = [_p_of(line, chance) for line in moments.values()]
    corrected = iter(holm([one for one in p if one is not None]))
    p_holm = [None if one is None else next(corrected) for one in p]
    above = [
        one is not None and one < ERROR_RATE and line["accuracy"] > chance
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
    """Test an accuracy against chance: p is below 5% just where the 95% interval does not hold chance.

    That interval is Wilson's, so the standard error is that of chance itself.
    """
    if pd.isna(line["accuracy"]):
        return None
    distance = abs(line["accuracy"] - chance) / sqrt(chance * (1 - chance) / line["n_eff"])
    return min(1.0, 2 * upper_tail(distance, inf if pd.isna(line["df"]) else line["df"]))
