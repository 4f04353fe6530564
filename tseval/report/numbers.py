"""Formatting of numbers: truncated to a few decimals, never rounded up."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, isnan, trunc

import pandas as pd

NONE = "–"
# A run has thousands of items per row; published accuracies have two decimals.
RUN_DECIMALS = 3
TRUNCATED = f"truncated to {RUN_DECIMALS} decimals"
NOT_ROUNDED = f"truncated, not rounded, to {RUN_DECIMALS} decimals"


def format_count(count: int) -> str:
    """Format a count."""
    return f"{count:,}"


def format_share(value: Fraction | float, decimals: int = RUN_DECIMALS) -> str:
    """Format a share, truncated to some decimals."""
    scale = 10**decimals
    # As a float, a share may be slightly too small because of rounding: 0.29 * 1000 < 290.
    scaled = value * scale if isinstance(value, Fraction) else round(value * scale, 6)
    return f"{floor(scaled) / scale:.{decimals}f}"


def format_n_eff(n_eff: float, *, fixed: bool = False) -> str:
    """Format an effective sample size; the mark † shows that a factor has too few entries."""
    if isnan(n_eff):
        return NONE
    return (format_count(round(n_eff)) if n_eff >= 0.5 else "< 1") + ("†" if fixed else "")


def format_interval(ends: tuple[float, float], decimals: int = RUN_DECIMALS) -> str:
    """Format an interval, rounded outwards, so that it contains the accuracy printed next to it."""
    low, high = ends
    if isnan(low):
        return NONE
    scale = 10**decimals
    return f"{floor(low * scale) / scale:.{decimals}f} to {ceil(high * scale) / scale:.{decimals}f}"


def format_rank_set(rank: Fraction, low: int, high: int) -> str:
    """Format a rank with the possible ranks: `2 [1–4]`."""
    return f"{int(rank)} [{low}]" if low == high else f"{int(rank)} [{low}–{high}]"


def format_difference(value: float) -> str:
    """Format a difference of shares with its sign, truncated towards 0."""
    scale = 10**RUN_DECIMALS
    # As for shares, a value that is only a rounding error too small is not truncated.
    parts = trunc(round(value * scale, 6))
    return f"{parts / scale:+.{RUN_DECIMALS}f}" if parts else f"{0:.{RUN_DECIMALS}f}"


def format_correlation(value: float) -> str:
    """Format a correlation, truncated towards 0."""
    return format_difference(value).removeprefix("+")


def spread_beside(mean: str, spread: str) -> str:
    """Format a mean over seeds with the spread between them.

    >>> spread_beside("0.652", "0.013")
    '0.652 ± 0.013'
    """
    return f"{mean} ± {spread}"


def format_mean_rank(value: Fraction) -> str:
    """Format a mean rank as Bhatt et al. 2020 do: truncated to two decimals, without final zeros."""
    return format_share(value, 2).rstrip("0").rstrip(".")


def format_probability(p: float) -> str:
    """Format a p-value."""
    least = 10**-RUN_DECIMALS
    return f"< {least:.{RUN_DECIMALS}f}" if p < least else f"{p:.{RUN_DECIMALS}f}"


def format_rounded_difference(value: float) -> str:
    """Format a difference with its sign, rounded."""
    return f"{value:+.{RUN_DECIMALS}f}"


def with_spread(cell: tuple[float, float]) -> str:
    """Format a mean over seeds, with the standard deviation between them if there are several."""
    mean, spread = cell
    if pd.isna(mean) or pd.isna(spread):
        return "–" if pd.isna(mean) else format_share(mean)
    return spread_beside(format_share(mean), format_share(spread))
