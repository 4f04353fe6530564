"""Test the coverage of intervals and the error rate of tests with uneven entries, small rows or many models.

Entries have random effects on the logit scale, new in each simulation. The design gives the numbers of items.
Two equally good models share half of the variance of an entry's effect. The true accuracy is the mean over
all possible entries. Each design is simulated with several accuracies and strengths of words (`SETTINGS`).
The program prints the lowest and the highest coverage, and the largest share of equal models that differ
significantly at 5%. It also prints the mean width divided by that of an oracle that knows the variance: at
middling accuracy with an effect of words, and for the widest setting.

    python benchmarks/calibration.py
    python benchmarks/calibration.py --draws 200 --only designs
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from coverage import SHARED, command, logistic
from scipy.special import stdtrit

from tseval.analysis.comparisons import DEFAULT_MARGIN
from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import differences, judge_differences, mean_of_seeds
from tseval.analysis.estimates import estimate
from tseval.analysis.intervals import quantile, score_interval
from tseval.analysis.ranks import rank_sets
from tseval.suites.data.critical import critical_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coverage import Tables
    from numpy.random import Generator
    from numpy.typing import NDArray

# Constants and strengths of words, in logits. The accuracies are about .05, .57, .57, .56, .91, .99.
SETTINGS = ((-3.2, 0.7), (0.3, 0.0), (0.3, 0.5), (0.3, 1.0), (2.5, 0.7), (4.6, 0.7))
MIDDLING = SETTINGS[2:4]
# Numbers of items of the verb lemmas in 2,000 random items of each set: one verb has 1,077, one 262, ...
VERBS = {
    "verbs of agreement": "1077 262 46 20 19 16*2 12*2 11*2 10*2 9 8*3 7*2 6*4 5*4 4*14 3*20 2*43 1*185",
    "verbs of agreement_craft": (
        "864 172 75 58 53 38 35 29 19 18*2 17*3 16 15 14 13 12*2 11*3 10*2 9*2 8 7*6 6*7 5*11 4*9 3*20 2*35 "
        "1*104"
    ),
    "verbs of linzen_testset": (
        "923 132 79 28 26 21 17 16 15 14*2 13*5 12 11*2 10*4 9*7 8*2 7*8 6*13 5*12 4*15 3*34 2*31 1*79"
    ),
    "verbs of agreement_parsed": ("1050 251 44 34 14 13 11*4 10*4 9*4 8*2 7*3 6*8 5*5 4*11 3*22 2*38 1*178"),
}
# Number of seeds, their standard deviation in logits, and the constant.
SEEDS = (*product((2, 3, 5), (0.1, 1.0), (0.3,)), *product((2, 3, 5, 8), (1.5,), (4.6,)))


def one_factor(sizes: list[int]) -> Design:
    """Return a design of one factor whose entries have these numbers of items."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return Design.of(Factors(("verb",), codes[:, None]))


def zipf(n_entries: int, n_items: int) -> list[int]:
    """Return numbers of items that are proportional to 1 / rank."""
    shares = 1 / np.arange(1, n_entries + 1)
    return [int(n) for n in np.maximum(1, np.round(n_items * shares / shares.sum()))]


def parsed(text: str) -> list[int]:
    """Read numbers of items: `12*2` stands for two entries with twelve items each."""
    pairs = (part.partition("*") for part in text.split())
    return [int(n) for n, _, times in pairs for _ in range(int(times or 1))]


def crossed(*levels: int, kept: float = 1.0) -> Design:
    """Return a design with crossed factors, which keeps a random share of the items."""
    codes = np.stack([axis.ravel() for axis in np.indices(levels)], axis=1)
    chosen = np.random.default_rng(0).random(len(codes)) < kept
    return Design.of(Factors(tuple("abcdef"[: len(levels)]), codes[chosen]))


def rows_of(n_rows: int, n_items: int, n_own: int | None = None) -> Design:
    """Return a design of small rows. Verbs are from a common lexicon of 14, or each row has `n_own` verbs."""
    rows = np.repeat(np.arange(n_rows), n_items)
    if n_own is None:
        codes = np.random.default_rng(0).integers(0, 14, len(rows))
    else:
        codes = rows * n_own + np.tile(np.arange(n_items) % n_own, n_rows)
    return Design.of(Factors(("verb",), codes[:, None]), rows)


