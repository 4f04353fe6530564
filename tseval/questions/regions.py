"""Regions: do formulas over the surprisals of regions hold? As in SyntaxGym (Gauthier et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow.compute as pc

from tseval.questions.columns import hash_column
from tseval.questions.formula import parse, regions_of, values
from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tseval.questions.formula import Region
    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences, WordScores
    from tseval.questions.scores import Score

# What the surprisal of a region is made of the surprisals of its words by.
Metric = Literal["sum", "mean", "median", "range", "max", "min"]
REGION_METRICS: tuple[Metric, ...] = get_args(Metric)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an item should fulfil: a formula over surprisals of regions (`tseval.questions.formula`)."""

    name: str
    formula: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Regions(Question):
    """Predictions on the regions of sentences, whose labels are conditions.

    Attributes:
        predictions: What counts.
        lengths: The number of words of each region: one list column per label, (items, labels).
        metric: What makes one number of the words of a region.
    """

    predictions: tuple[Prediction, ...]
    lengths: pa.Table
    metric: Metric = "sum"

    def regions_of(self, condition: str) -> list[list[int]]:
        """Give the number of words of each region of each sentence under a condition."""
        return [list(lengths or ()) for lengths in self.lengths[condition].to_pylist()]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Refuse every score but `regions`."""
        if score == "regions":
            return None
        choices = score == "choices"
        what = "has no choices after prefixes" if choices else "compares regions, as its predictions say"
        return f"{what}: --score {score} cannot be used"

    def n_verdicts(self, n_items: int) -> int:
        """Count one for each item and prediction."""
        return n_items * len(self.predictions)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Evaluate the formula of every prediction.

        The scores of a single comparison are its two sides, with the sign that makes the better one greater;
        a combination of several has none. Items whose conditions all look alike to the model are undecidable,
        and so are those that ask for first words where the model leaves unscored in what they differ.
        """
        for prediction in self.predictions:
            yield self._decide(prediction, scored, rows)

    def _decide(self, prediction: Prediction, scored: ScoredSentences, rows: RowsByLabel) -> Decided:
        formula = parse(prediction.formula)

        @cache  # the formula, its two sides, and both parts of a difference ask for the same regions
        def surprisal(region: int | None, condition: str) -> NDArray[np.float64]:
            return self._surprisal(scored.words, rows[condition], self.regions_of(condition), region)

        correct = np.asarray(values(formula, surprisal), dtype=np.bool_)
        conditions = {region.condition for region in regions_of(formula)}
        looks = np.stack([scored.looks[rows[condition]] for condition in conditions])
        undecidable = (looks == looks[0]).all(axis=0) & (len(looks) > 1)
        apart = scored.begin_apart(*(rows[condition] for condition in conditions))
        if apart.any():
            undecidable |= apart & np.any([self._begins(region) for region in regions_of(formula)], axis=0)
        sign = {"<": -1.0, ">": 1.0}.get(formula.operator)
        better, worse = np.full((2, len(correct)), np.nan)
        if sign is not None:
            better, worse = (
                np.broadcast_to(sign * values(side, surprisal), len(correct))
                for side in (formula.left, formula.right)
            )
        return Decided(str(prediction), better, worse, correct, undecidable)

    def _surprisal(
        self, words: WordScores, rows: NDArray[np.int64], lengths: Sequence[Sequence[int]], number: int | None
    ) -> NDArray[np.float64]:
        """Give the surprisal of a region of each sentence, in nats; without a number, of all its regions."""
        if self.metric == "sum":
            return -words.region(rows, lengths, number)
        if number is None:  # SyntaxGym adds up the regions, whatever the metric within them
            n_regions = max(map(len, lengths), default=0)
            parts = [self._surprisal(words, rows, lengths, n + 1) for n in range(n_regions)]
            return np.sum(parts, axis=0, initial=0.0) if parts else np.zeros(len(rows))
        reduced = _REDUCE[self.metric]
        return np.array([reduced(-own) for own in words.within(rows, lengths, number)])

    def _begins(self, region: Region) -> NDArray[np.bool_]:
        """Tell in which items a region holds the first word of its sentence."""
        lengths, number = self.regions_of(region.condition), region.number
        return np.array([number is None or own[number - 1] > sum(own[: number - 1]) == 0 for own in lengths])

    def describe(self) -> list[list[str]]:
        """Name each prediction, with its formula, and with the metric where it is not the sum."""
        metric = [] if self.metric == "sum" else [self.metric]  # digests of sums stay what they were
        return [[prediction.name, prediction.formula, *metric] for prediction in self.predictions]

    def hash_into(self, digest: hashlib._Hash) -> None:
        """Add how many regions there are, and how long each is."""
        for name in self.lengths.column_names:
            column = self.lengths.column(name).combine_chunks()
            hash_column(digest, pc.list_value_length(column))
            hash_column(digest, pc.list_flatten(column))

    def take(self, rows: pa.Int64Array) -> Regions:
        """Ask the same about some of the items."""
        return replace(self, lengths=self.lengths.take(rows))


_REDUCE: dict[Metric, Callable[[NDArray[np.float64]], np.float64]] = {
    "mean": np.mean,
    "median": np.median,
    "range": np.ptp,
    "max": np.max,
    "min": np.min,
}
