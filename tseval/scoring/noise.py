"""How far two honest computations of the same numbers may differ."""

from __future__ import annotations

import numpy as np
import torch

# How noisy numbers may be whose products have few digits: by the median, two percentiles and the largest of
# their differences. In float32 the order of sums alone makes these, in nats a token, of 30 layers: one token
# in some hundred is ill-conditioned (SmolLM2: .0006 nats off float64 in its own pass, .005 in ours).
LEVELS, ROUNDING = (0.5, 0.9, 0.99, 1.0), (1e-4, 1e-4, 1e-3, 1e-2)
# Two honest ways to compute differ by up to so many times what two others do, the few largest by a step of
# the type more. The median is not `MORE` nats above: where positions are off by one it is, at noise of .02.
# The largest of three times as many has a longer tail: Gemma 3's in bfloat16 is 6.2 times its own.
TIMES, MORE = (2.5, 3.0, 4.0, 8.0), 0.01
# Noise is no more than so many steps of a type: else a model that reads padding would excuse all.
MOST_STEPS = 128


def noise_limits(noise: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Return the most that `LEVELS` of honest differences may be, in nats a token.

    `noise` is the difference of two computations that are beyond doubt, (tokens,), with products of `dtype`.
    """
    step = torch.finfo(dtype).eps
    measured = np.quantile(np.abs(noise), LEVELS).clip(max=MOST_STEPS * step)
    limits: np.ndarray = TIMES * measured + (0, step, step, step)
    limits[0] = min(limits[0], measured[0] + MORE)
    limits += ROUNDING
    return limits


def within_noise(differences: np.ndarray, noise: np.ndarray, dtype: torch.dtype) -> bool:
    """Return whether numbers differ, (others,), as they do by rounding alone; otherwise as `noise_limits`."""
    found = np.abs(differences)
    return bool(np.isfinite(found).all() and (np.quantile(found, LEVELS) <= noise_limits(noise, dtype)).all())