@cache
def designs() -> dict[str, Design]:
    """Return the designs by name."""
    found = {f"even, {g} × {n}": one_factor([n] * g) for g, n in ((8, 50), (17, 40), (50, 10))}
    found |= {f"Zipf, {g} entries": one_factor(zipf(g, n)) for g, n in ((8, 400), (20, 800), (200, 2000))}
    found |= {f"one of {g} has half": one_factor([20 * (g - 1)] + [20] * (g - 1)) for g in (8, 20, 50)}
    found |= {name: one_factor(parsed(text)) for name, text in VERBS.items()}
    found |= {"crossed 14 × 20": crossed(14, 20), "crossed 20 × 14 × 10": crossed(20, 14, 10, kept=0.3)}
    found |= {f"20 rows of {n}": rows_of(20, n) for n in (5, 3, 2)}
    found |= {f"20 rows, {n} own words": rows_of(20, 10, n) for n in (5, 3, 2, 1)}
    return found


def draw(
    design: Design, setting: tuple[float, float], better: NDArray[np.float64], random: Generator
) -> NDArray[np.bool_]:
    """Draw entries, and return verdicts, (items, models). Models are `better` by these logits."""
    constant, strength = setting
    codes = design.factors.codes
    logits = np.full((len(codes), len(better)), constant) + better
    for column in codes.T:
        # Each of several factors has an equal part of the variance.
        shape = int(column.max()) + 1, len(better)
        shared, own = random.standard_normal((shape[0], 1)), random.standard_normal(shape)
        effects = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own
        logits += strength / np.sqrt(codes.shape[1]) * effects[column]
    return random.random(logits.shape) < logistic(logits)


def truth(constant: float, strength: float) -> float:
    """Return the accuracy over all possible entries."""
    points, weights = np.polynomial.hermite_e.hermegauss(99)
    return float(logistic(constant + strength * points) @ weights / weights.sum())


def of_designs(draws: int, seed: int) -> Iterator[list[object]]:
    """Test accuracies and differences of equal models."""
    for name, design in designs().items():
        everything = np.ones(len(design.rows), bool)
        held, told, wide = {}, {}, {}
        for setting in SETTINGS:
            random, true = np.random.default_rng(seed), truth(*setting)
            ends, points, apart = [], [], 0
            for _ in range(draws):
                correct = draw(design, setting, np.zeros(2), random)
                one = estimate(correct[:, 0], everything, design)
                ends.append((one.low, one.high))
                points.append(one.value)
                apart += differences(correct, design)[0].p < 0.05
            low, high = np.array(ends).T
            held[setting] = ((low <= true) & (true <= high)).mean()
            told[setting] = apart / draws
            wide[setting] = (high - low).mean() / (2 * quantile(None) * np.std(points))
        middling = max(wide[setting] for setting in MIDDLING)
        yield [
            name, f"{min(held.values()):.3f}", f"{max(held.values()):.3f}", f"{max(told.values()):.3f}",
            f"{middling:.2f}", f"{max(wide.values()):.2f}",
        ]  # fmt: skip


