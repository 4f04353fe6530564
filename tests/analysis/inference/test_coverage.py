"""Intervals hold the truth as often as they say; `benchmarks/coverage.py` has more populations and draws."""

import numpy as np
from drawn_items import design_of, draw_items
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from tseval.analysis.design import estimate
from tseval.analysis.ranks import rank_sets, ranks_of_seeds

LEVELS, STRENGTHS = (20, 14, 10), (0.5, 0.5, 0.5)
SIMULATIONS = 300


def true_accuracy():
    """Over all entries that there could be: the mean of a logistic function of a normal variable."""
    spread = np.sqrt(np.square(STRENGTHS).sum())
    return quad(lambda x: expit(0.3 + spread * x) * norm.pdf(x), -10, 10)[0]


def test_clustered_intervals_hold_the_accuracy_and_wilsons_do_not():
    truth, held = true_accuracy(), np.zeros(2)
    for seed in range(SIMULATIONS):
        correct, codes = draw_items(LEVELS, STRENGTHS, seed=seed)
        for place, design in enumerate((design_of(codes), design_of(codes[:, :0]))):
            found = estimate(correct, np.ones(len(correct), bool), design)
            held[place] += found.low <= truth <= found.high
    clustered, wilson = held / SIMULATIONS
    assert 0.92 <= clustered <= 0.98
    assert wilson < 0.4


def test_rank_sets_of_equal_models_hold_the_ranks():
    held = 0
    for seed in range(SIMULATIONS):
        drawn = [draw_items((20, 14), (0.5, 0.5), seed=4 * seed + model) for model in range(4)]
        found = rank_sets(np.stack([correct for correct, _ in drawn], axis=1), design_of(drawn[0][1]))
        held += found.low == (1,) * 4 and found.high == (4,) * 4
    assert held / SIMULATIONS >= 0.92


def test_rank_sets_of_equal_architectures_hold_whatever_seeds_are_drawn():
    """Those of the means alone, as if they were of single models, do not."""
    held = np.zeros(2)
    for seed in range(SIMULATIONS):
        random = np.random.default_rng(seed)
        _, codes = draw_items((14, 10), (0, 0))
        words, shifts = random.normal(0, 0.5, (14, 1))[codes[:, 0]], random.normal(0, 0.6, (4, 1, 3))
        drawn = [random.random((len(codes), 3)) < expit(0.3 + words + shift) for shift in shifts]
        means = np.stack([correct.mean(axis=1) for correct in drawn], axis=1)
        for place, found in enumerate(
            (ranks_of_seeds(drawn, design_of(codes)), rank_sets(means, design_of(codes)))
        ):
            held[place] += found.low == (1,) * 4
    of_seeds, of_models = held / SIMULATIONS
    assert of_seeds >= 0.92
    assert of_models < 0.5
