"""Simulate the coverage of confidence intervals for items that share words, with known true values.

A population has lexical factors with some numbers of entries. Every entry has a random effect, new in each
simulation. The items are all combinations of entries. The logit of a right item is the sum of its entries'
effects and a constant. The true accuracy is the mean over all possible entries. The program prints how often
the true accuracy is in

    Wilson      Wilson's interval, as if items were independent
    one factor  the interval clustered by the first factor only
    clustered   tseval's interval, clustered by all factors

Then it prints the same for differences of two models, ranks, mean ranks, and for means of seeds, their
differences and ranks. A table is for EW and MW of all verbs, clustered by words or by words and lemmas.
Another is for accuracies in context, clustered by words or by words and texts. The nominal coverage is 95%.
With 1,000 simulations, it gives 93.6 to 96.4% in 95 of 100 cases.

    python benchmarks/coverage.py
    python benchmarks/coverage.py --draws 200 --seed 1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import click
import numpy as np
import pandas as pd
import pyarrow as pa
from tabulate import tabulate

from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import (
    average,
    differences,
    differences_of_seeds,
    judge_differences,
    mean_of_seeds,
)
from tseval.analysis.estimates import estimate
from tseval.analysis.inflection import InflectedContexts, count_votes, estimate_votes
from tseval.analysis.ranks import mean_rank_intervals, rank_sets, ranks_of_seeds
from tseval.questions.context_forms import ContextForms
from tseval.questions.inflection import EW, MW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    # Name to the function that makes the rows of a table from the number of draws and the seed, and headings.
    Tables = dict[str, tuple[Callable[[int, int], Iterator[list[object]]], list[str]]]

# Share of the variance of an entry's effect that is common to all models: a rare verb is hard for each.
SHARED = 0.5
MARGIN = 0.02
# Advantage of the best of three architectures, in logits.
BETTER = 0.5


@dataclass(frozen=True)
class Population:
    """Items with randomly drawn entries.

    Attributes:
        levels: Number of entries of each factor.
        strengths: Standard deviation of the effects of each factor's entries, in logits.
        constants: The constant of each row of the table, in logits; each row has all items.
        uneven: Whether some entries of the first factor are in many more items than others, and every fifth
            item has no entry of the second factor.
        unknown: The share of entries of the first factor that a model does not know, so that it guesses.
    """

    levels: tuple[int, ...]
    strengths: tuple[float, ...]
    constants: tuple[float, ...] = (0.3,)
    uneven: bool = False
    unknown: float = 0.0

    @cached_property
    def items(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of all items, (items, factors), and their rows."""
        codes = np.stack([axis.ravel() for axis in np.indices((len(self.constants), *self.levels))], axis=1)
        rows, codes = codes[:, 0], codes[:, 1:]
        if self.uneven:
            random = np.random.default_rng(0)
            kept = random.random(len(codes)) < 1 / (1 + codes[:, 0] / 3)
            rows, codes = rows[kept], codes[kept]
            codes[random.random(len(codes)) < 0.2, 1] = -1
        return codes, rows

    def design(self, n_factors: int) -> Design:
        """Return the design that clusters by the first factors."""
        codes, rows = self.items
        return Design.of(Factors(tuple("abcdef"[:n_factors]), codes[:, :n_factors]), rows)

    def truth(self, better: float = 0.0) -> float:
        """Return the accuracy over all possible entries of a model that is `better` by some logits."""
        points, weights = np.polynomial.hermite_e.hermegauss(99)
        spread = np.sqrt(np.square(self.strengths).sum())
        of_rows = [logistic(constant + better + spread * points) @ weights for constant in self.constants]
        known = float(np.mean(of_rows) / weights.sum())
        return (1 - self.unknown) * known + self.unknown * 0.5

    def draw(self, random: Generator, better: tuple[float, ...] = (0.0,)) -> NDArray[np.bool_]:
        """Draw entries, and return verdicts, (items, models). Models are `better` by these logits."""
        codes, rows = self.items
        logits = np.array(self.constants)[rows][:, None] + np.array(better)
        for n, strength, column in zip(self.levels, self.strengths, codes.T, strict=True):
            shared, own = random.standard_normal((n, 1)), random.standard_normal((n, len(better)))
            effects = strength * (np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own)
            # An item without an entry has a word that no other item has.
            lone = strength * random.standard_normal((int((column < 0).sum()), 1))
            logits[column >= 0] += effects[column[column >= 0]]
            logits[column < 0] += lone
        if self.unknown:
            logits[(random.random(self.levels[0]) < self.unknown)[codes[:, 0]]] = 0
        return random.random(logits.shape) < logistic(logits)


