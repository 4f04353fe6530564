"""How much two correct computations of the same numbers may differ."""

from __future__ import annotations

import numpy as np
import torch

# Levels of the absolute differences (median, two percentiles, maximum), and their limits in float32, in nats
# per token. There, the order of sums alone causes differences of this size in 30 layers. One token in some
# hundred is ill-conditioned (SmolLM2: .0006 nats from float64 in its own pass, .005 in ours).
LEVELS, ROUNDING = (0.5, 0.9, 0.99, 1.0), (1e-4, 1e-4, 1e-3, 1e-2)
# Two correct computations differ at most this many times as much as two others; above the median, by one step
# of the type more. The median may grow by at most `MORE` nats: wrong positions exceed this, at noise of .02.
# The maximum of three times as many tokens has a longer tail: that of Gemma 3 in bfloat16 grows 6.2 times.
TIMES, MORE = (2.5, 3.0, 4.0, 8.0), 0.01
# Noise is at most this many steps of a type. Otherwise, a model that reads padding would pass every check.
MOST_STEPS = 128


def noise_limits(noise: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Return the limits on `LEVELS` of correct differences, in nats per token.

    `noise` is the difference of two surely correct computations, (tokens,), with products of `dtype`.
    """
    step = torch.finfo(dtype).eps
    measured = np.quantile(np.abs(noise), LEVELS).clip(max=MOST_STEPS * step)
    limits: np.ndarray = TIMES * measured + (0, step, step, step)
    limits[0] = min(limits[0], measured[0] + MORE)
    limits += ROUNDING
    return limits


def within_noise(differences: np.ndarray, noise: np.ndarray, dtype: torch.dtype) -> bool:
    """Return whether `differences`, (others,), come from rounding alone; other arguments: `noise_limits`."""
    sizes = np.abs(differences)
    return bool(np.isfinite(sizes).all() and (np.quantile(sizes, LEVELS) <= noise_limits(noise, dtype)).all())
