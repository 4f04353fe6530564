"""Correlations of two measures of the same items, with intervals that know which items share words."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, sqrt, tanh
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.inference.quantiles import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.analysis.inference.design import Design

    Values = NDArray[np.float64]

# Last bits depend on the processor; with twelve decimals tables are equal everywhere.
_DECIMALS = 12
# Fewer items have no correlation that says anything, and Fisher's error, 1/√(n - 3), has no value for three.
FEWEST_PAIRED = 3
_ROUNDING = 1e-12
_SMALL = 1e-100


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation, and how sure it is.

    Attributes:
        value: From -1 to 1.
        se: Its standard error.
        low: Lower end of its 95% interval; not a number where the correlation is perfect, as nothing shows
            then how far it could vary.
        high: Upper end.
    """

    value: float
    se: float
    low: float
    high: float


def pearson(x: Values, y: Values, design: Design) -> Correlation | None:
    """Correlate two measures.

    Each item moves the correlation by ψ = z_x z_y - r (z_x² + z_y²) / 2, z in standard deviations. The
    variance is that of a mean of ψ, clustered (`Design.variance`), never less than that of independent
    items, and on Fisher's scale, atanh r, never less than 1/(n - 3); there the interval is symmetric.

    Args:
        x: (items,).
        y: (items,).
        design: The entries of these items.

    Returns:
        None for fewer than three items, or where a measure does not vary.

    Source: Devlin, Gnanadesikan & Kettenring 1975, "Robust estimation and outlier detection with correlation
    coefficients", Biometrika 62(3), equation 4.2.
    """
    x, y = _in_reach(x), _in_reach(y)
    dx, dy = x - x.mean(), y - y.mean()
    products = dx * dx, dy * dy, dx * dy
    xx, yy, xy = (float(product.mean()) for product in products)
    return _correlation(xy, (xx, yy), (products[0] - xx, products[1] - yy, products[2] - xy), design)


def spearman(x: Values, y: Values, design: Design) -> Correlation | None:
    """Correlate the ranks of two measures; equal values share the mean of their ranks.

    As `pearson`, but that an item also moves the ranks of others: with F the share of smaller items and half
    of the equal ones, ψ of the covariance of F and G is

        F(x) G(y) + E[G (1(X > x) + 1(X = x) / 2)] + E[F (1(Y > y) + 1(Y = y) / 2)] - 3 E[F G]

    and likewise of their variances.

    Source: Croux & Dehon 2010, "Influence functions of the Spearman and Kendall correlation measures",
    Statistical Methods and Applications 19, proposition 1, here with equal values.
    """
    f, g = _shares(x), _shares(y)
    xx, yy, xy = (f * f).mean(), (g * g).mean(), (f * g).mean()
    of_x, of_y = _above(x, f), _above(y, g)
    moves = f * f + 2 * of_x - 3 * xx, g * g + 2 * of_y - 3 * yy, f * g + _above(x, g) + _above(y, f) - 3 * xy
    return _correlation(float(xy) - 0.25, (float(xx) - 0.25, float(yy) - 0.25), moves, design)


def _correlation(
    covariance: float, variances: tuple[float, float], moves: tuple[Values, Values, Values], design: Design
) -> Correlation | None:
    """Make a correlation of moments and of how far each item moves them."""
    n_items = len(moves[0])
    if n_items < FEWEST_PAIRED or min(variances) <= 0:
        return None
    scale = sqrt(variances[0]) * sqrt(variances[1])
    r = max(-1.0, min(1.0, covariance / scale))
    move = moves[2] / scale - r / 2 * (moves[0] / variances[0] + moves[1] / variances[1])
    variance = float(design.variance(move[:, None] / n_items)[0])
    room = 1 - r * r
    if room < _ROUNDING:
        return Correlation(round(r, _DECIMALS), 0.0, np.nan, np.nan)
    fisher = np.inf if n_items == FEWEST_PAIRED else 1 / sqrt(n_items - FEWEST_PAIRED)
    half = quantile(design.df) * max(sqrt(variance) / room, fisher)
    numbers = r, sqrt(variance), tanh(atanh(r) - half), tanh(atanh(r) + half)
    return Correlation(*(round(number, _DECIMALS) for number in numbers))


def _in_reach(values: Values) -> Values:
    """Scale what is so large or small that its square is no number; a correlation has no scale."""
    largest = float(np.abs(values).max(initial=0.0))
    return values if largest == 0 or _SMALL < largest < 1 / _SMALL else values / largest


def _shares(values: Values) -> Values:
    """Give each item the share of those below it, equal ones counted half, (items,)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    shares: Values = ((below + counts / 2) / len(values))[place]
    return shares


def _above(values: Values, weights: Values) -> Values:
    """Average, for each item, the weights of those above it and half of those equal, over all, (items,)."""
    _, place = np.unique(values, return_inverse=True)
    own = np.bincount(place, weights)
    above: Values = ((own[::-1].cumsum()[::-1] - own / 2) / len(values))[place]
    return above