POPULATIONS = {
    "one strong factor": Population((14, 20, 10), (1, 0.1, 0.1)),
    "three crossed factors": Population((20, 14, 10), (0.5, 0.5, 0.5)),
    "three strong factors": Population((20, 14, 10), (1, 1, 1)),
    "accuracy .9": Population((20, 14, 10), (0.5, 0.5, 0.5), (2.5,)),
    "accuracy .98": Population((20, 14, 10), (0.5, 0.5, 0.5), (4.3,)),
    "140 items": Population((10, 14), (0.7, 0.7), (1.2,)),
    "five entries": Population((5, 20, 14), (0.7, 0.5, 0.5)),
    "uneven entries": Population((20, 14, 10), (0.5, 0.5, 0.5), uneven=True),
    "mean of four rows": Population((20, 14), (0.7, 0.7), (0, 0.5, 1, 2)),
    "no clustering": Population((20, 14, 10), (0, 0, 0)),
    "no clustering, .99": Population((20, 14, 10), (0, 0, 0), (4.6,)),
    "almost all right, 1 word in 20 unknown": Population((14, 20, 10), (0.3, 0.3, 0.3), (6,), unknown=0.05),
}
# Logits by which each model is better than the first one.
RANKINGS = {
    "six equal models": (0.0,) * 6,
    "six models, two equal": (0.0, 0.2, 0.4, 0.7, 1.0, 1.0),
    "three groups of two": (0.0, 0.0, 0.7, 0.7, 1.4, 1.4),
}


def logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities for logits."""
    return 1 / (1 + np.exp(-x))


def accuracies(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often intervals of accuracies contain the true one."""
    for name, population in POPULATIONS.items():
        random = np.random.default_rng(seed)
        designs = [population.design(n) for n in (0, 1, len(population.levels))]
        truth, n_items = population.truth(), len(population.items[0])
        held, width = np.zeros(3), 0.0
        for _ in range(draws):
            correct = population.draw(random)[:, 0]
            found = [estimate(correct, np.ones(n_items, bool), design) for design in designs]
            held += [one.low <= truth <= one.high for one in found]
            width += found[-1].high - found[-1].low
        levels = " × ".join(map(str, population.levels))
        shares = (f"{share:.1%}" for share in held / draws)
        yield [name, levels, f"{truth:.3f}", *shares, f"{width / draws:.3f}"]