def of_data(draws: int, seed: int) -> Iterator[list[object]]:
    """Test data sets without factors: pairs of some verbs, clustered by the words that differ.

    The true accuracy is that over all possible verbs. Every second pair is plural, so the same words differ
    in the opposite direction.
    """
    settings = ((0.3, 0.5), (0.3, 1.0), (1.0, 1.0), (2.5, 0.7))  # with an effect of words
    for n_verbs, even in product((7, 20, 200), (True, False)):
        sizes = [2000 // n_verbs] * n_verbs if even else zipf(n_verbs, 2000)
        verbs = np.repeat(np.arange(n_verbs), sizes)
        pairs = [(f"it verb{verb}s", f"it verb{verb}") for verb in verbs]
        words = [critical_words(pair[:: 1 - place % 2 * 2]) for place, pair in enumerate(pairs)]
        design = Design.of(Factors.of(pd.DataFrame({"critical": words})))
        everything, held, alone, width = np.ones(len(verbs), bool), [], [], []
        for setting in settings:
            random, true = np.random.default_rng(seed), truth(*setting)
            hits = np.zeros((draws, 2), bool)
            for one in range(draws):
                correct = draw(design, setting, np.zeros(1), random)[:, 0]
                found = estimate(correct, everything, design)
                low, high = score_interval(found.value, len(verbs), quantile(None))
                hits[one] = found.low <= true <= found.high, low <= true <= high
                width.append(found.high - found.low)
            held.append(hits[:, 0].mean())
            alone.append(hits[:, 1].mean())
        name = f"{n_verbs} verbs, {'even' if even else 'Zipf'}"
        shares = (f"{one:.3f}" for one in (min(held), max(held), max(alone)))
        yield [name, *shares, f"{np.mean(width):.3f}"]


def of_near_copies(draws: int, seed: int) -> Iterator[list[object]]:
    """Test models that hardly differ: one verdict in 1,000 is inverted, or 5% of the verbs are unknown.

    A model gets all items with an unknown verb wrong. Two models whose accuracies are .03 apart, more than
    the margin of .02, should be called equivalent in at most 5% of draws.
    """
    pairs = ("even, 17 × 40", "even, 50 × 10", "Zipf, 20 entries", "Zipf, 200 entries", "20 rows of 20")
    setting = MIDDLING[1]
    for name, design in (designs() | {"20 rows of 20": rows_of(20, 20)}).items():
        if name not in pairs:
            continue
        codes = design.factors.codes[:, 0]
        shown: list[object] = [name]
        for turned, lacking in ((0.001, 0.0), (0.0, 0.05)):
            random, accuracy = np.random.default_rng(seed), truth(*setting)
            true = turned * (2 * accuracy - 1) + lacking * accuracy
            held, equivalent, width = 0, 0, []
            for _ in range(draws):
                one = draw(design, setting, np.zeros(1), random)[:, 0]
                lacks = random.random(int(codes.max()) + 1) < lacking
                other = np.where(lacks[codes], False, one ^ (random.random(len(one)) < turned))
                (found,) = differences(np.stack([one, other], axis=1), design)
                held += found.low <= true <= found.high
                equivalent += judge_differences([found], DEFAULT_MARGIN)[0].word == "equivalent"
                width.append((found.high - found.low) / 2)
            shown += [f"{held / draws:.3f}", f"{np.mean(width):.3f}"]
        yield [*shown, f"{equivalent / draws:.3f}"]


def of_models(draws: int, seed: int) -> Iterator[list[object]]:
    """Test rank sets of equal models. All sets of a table should hold at the same time."""
    design = one_factor([40] * 17)
    for n_models in (3, 10, 25, 50):
        random, held = np.random.default_rng(seed), 0
        for _ in range(draws):
            found = rank_sets(draw(design, (0.3, 0.5), np.zeros(n_models), random), design)
            held += not found.better.any()
        yield [n_models, f"{held / draws:.3f}"]


def of_seeds(draws: int, seed: int) -> Iterator[list[object]]:
    """Test means over seeds."""
    design = crossed(14, 20)
    for n_seeds, spread, constant in SEEDS:
        random, held, width = np.random.default_rng(seed), 0, []
        true = truth(constant, float(np.hypot(0.7, spread)))
        for _ in range(draws):
            correct = draw(design, (constant, 0.7), spread * random.standard_normal(n_seeds), random)
            found = mean_of_seeds(correct, design)
            held += found.low <= true <= found.high
            width.append(found.high - found.low)
        yield [n_seeds, spread, f"{true:.2f}", f"{held / draws:.3f}", f"{np.mean(width):.3f}"]


def rivals(
    sizes: list[int], right: NDArray[np.float64]
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield other estimators for one factor: a name, and the ends of an interval for each draw.

    Args:
        sizes: (entries,), the numbers of items.
        right: (entries, draws), the numbers of right items.

    Source: Bell & McCaffrey 2002, "Bias reduction in standard errors for linear regression with multi-stage
    samples", Survey Methodology 28(2), for independent items as the working model.
    """
    n = np.array(sizes, float)
    w, shares = n / n.sum(), right / n[:, None]
    p = w @ shares
    sums = w[:, None] * (shares - p)
    plain = len(n) / (len(n) - 1) * (sums**2).sum(axis=0)
    effective = 1 / (w @ w)
    # If items are independent, the sums have the covariance W - ww', and CR2 divides them by 1 - w.
    independent = np.diag(w) - np.outer(w, w)
    scaled = independent / np.sqrt(np.outer(1 - w, 1 - w))
    bell = np.trace(scaled) ** 2 / (scaled**2).sum()
    corrected = (sums**2 / (1 - w)[:, None]).sum(axis=0)
    for name, variance, df in (
        ("entries - 1", plain, len(n) - 1),
        ("1/Σw² - 1", plain, max(effective - 1, 1)),
        ("CR2, Bell & McCaffrey", corrected, max(bell, 1)),
    ):
        q = stdtrit(df, 0.975)
        known = np.where(variance > 0, p * (1 - p) / np.where(variance > 0, variance, 1), effective)
        n_eff = np.minimum(known, n.sum())
        yield (
            name,
            *np.array(
                [
                    score_interval(float(one), float(worth), float(q))
                    for one, worth in zip(p, n_eff, strict=True)
                ]
            ).T,
        )


def flips(sizes: list[int], gaps: NDArray[np.float64], random: Generator) -> float:
    """Return the share of draws in which a sign-flip test finds a significant difference between two models.

    Args:
        sizes: (entries,), the numbers of items.
        gaps: (entries, draws), the differences between the two models in right items.
        random: The generator of the signs.
    """
    signs = random.choice((-1.0, 1.0), (999, len(sizes)))
    return float(((np.abs(signs @ gaps) >= np.abs(gaps.sum(axis=0)) - 1e-9).mean(axis=0) < 0.05).mean())


def of_rivals(draws: int, seed: int) -> Iterator[list[object]]:
    """Test other estimators on designs of one factor in one row, with two equal models."""
    for name, design in designs().items():
        if len(design.clusters) > 1 or design.rows.any():
            continue
        codes = design.factors.codes[:, 0]
        sizes = np.bincount(codes).tolist()
        found: dict[str, list[tuple[float, float]]] = {}
        flipped = []
        for setting in SETTINGS:
            random, true = np.random.default_rng(seed), truth(*setting)
            drawn = np.stack([draw(design, setting, np.zeros(2), random) for _ in range(draws)], axis=2)
            right = np.stack(
                [
                    np.add.reduceat(one, np.flatnonzero(np.diff(codes, prepend=-1)), 0)
                    for one in drawn.transpose(1, 0, 2).astype(float)
                ]
            )
            sd = (right[0].sum(axis=0) / len(codes)).std()
            for rival, low, high in rivals(sizes, right[0]):
                hold = ((low <= true) & (true <= high)).mean()
                found.setdefault(rival, []).append((hold, (high - low).mean() / (2 * quantile(None) * sd)))
            flipped.append(flips(sizes, right[0] - right[1], random))
        cells = []
        for of_one in found.values():
            cells += [f"{min(hold for hold, _ in of_one):.3f}", f"{max(of_one[2][1], of_one[3][1]):.2f}"]
        yield [name, *cells, f"{max(flipped):.3f}"]


TABLES: Tables = {
    "designs": (
        of_designs,
        ["design", "worst setting", "best", "false differences", "width", "widest"],
    ),
    "data": (
        of_data,
        ["pairs without factors", "worst setting", "best", "items independent, at best", "width"],
    ),
    "near": (
        of_near_copies,
        ["design", "turned: holds", "half-width", "missing: holds", "half-width", "equivalent"],
    ),
    "models": (of_models, ["equal models", "all rank sets hold"]),
    "seeds": (of_seeds, ["seeds", "spread, logits", "true accuracy", "interval holds", "width"]),
    "rivals": (
        of_rivals,
        ["design", "entries - 1", "width", "1/Σw² - 1", "width", "CR2", "width", "sign flips"],
    ),
}


if __name__ == "__main__":
    command(TABLES, "Simulate where intervals are hard to get right.")()
