"""Regions: do formulas over the surprisals of regions hold? As in SyntaxGym (Gauthier et al. 2020).

`tseval.questions.formulas` describes formulas, and how they differ from those of SyntaxGym.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.questions.columns import hash_column
from tseval.questions.formulas import (
    Either,
    Mark,
    Operation,
    Region,
    differences,
    interactions_of,
    parse,
    parts_of,
    regions_of,
    signed,
    values,
)
from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.questions.formulas import Node, RegionPlace, Surprisal
    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score
    from tseval.questions.unknown import UnknownWords
    from tseval.questions.word_scores import WordScores


# The function that turns the surprisals of the words of a region into one number.
Metric = Literal["sum", "mean", "median", "range", "max", "min"]
REGION_METRICS: tuple[Metric, ...] = get_args(Metric)
ALL_PREDICTIONS = "all predictions"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A formula over surprisals of regions that an item should fulfil (`tseval.questions.formulas`)."""

    name: str
    formula: str

    def __str__(self) -> str:
        return self.name


def with_all(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """Add the conjunction of all predictions, if there are several (Hu et al. 2020, section 3)."""
    if len(predictions) == 1:
        return tuple(predictions)
    every = " & ".join(f"[{prediction.formula}]" for prediction in predictions)
    return (*predictions, Prediction(ALL_PREDICTIONS, every))


@dataclass(frozen=True, slots=True)
class Regions(Question):
    """Predictions about the regions of sentences; the labels are conditions."""

    predictions: tuple[Prediction, ...]
    lengths: pa.Table  # words of each region: one list column per label, (items, labels)
    metric: Metric = "sum"  # how the words of a region become one number
    named: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by label: region name to number

    def regions_of(self, condition: str) -> list[list[int]]:
        """Return the number of words of each region of each sentence under a condition."""
        return [list(lengths or ()) for lengths in self.lengths[condition].to_pylist()]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return an error text for every score but `regions`."""
        if score == "regions":
            return None
        choices = score == "choices"
        reason = "has no choices between symbols" if choices else "has predictions that compare regions"
        return f"{reason}, so --score {score} is not possible.\n  Write --score regions."

    def n_verdicts(self, n_items: int) -> int:
        """Count one verdict for each item and prediction."""
        return n_items * len(self.predictions)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Evaluate the formula of every prediction, with the surprisals in it as features.

        The scores of a single comparison are its two sides, with the sign that makes the better one greater;
        a combination of comparisons has no scores. An item is undecidable if all its conditions look the same
        to the model, or if two conditions of an interaction do, because this changes the question. It is also
        undecidable if its conditions differ in unscored first words that a region contains. Half-known items
        are undecidable too, unless the rule is to compare them.
        """

        @cache  # formulas, their two sides, and both parts of a difference use the same regions
        def surprisal(place: RegionPlace, condition: str, *other_conditions: str) -> NDArray[np.float64]:
            if other_conditions:
                return _of_either(
                    [(surprisal(place, label), rows[label]) for label in (condition, *other_conditions)]
                )
            surprisals = self._surprisal(scored.words, rows[condition], condition, place)
            if scored.words.unfinished.any():
                whole_sentences = self._compares_whole(scored.words, rows, place)
                surprisals = np.where(whole_sentences, -scored.words.totals[rows[condition]], surprisals)
            return surprisals

        def scaled(place: RegionPlace, condition: str) -> NDArray[np.float64]:
            unit = str(scored.region_length)
            span = self.span(Region(place, condition))
            lengths = scored.words.lengths_within(rows[condition], *span, unit)
            return surprisal(place, condition) / lengths

        compared = {str(region): surprisal(region.place, region.condition) for region in self.compared()}
        features = pa.table(
            {name: pa.array(column, pa.float64(), from_pandas=True) for name, column in compared.items()}
        )
        for prediction in self.predictions:
            decided = self._decide(prediction, scored, rows, scaled if scored.region_length else surprisal)
            yield replace(decided, features=features)

    def _decide(
        self, prediction: Prediction, scored: ScoredSentences, rows: RowsByLabel, surprisal: Surprisal
    ) -> Decided:
        formula = parse(prediction.formula)
        n_items = len(next(iter(rows.values())))
        correct = np.broadcast_to(np.asarray(values(formula, surprisal), dtype=np.bool_), n_items)
        conditions = {region.condition for region in regions_of(formula)}
        looks = np.stack([scored.looks[rows[condition]] for condition in conditions])
        undecidable = (looks == looks[0]).all(axis=0) & (len(looks) > 1)
        compares_nothing = partial(self._compares_nothing, scored=scored, rows=rows)
        undecidable |= self._unknown(formula, compares_nothing, surprisal)
        for first, second in chain.from_iterable(
            combinations(pair_list, 2) for pair_list in interactions_of(formula)
        ):
            undecidable |= scored.looks[rows[first]] == scored.looks[rows[second]]
        different_starts = scored.begin_apart(*(rows[condition] for condition in conditions))
        if different_starts.any():
            undecidable |= different_starts & np.any(
                [self._begins(region) for region in regions_of(formula)], axis=0
            )
        half_known = None
        if scored.unknown_words.of_rows:

            def says_nothing(node: Operation) -> NDArray[np.bool_]:
                return compares_nothing(node) | self.half_known(node, scored.unknown_words, rows)

            half_known = self._unknown(formula, says_nothing, surprisal) & ~undecidable
            if not scored.compares_half_known:
                undecidable |= half_known
        for region in regions_of(formula):  # NaN if words share a piece with others
            undecidable |= np.isnan(surprisal(region.place, region.condition))
        sign = {"<": -1.0, ">": 1.0}.get(formula.operator)
        better, worse = np.full((2, n_items), np.nan)
        if sign is not None:
            sides = (sign * values(side, surprisal) for side in (formula.left, formula.right))
            better, worse = (np.broadcast_to(side, n_items) for side in sides)
        return Decided(str(prediction), better, worse, correct, undecidable, half_known=half_known)

    def _unknown(
        self, node: Operation, says_nothing: Callable[[Operation], NDArray[np.bool_]], surprisal: Surprisal
    ) -> NDArray[np.bool_]:
        """Return the items in which the truth of a statement is unknown, (items,).

        `says_nothing` decides this for a comparison. Of two statements, a known false one makes `&` false,
        and a known true one makes `|` true.
        """
        above: list[Operation] = []
        while node.operator in "&|" and isinstance(node.left, Operation):
            above.append(node)
            node = node.left
        unknown, value = says_nothing(node), np.asarray(values(node, surprisal))
        for statement in reversed(above):
            assert isinstance(statement.right, Operation)
            right_unknown = self._unknown(statement.right, says_nothing, surprisal)
            right, settling = np.asarray(values(statement.right, surprisal)), statement.operator == "|"
            settled = ((value == settling) & ~unknown) | ((right == settling) & ~right_unknown)
            unknown = (unknown | right_unknown) & ~settled
            value = (np.logical_or if settling else np.logical_and)(value, right)
        return unknown

    def _compares_nothing(
        self, comparison: Operation, scored: ScoredSentences, rows: RowsByLabel
    ) -> NDArray[np.bool_]:
        """Return the items in which both sides of a comparison have the same regions, (items,).

        Regions are compared as the model sees them. In an interaction, conditions must look the same in
        pairs. If probabilities are added, all texts of one side must be among those of the other.
        """
        parts = list(signed(comparison))
        if any(isinstance(side, Either) for side in (comparison.left, comparison.right)):
            left, right = (
                [scored.looks[rows[region.condition]] for region in regions_of(side)]
                for side in (comparison.left, comparison.right)
            )
            return _all_among(left, right) | _all_among(right, left)
        contents = [(scored.looks[rows[region.condition]], *self.span(region)) for _, region in parts]
        result: NDArray[np.bool_] = np.ones(len(next(iter(rows.values()))), dtype=np.bool_)
        for side in contents:
            equal = ([a == b for a, b in zip(side, other_side, strict=True)] for other_side in contents)
            matches = [np.logical_and.reduce(parts_equal) for parts_equal in equal]
            result &= (
                np.sum([sign * is_same for (sign, _), is_same in zip(parts, matches, strict=True)], axis=0)
                == 0
            )
        return result

    def half_known(
        self, comparison: Operation, unknown: UnknownWords, rows: RowsByLabel
    ) -> NDArray[np.bool_]:
        """Return the items in which a comparison is half known, (items,).

        In these, some region up to the end of the compared regions has an unknown word under one condition
        and not under the other. In an interaction, the two conditions of each difference are compared. A
        region that is compared with a number is not half known.
        """
        half_known = np.zeros(len(next(iter(rows.values()))), dtype=np.bool_)
        for terms in differences(comparison):
            if len(terms) > 1:
                half_known |= self._have_different_unknown(terms, unknown, rows)
        return half_known

    def _have_different_unknown(
        self, terms: Sequence[tuple[int, Region]], unknown: UnknownWords, rows: RowsByLabel
    ) -> NDArray[np.bool_]:
        """Return the items in which added and subtracted regions have different unknown words, (items,)."""
        spans = [(sign, region.condition, *self.span(region)) for sign, region in terms]
        any_unknown = np.any([unknown.kinds[rows[label]] > 0 for _, label, *_ in spans], axis=0)
        is_apart = np.zeros(len(any_unknown), dtype=np.bool_)
        for item in np.flatnonzero(any_unknown).tolist():
            ends: dict[str, int] = {}
            balance = 0
            for sign, label, before, lengths in spans:
                start = int(before[item])
                stop = start + int(lengths[item])
                ends[label] = max(stop, ends.get(label, 0))
                balance += sign * unknown.within(int(rows[label][item]), start, stop).total()
            read = {
                label: frozenset(self._unknown_in(label, item, int(rows[label][item]), end, unknown).items())
                for label, end in ends.items()
            }
            sides = (
                Counter(read[label] for sign, label, *_ in spans if sign == sign_wanted)
                for sign_wanted in (1, -1)
            )
            is_apart[item] = balance != 0 or len({frozenset(side.items()) for side in sides}) > 1
        return is_apart

    def _unknown_in(self, label: str, item: int, row: int, end: int, unknown: UnknownWords) -> Counter[int]:
        """Count the unknown words of each region of a sentence, by region number, up to a word."""
        stops = np.cumsum(self.regions_of(label)[item])
        positions = [position for position, _ in unknown.of_rows.get(row, ()) if position < end]
        return Counter(np.searchsorted(stops, positions, side="right").tolist())

    def compared(self) -> list[Region]:
        """Return the regions in predictions: by place in order of mention, each with all its conditions."""
        parts = (part for prediction in self.predictions for part in parts_of(parse(prediction.formula)))
        regions = dict.fromkeys(part for part in parts if isinstance(part, Region))
        places = list(dict.fromkeys(region.place for region in regions))
        labels = self.lengths.column_names
        return sorted(
            regions, key=lambda region: (places.index(region.place), labels.index(region.condition))
        )

    def span(self, region: Region) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the place of a region in its sentences: words before it and words in it, (items,) each."""
        of_items, place = self.regions_of(region.condition), region.place
        if place is None:
            n_words = np.array([sum(item_lengths) for item_lengths in of_items], dtype=np.int64)
            return np.zeros_like(n_words), n_words
        number = self.named[region.condition][place.name] if isinstance(place, Mark) else place
        before = np.array([sum(item_lengths[: number - 1]) for item_lengths in of_items], dtype=np.int64)
        length = np.array([item_lengths[number - 1] for item_lengths in of_items], dtype=np.int64)
        if isinstance(place, Mark) and place.after:
            return before + length + place.after - 1, np.ones_like(length)
        return before, length

    def _surprisal(
        self, words: WordScores, rows: NDArray[np.int64], condition: str, place: RegionPlace
    ) -> NDArray[np.float64]:
        if place is None and self.metric == "sum":  # word scores may have been corrected, so no sum of these
            return -words.totals[rows]
        if place is None:  # SyntaxGym adds up the regions, with any metric within them
            n_regions = max(map(len, self.regions_of(condition)), default=0)
            parts = [self._surprisal(words, rows, condition, n + 1) for n in range(n_regions)]
            return np.sum(parts, axis=0, initial=0.0) if parts else np.zeros(len(rows))
        before, lengths = self.span(Region(place, condition))
        if self.metric == "sum":
            return -words.sums_within(rows, before, lengths)
        reduced = _REDUCE[self.metric]
        return np.array(
            [reduced(-word_surprisals) for word_surprisals in words.within(rows, before, lengths)]
        )

    def compares_continuations(self) -> bool:
        """Return whether predictions only compare two continuations, which are region 2."""
        formulas = [parse(prediction.formula) for prediction in self.predictions]
        sides = [side for formula in formulas for side in (formula.left, formula.right)]
        return self.metric == "sum" and all(isinstance(side, Region) and side.place == 2 for side in sides)

    def _compares_whole(self, words: WordScores, rows: RowsByLabel, place: RegionPlace) -> NDArray[np.bool_]:
        """Return the items in which whole sentences are compared instead of a region, (items,).

        This is for a piece with letters of the region and of the text before it. If only continuations of the
        same text are compared, up to the end, the difference between whole sentences is the same.
        """
        formulas = [parse(prediction.formula) for prediction in self.predictions]
        sides = [side for formula in formulas for side in (formula.left, formula.right)]
        is_whole = np.zeros(len(next(iter(rows.values()))), dtype=np.bool_)
        regions = [region for side in sides for region in regions_of(side)]
        plain = all(isinstance(side, Region | Either) for side in sides)
        if (
            not plain
            or place is None
            or self.metric != "sum"
            or {region.place for region in regions} != {place}
        ):
            return is_whole
        spans = {region.condition: self.span(region) for region in regions}
        sums = [words.sums_within(rows[label], *span) for label, span in spans.items()]
        for item in np.flatnonzero(np.isnan(sums).any(axis=0)).tolist():
            before = set()
            for label, (starts, lengths) in spans.items():
                words_of_text = str(words.texts[int(rows[label][item])].as_py()).split()
                at_end = starts[item] + lengths[item] == len(words_of_text)
                before.add(tuple(words_of_text[: int(starts[item])]) if at_end else label)
            is_whole[item] = len(before) == 1
        return is_whole

    def _begins(self, region: Region) -> NDArray[np.bool_]:
        """Return the items in which a region has the first word of its sentence."""
        before, lengths = self.span(region)
        begins: NDArray[np.bool_] = (before == 0) & (lengths > 0)
        return begins

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield predictions that compare sums over different numbers of words."""
        for prediction in self.predictions:
            if self.metric == "sum" and prediction.name != ALL_PREDICTIONS:
                for part in parts_of(parse(prediction.formula)):
                    if isinstance(part, Operation) and part.operator in "<>=":
                        yield from self._unequal(prediction, part)

    def _unequal(self, prediction: Prediction, comparison: Operation) -> Iterator[tuple[str, str]]:
        """Yield a warning if sides have different numbers of words (subtracted regions count as negative)."""
        regions = list(dict.fromkeys(part for part in parts_of(comparison) if isinstance(part, Region)))
        if len(regions) < 2:  # a region against a number
            return
        balance = np.broadcast_to(self._n_words(comparison), len(self.lengths))
        unequal = np.flatnonzero(balance)
        if len(unequal):
            listing = ", ".join(f"{region} {self.span(region)[1][unequal[0]]}" for region in regions)
            items = f"{len(unequal):,} of {len(balance):,} items"
            yield prediction.name, f"{items} compare sums over different numbers of words: {listing}"

    def _n_words(self, node: Node) -> NDArray[np.int64]:
        """Count the words of added regions, minus those of subtracted regions."""
        if isinstance(node, Region):
            return self.span(node)[1]
        if isinstance(node, Either):
            longest: NDArray[np.int64] = np.max([self.span(region)[1] for region in node.regions], axis=0)
            return longest
        if isinstance(node, float):
            return np.zeros((), dtype=np.int64)
        left, right = self._n_words(node.left), self._n_words(node.right)
        return left + right if node.operator == "+" else left - right

    def describe(self) -> list[list[str]]:
        """Return the name and formula of each prediction, and the metric if it is not the sum."""
        metric = [] if self.metric == "sum" else [self.metric]  # digests of sums must not change
        return [[prediction.name, prediction.formula, *metric] for prediction in self.predictions]

    def hash_into(self, digest: hashlib._Hash) -> None:
        """Add the number of regions, their lengths and their names."""
        for name in self.lengths.column_names:
            column = self.lengths.column(name).combine_chunks()
            hash_column(digest, pc.list_value_length(column))
            hash_column(digest, pc.list_flatten(column))
        if self.named:
            digest.update(json.dumps(self.named, sort_keys=True).encode())

    def feature_types(self) -> list[pa.Field[Any]]:
        """Return the surprisals in predictions, in nats, named as `match.4` or `what_gap.critical`."""
        return [pa.field(str(region), pa.float64()) for region in self.compared()]

    def take(self, rows: pa.Int64Array) -> Regions:
        """Return the question for some of the items."""
        return replace(self, lengths=self.lengths.take(rows))


def _of_either(surprisals: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]]) -> NDArray[np.float64]:
    """Return the surprisal of one text or another from the surprisals and rows; equal texts count once."""
    logprobs = np.stack([-surprisal for surprisal, _ in surprisals])
    for index, (_, row) in enumerate(surprisals):
        for _, earlier in surprisals[:index]:
            logprobs[index, row == earlier] = -np.inf
    surprisal: NDArray[np.float64] = -np.logaddexp.reduce(logprobs, axis=0)
    return surprisal


def _all_among(texts: Sequence[NDArray[Any]], other_texts: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """Return the items in which all texts of one side are among those of the other, (items,)."""
    are_among: NDArray[np.bool_] = np.all(
        [np.any([text == other_text for other_text in other_texts], axis=0) for text in texts], axis=0
    )
    return are_among


_REDUCE: dict[Metric, Callable[[NDArray[np.float64]], np.float64]] = {
    "mean": np.mean,
    "median": np.median,
    "range": np.ptp,
    "max": np.max,
    "min": np.min,
}
