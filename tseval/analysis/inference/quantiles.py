"""Student's t and the normal distribution, for intervals of 95%.

`scipy.special` is imported where it is needed: that takes longer than to print a table.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Within ± this lie 95% of a standard normal distribution.
Z = 1.959963984540054


@cache
def quantile(df: float | None) -> float:
    """Give the number within ± of which 95% of a distribution lie.

    Args:
        df: Degrees of freedom of Student's t; None for the normal distribution.
    """
    if df is None:
        return Z
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    # Its last bits depend on the mathematical library; with twelve decimals tables are equal everywhere.
    return round(float(stdtrit(df, 0.975)), 12)


def upper_tail(t: float, df: float) -> float:
    """Give the probability of a larger t, exact far out too."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import

    return float(stdtr(df, -t))


def normal_scores(t: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the values of a standard normal variable that are exceeded as rarely as those of t."""
    from scipy.special import ndtri, stdtr  # noqa: PLC0415 - slow to import

    rare = np.maximum(stdtr(df, -np.abs(t)), np.finfo(np.float64).tiny)
    return np.asarray(np.copysign(ndtri(rare), t))