def pairs(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often intervals of differences hold, and how often "equivalent" is wrong."""
    for name in (
        "one strong factor",
        "three crossed factors",
        "accuracy .9",
        "mean of four rows",
        "no clustering",
    ):
        population = POPULATIONS[name]
        design, random = population.design(len(population.levels)), np.random.default_rng(seed)
        equal = wrong = held = 0
        better = at_margin(population)
        for _ in range(draws):
            (found,) = differences(population.draw(random, (0.0, 0.0)), design)
            equal += found.low <= 0 <= found.high
            (found,) = differences(population.draw(random, (better, 0.0)), design)
            held += found.low <= MARGIN <= found.high
            wrong += judge_differences([found], MARGIN)[0].word == "equivalent"
        yield [name, *(f"{count / draws:.1%}" for count in (equal, held, wrong))]


def at_margin(population: Population) -> float:
    """Return the logits that make a model better by exactly the margin in accuracy."""
    low, high = 0.0, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if population.truth(middle) - population.truth() < MARGIN else (low, middle)
        )
    return low


def rankings(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often all rank sets of a table contain the true ranks, and how often mean ranks do."""
    for name, better in RANKINGS.items():
        population = Population((20, 14), (0.5, 0.5), (0, 0.5, 1))
        design, random = population.design(2), np.random.default_rng(seed)
        truth = np.array([1 + sum(other > one for other in better) for one in better])
        sets, size, of_mean = 0, 0.0, np.zeros(len(better))
        for _ in range(draws):
            correct = population.draw(random, better)
            found = rank_sets(correct, design)
            low, high = np.array(found.low), np.array(found.high)
            sets += bool(((low <= truth) & (truth <= high)).all())
            size += (high - low + 1).mean()
            low, high = mean_rank_intervals(correct, design)
            of_mean += (low <= truth) & (truth <= high)
        shares = sets / draws, of_mean.mean() / draws
        yield [name, f"{shares[0]:.1%}", f"{size / draws:.2f}", f"{shares[1]:.1%}"]


def seeds(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often the interval of a mean of seeds contains the accuracy over all seeds and entries."""
    for n_seeds, spread in ((3, 0.0), (3, 0.3), (5, 0.3), (5, 1.0)):
        # Differences between seeds are one more effect, whose entries are the seeds.
        population, random = Population((20, 14), (0.5, 0.5)), np.random.default_rng(seed)
        truth = Population((20, 14), (0.5, 0.5, spread)).truth()
        design, held, width = population.design(2), 0, 0.0
        for _ in range(draws):
            effects = tuple(spread * random.standard_normal(n_seeds))
            found = mean_of_seeds(population.draw(random, effects), design)
            held += found.low <= truth <= found.high
            width += found.high - found.low
        yield [n_seeds, spread, f"{held / draws:.1%}", f"{width / draws:.3f}"]


def seed_differences(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often intervals of differences of means over seeds contain or exclude 0."""
    for n_seeds, spread in product((2, 3, 5), (0.1, 0.3, 1.0)):
        population, random = Population((20, 14), (0.5, 0.5)), np.random.default_rng(seed)
        design, held, told, width = population.design(2), 0, 0, 0.0
        for _ in range(draws):
            # Three architectures, with the last one better.
            better = np.array([0.0, 0.0, BETTER]).repeat(n_seeds)
            effects = better + spread * random.standard_normal(len(better))
            drawn = np.split(population.draw(random, tuple(effects)), 3, axis=1)
            equal, _, apart = differences_of_seeds(drawn, design)
            held += equal.low <= 0 <= equal.high
            told += apart.high < 0
            width += equal.high - equal.low
        shares = f"{held / draws:.1%}", f"{told / draws:.1%}"
        yield [n_seeds, spread, *shares, f"{width / draws:.3f}"]


def seed_ranks(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often all rank sets of means over seeds hold. Seeds differ in every entry, too."""
    for name, n_seeds, spread in product(RANKINGS, (2, 3, 5), (0.1, 0.3, 1.0)):
        better = np.array(RANKINGS[name])
        population, random = Population((20, 14), (0.5, 0.5)), np.random.default_rng(seed)
        design = population.design(2)
        truth = 1 + (better > better[:, None]).sum(axis=1)
        held, size = 0, 0.0
        for _ in range(draws):
            effects = better.repeat(n_seeds) + spread * random.standard_normal(len(better) * n_seeds)
            drawn = population.draw(random, tuple(effects))
            found = ranks_of_seeds(np.split(drawn, len(better), axis=1), design)
            low, high = np.array(found.low), np.array(found.high)
            held += bool(((low <= truth) & (truth <= high)).all())
            size += (high - low + 1).mean()
        yield [name, n_seeds, spread, f"{held / draws:.1%}", f"{size / draws:.2f}"]


# Subjects, contexts of each, lemmas, and the standard deviation of the log-probability of a lemma.
VERB_DESIGNS = ((10, 4, 600, 0.5), (10, 4, 600, 1.5), (10, 4, 600, 2.5), (20, 4, 300, 2.5), (20, 4, 40, 1.5))
CONSTANT, SUBJECTS, LEMMAS, CELLS = 2.0, 0.7, 1.5, 0.7  # in logits: the mean, three standard deviations


def all_verbs(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often intervals of EW and MW contain the values over all subjects and all lemmas."""
    random = np.random.default_rng(seed)
    logits = CONSTANT + np.hypot(np.hypot(SUBJECTS, LEMMAS), CELLS) * random.standard_normal(2_000_000)
    truth = {EW: (logits > 0).mean(), MW: (1 / (1 + np.exp(-logits))).mean()}
    for n_subjects, each, n_lemmas, uneven in VERB_DESIGNS:
        held, alone, width = (dict.fromkeys(truth, 0.0) for _ in range(3))
        for _ in range(draws):
            contexts = draw_contexts(random, n_subjects, each, n_lemmas, uneven)
            votes = count_votes(contexts)
            for name, value in truth.items():
                interval = estimate_votes(contexts, votes[name], [0])
                words = average(votes[name].values, Design.of(contexts.factors))
                assert interval is not None
                assert words is not None
                held[name] += interval.low <= value <= interval.high
                alone[name] += words.low <= value <= words.high
                width[name] += interval.high - interval.low
        for name, value in truth.items():
            yield [
                name.upper(), f"{n_subjects} × {each}", n_lemmas, uneven, f"{value:.3f}",
                f"{alone[name] / draws:.1%}", f"{held[name] / draws:.1%}", f"{width[name] / draws:.3f}",
            ]  # fmt: skip


def draw_contexts(
    random: Generator, n_subjects: int, each: int, n_lemmas: int, uneven: float
) -> InflectedContexts:
    """Draw the log-probabilities of all verb forms after contexts, with effects of subjects and lemmas."""
    subject = np.repeat(np.arange(n_subjects), each)
    shape = (len(subject), n_lemmas)
    logits = (
        CONSTANT + SUBJECTS * random.standard_normal(n_subjects)[subject, None]
        + LEMMAS * random.standard_normal(n_lemmas) + CELLS * random.standard_normal(shape)
    )  # fmt: skip
    sizes = np.exp(uneven * random.standard_normal(n_lemmas) + 0.5 * random.standard_normal(shape))
    right = sizes / (1 + np.exp(-logits))
    forms = np.log(np.stack((right, sizes - right), axis=2)).reshape(len(subject), -1).astype(np.float32)
    lists = pa.ListArray.from_arrays(np.arange(len(subject) + 1) * forms.shape[1], forms.ravel())
    texts = [str(place) for place in range(len(subject))]
    verdicts = pd.DataFrame({"context": texts, "number": "sing", "subject.entry": subject.astype(str)})
    pairs = [(f"r{lemma}", f"w{lemma}") for lemma in range(n_lemmas)]
    scored = pa.table({"sentence": texts, "forms": lists})
    return InflectedContexts.of(verdicts, np.zeros(len(subject), dtype=np.int64), ContextForms(scored), pairs)


@dataclass(frozen=True)
class InContext(Population):
    """Items that are each scored after several texts. The texts are the last factor.

    Attributes:
        each: The number of texts for each item, as with `tseval run --contexts`.
    """

    each: int = 1

    @cached_property
    def items(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of all items after each of their texts. All texts have the same number of items."""
        *words, n_texts = self.levels
        codes = np.stack([axis.ravel() for axis in np.indices(words)], axis=1)
        first = np.random.default_rng(0).permutation(len(codes))
        texts = (first[:, None] + np.arange(self.each) * (n_texts // self.each)) % n_texts
        codes = np.column_stack((codes.repeat(self.each, axis=0), texts.ravel()))
        return codes, np.zeros(len(codes), dtype=np.int64)


# Number of texts of an item, number of all texts, and standard deviation of the effect of a text, in logits.
CONTEXT_DESIGNS = tuple(product((1, 5), (10, 30), (0.0, 0.5, 1.0)))


def in_context(draws: int, seed: int) -> Iterator[list[object]]:
    """Count how often intervals contain the accuracy over all words and all texts before the items."""
    for each, n_texts, strength in CONTEXT_DESIGNS:
        random = np.random.default_rng(seed)
        found = InContext((14, 10, n_texts), (0.5, 0.5, strength), each=each)
        n_items = len(found.items[0])
        truth, held, alone, width = found.truth(), 0, 0, 0.0
        for _ in range(draws):
            verdicts = found.draw(random)[:, 0]
            both, words = (estimate(verdicts, np.ones(n_items, bool), found.design(n)) for n in (3, 2))
            held += both.low <= truth <= both.high
            alone += words.low <= truth <= words.high
            width += both.high - both.low
        yield [each, n_texts, strength, f"{alone / draws:.1%}", f"{held / draws:.1%}", f"{width / draws:.3f}"]


TABLES: Tables = {
    "accuracies": (
        accuracies,
        ["population", "entries", "true accuracy", "Wilson", "one factor", "clustered", "width"],
    ),
    "pairs": (pairs, ["population", "models equal", f"{MARGIN} apart", f"{MARGIN} apart, called equivalent"]),
    "rankings": (rankings, ["models", "all rank sets hold", "ranks in a set", "mean ranks hold"]),
    "seeds": (seeds, ["seeds", "spread of seeds, logits", "interval holds", "width"]),
    "seed-differences": (
        seed_differences,
        ["seeds", "spread of seeds, logits", "equal: includes 0", f"{BETTER} logits apart: found", "width"],
    ),
    "seed-ranks": (
        seed_ranks,
        ["models", "seeds", "spread of seeds, logits", "all rank sets hold", "ranks in a set"],
    ),
    "all-verbs": (
        all_verbs,
        [
            "", "subjects × contexts", "lemmas", "uneven lemmas, s.d. of the logarithm", "truth",
            "words alone", "words and lemmas", "width",
        ],
    ),
    "contexts": (
        in_context,
        [
            "texts of an item", "texts", "s.d. of a text, logits", "words alone", "words and texts", "width",
        ],
    ),
}  # fmt: skip


def command(tables: Tables, about: str) -> click.Command:
    """Return the command that prints some of the tables, or all."""

    @click.command(help=about)
    @click.option("--draws", type=click.IntRange(min=1), default=1_000, show_default=True)
    @click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
    @click.option(
        "--only",
        type=click.Choice(list(tables)),
        multiple=True,
        help="Compute only this table; may be repeated.",
    )
    def main(draws: int, seed: int, only: tuple[str, ...]) -> None:
        for name in only or tables:
            rows, headings = tables[name]
            click.echo(tabulate(list(rows(draws, seed)), headings, "pipe", disable_numparse=True))
            click.echo()

    return main


if __name__ == "__main__":
    command(TABLES, "Simulate how often intervals include the true value.")()
