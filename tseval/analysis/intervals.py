"""The confidence level, and intervals at this level: Student's t and Wilson's score interval.

Every interval, every test and every set of possible ranks uses the level of `confidence_level`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from math import sqrt
from typing import TYPE_CHECKING, overload

from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

# The level of all intervals, unless a user names another level.
LEVEL = 0.95
# The quantile of the normal distribution for LEVEL. To import scipy takes longer than to print a table.
_NORMAL_QUANTILE = 1.959963984540054

_level = ContextVar("confidence level", default=LEVEL)


@contextmanager
def at_confidence(level: float) -> Iterator[None]:
    """Compute all intervals and tests within the block at another confidence level, such as 0.9.

    Raises:
        RunError: The level is not between 0.5 and 1.
    """
    if not 0.5 <= level < 1:
        percent = level / 100
        example = f"{percent:g}" if 0.5 <= percent < 1 else "0.9"
        raise RunError(
            f"--confidence: {level:g} is not a confidence level, which is at least 0.5 and less than 1.\n"
            f"  Write --confidence {example}, for example."
        )
    token = _level.set(level)
    try:
        yield
    finally:
        _level.reset(token)


def confidence_level() -> float:
    """Return the share of samples in which an interval contains the true value."""
    return _level.get()


def confidence_percent() -> str:
    """Return the confidence level in the form for print, such as 95%."""
    return f"{100 * confidence_level():.10g}%"


def error_rate() -> float:
    """Return the share of samples in which a test finds a difference although there is none."""
    return round(1 - confidence_level(), 12)


def error_percent() -> str:
    """Return the error rate in the form for print, such as 5%."""
    return f"{100 * error_rate():.10g}%"


def upper_end() -> float:
    """Return the share of a distribution below the upper end of a two-sided interval, such as 0.975."""
    return round((1 + confidence_level()) / 2, 12)


def quantile(df: float | None) -> float:
    """Return the upper end of the central interval of Student's t at the confidence level.

    Args:
        df: Degrees of freedom; None for the normal distribution.
    """
    if df is None and confidence_level() == LEVEL:
        return _NORMAL_QUANTILE
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - slow to import

    # The last bits depend on the mathematical library. With twelve decimals, tables are equal on all
    # machines.
    return round(float(ndtri(upper_end()) if df is None else stdtrit(df, upper_end())), 12)


@overload
def upper_tail(t: float, df: float) -> float: ...
@overload
def upper_tail(t: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]: ...
def upper_tail(
    t: float | NDArray[np.float64], df: float | NDArray[np.float64]
) -> float | NDArray[np.float64]:
    """Return the probability of a larger t, for a number or an array; exact also in the far tail."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import

    tail = stdtr(df, -t)
    return tail if tail.ndim else float(tail)  # type: ignore[return-value]


def score_interval(p: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a share, for any number of items and any quantile.

    It contains every share π whose distance from p is at most the quantile times √(π(1 - π)/n).

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22(158).
    The order of operations is that of scipy's `binomtest`, so both agree to the last bit. To import
    `scipy.stats` takes longer than to print a table.
    """
    scale = 2 * (n + quantile**2)
    centre = (2 * n * p + quantile**2) / scale
    half = quantile / scale * sqrt(4 * n * p * (1 - p) + quantile**2)
    return 0.0 if p == 0 else centre - half, 1.0 if p == 1 else centre + half
