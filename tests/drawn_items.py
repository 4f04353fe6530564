"""Items of crossed designs, with random verdicts that depend on the lexicon entries."""

import numpy as np

from tseval.analysis.design import Design, Factors


def crossed(*levels):
    """Return the codes of all combinations of entries, (items, factors)."""
    return np.stack([axis.ravel() for axis in np.indices(levels)], axis=1)


def draw_items(levels, strengths, per_cell=1, keep=1.0, seed=0):
    """Draw the verdicts of one model and the codes of its items.

    Args:
        levels: Number of entries of each factor.
        strengths: Standard deviation of the entries' effects, in logits.
        per_cell: Number of items with the same entries.
        keep: Share of items to keep; below 1, random items are left out.
        seed: Seed of the random numbers.
    """
    random = np.random.default_rng(seed)
    codes = np.repeat(crossed(*levels), per_cell, axis=0)
    codes = codes[random.random(len(codes)) < keep]
    logits = 0.3 + sum(
        strength * random.standard_normal(n)[column]
        for n, strength, column in zip(levels, strengths, codes.T, strict=True)
    )
    return random.random(len(codes)) < 1 / (1 + np.exp(-logits)), codes


def design_of(codes, rows=None, names="abcdefgh"):
    """Return the design of items with these codes."""
    return Design.of(Factors(tuple(names[: codes.shape[1]]), np.asarray(codes)), rows)
