"""The confidence level, and the intervals that follow from it: Student's t and Wilson's score interval."""

from __future__ import annotations

from math import sqrt

# Within ± this lie 95% of a standard normal distribution.
Z = 1.959963984540054


def quantile(df: float | None) -> float:
    """Give the number within ± of which 95% of Student's t lie, or of the normal distribution."""
    if df is None:
        return Z
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    # Its last bits depend on the mathematical library; with twelve decimals tables are equal everywhere.
    return round(float(stdtrit(df, 0.975)), 12)


def upper_tail(t: float, df: float) -> float:
    """Give the probability of a larger t, exact far out too."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import

    return float(stdtr(df, -t))


def score_interval(p: float, n: float, quantile: float) -> tuple[float, float]:
    """Give the ends of Wilson's interval of a share, for any number of items and any quantile.

    It holds the shares π from which p lies no further than the quantile times √(π(1 - π)/n).

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA
    22(158); in the order of operations of scipy's `binomtest`, with which it agrees to the last bit.
    `scipy.stats` itself takes longer to import than a table to print.
    """
    scale = 2 * (n + quantile**2)
    centre = (2 * n * p + quantile**2) / scale
    half = quantile / scale * sqrt(4 * n * p * (1 - p) + quantile**2)
    return 0.0 if p == 0 else centre - half, 1.0 if p == 1 else centre + half
