"""Regions: do formulas over the surprisals of regions hold? As in SyntaxGym (Gauthier et al. 2020).

`(5;%match%)` is the surprisal of region 5 under the condition `match`, `(*;%match%)` that of its whole
sentence. Where regions have names, `match.critical` is that of the region `critical`, `match.critical+1` that
of the first word behind it, and `match.*` that of the whole sentence. Numbers, `+ -`, the comparisons
`< > =`, `& |`, and brackets of any shape combine them, binding in this order, and within a group alike, from
left to right: `A | B & C` is `(A | B) & C`. Two values are equal within a thousandth of a nat or a
hundred-thousandth of their size.

Source: SyntaxGym (Gauthier et al. 2020, ACL demonstrations), as its program reads them, syntaxgym-core 0.6.0.
Departures: names of regions are ours; `1 < 2 < 3`, of which that program reads the beginning, is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, combinations
from math import isinf
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import suggest
from tseval.questions import Decided, Question, hash_column

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.questions import RowsByLabel, Score
    from tseval.questions.scored import ScoredSentences, WordScores
    from tseval.questions.unknown import UnknownWords

    Surprisal = Callable[["RegionPlace", str], NDArray[np.float64]]


LITERAL = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERED = r"\(\s*(\d+|\*)\s*;\s*%([^%]+)%\s*\)"
# Without spaces, `critical+1` is a word; `critical + 1` adds a nat.
NAMED = r"([^\W\d]\w*)\.(?:([^\W\d]\w*)(?:\+([1-9]\d?)(?![\w.]))?|\*)"
TOKEN = re.compile(rf"\s*(?:{NUMBERED}|{NAMED}|({LITERAL})|([-+<>=&|()\[\]{{}}]))")
CLOSING = {"(": ")", "[": "]", "{": "}"}
SIGNS = {"+": 1.0, "-": -1.0}
# From the loosest to the tightest.
LEVELS = ("&|", "<>=", "+-")
DEEPEST = 50  # brackets within brackets


@dataclass(frozen=True, slots=True)
class Mark:
    """A region by its name, or a word behind it: the first where `after` is 1, and so on."""

    name: str
    after: int = 0

    def __str__(self) -> str:
        return f"{self.name}+{self.after}" if self.after else self.name


# A region by its number or its name; None for the whole sentence.
RegionPlace = int | Mark | None


@dataclass(frozen=True, slots=True)
class Region:
    """The surprisal of a region under a condition."""

    place: RegionPlace
    condition: str

    def __str__(self) -> str:
        return f"{self.condition}.{'*' if self.place is None else self.place}"


@dataclass(frozen=True, slots=True)
class Operation:
    """Two parts and what joins them."""

    operator: str
    left: Node
    right: Node


Node = Region | Operation | float


def parse(text: str) -> Operation:
    """Read a formula."""
    tokens: list[str | Region | float] = []
    position = 0
    while position < len(text.rstrip()):
        found = TOKEN.match(text, position)
        if not found:
            raise ValueError(f"has a part that tseval cannot read, at {text[position:].strip()[:20]!r}")
        number, numbered, condition, name, after, literal, mark = found.groups()
        if literal and isinf(float(literal)):
            raise ValueError(f"has the number {literal[:20]}, which is too large")
        if numbered:
            tokens.append(Region(None if number == "*" else int(number), numbered))
        elif condition:
            tokens.append(Region(Mark(name, int(after or 0)) if name else None, condition))
        else:
            tokens.append(float(literal) if literal else mark)
        position = found.end()
    tree = _Parser(tokens).parse()
    if not isinstance(tree, Operation) or not _states(tree):
        raise ValueError("compares nothing, but must state something that is true or false, as in (1) < (2)")
    return tree


class _Parser:
    """Reads tokens from left to right, the loosest operators first."""

    def __init__(self, tokens: list[str | Region | float]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
        tree = self._level(0)
        if self._at < len(self._tokens):
            raise ValueError(f"is complete before {self._tokens[self._at]}, which cannot follow it")
        return tree

    def _next(self) -> str | Region | float | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _level(self, level: int) -> Node:
        if level == len(LEVELS):
            return self._atom()
        tree = self._level(level + 1)
        while isinstance(mark := self._next(), str) and mark in LEVELS[level]:
            self._at += 1
            tree = _joined(mark, tree, self._level(level + 1))
        return tree

    def _atom(self) -> Node:
        token = self._next()
        self._at += 1
        if isinstance(token, Region | float):
            return token
        signed = self._next()
        if isinstance(token, str) and token in SIGNS and isinstance(signed, float):
            self._at += 1
            return SIGNS[token] * signed
        if token not in CLOSING or self._depth == DEEPEST:
            raise ValueError(
                "ends before it is complete: a region or a number is missing at its end"
                if token is None
                else f"has {token} in a place where it cannot be"
            )
        self._depth += 1
        tree = self._level(0)
        self._depth -= 1
        if self._next() != CLOSING[token]:
            raise ValueError(f"has an opening bracket {token} without a closing one")
        self._at += 1
        return tree


def _states(node: Node) -> bool:
    """Whether a part is true or false, rather than a number."""
    return isinstance(node, Operation) and node.operator not in LEVELS[-1]


def _joined(operator: str, left: Node, right: Node) -> Operation:
    if {_states(left), _states(right)} != {operator in "&|"}:
        wanted = "statements" if operator in "&|" else "numbers"
        raise ValueError(f"has the operator {operator} between parts that are not {wanted}")
    return Operation(operator, left, right)


def regions_of(node: Node) -> set[Region]:
    """Collect the regions that a formula refers to."""
    return {part for part in parts_of(node) if isinstance(part, Region)}


def regions_in(formula: str, known: Mapping[str, Collection[int | str]]) -> set[Region]:
    """Give the regions that a formula is about; by condition, their numbers and names are known.

    Raises:
        ValueError: What the formula does wrong; of a name, as a second argument, what it could be.
    """
    regions = regions_of(parse(formula))
    if not regions:
        raise ValueError("names no region, such as (1) or name.region")
    for region in sorted(regions, key=str):
        place = region.place.name if isinstance(region.place, Mark) else region.place
        own = known.get(region.condition, ())
        for what, name, there in (("condition", region.condition, known), ("region", place, own)):
            if name is not None and name not in there:
                hint = suggest(str(name), map(str, there), f"{what.title()}s")
                raise ValueError(f"names the {what} {str(name)!r}, which the items do not have", hint)
    return regions


def parts_of(node: Node) -> Iterator[Node]:
    """Give a formula and all its parts, from left to right."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Operation):
            waiting += part.right, part.left


def _signed(node: Node) -> Iterator[tuple[int, Region]]:
    """Give the regions of a sum, with the sign of each; of a comparison as if all stood on its left side."""
    waiting: list[tuple[int, Node]] = [(1, node)]
    while waiting:
        sign, node = waiting.pop()
        if isinstance(node, Region):
            yield sign, node
        elif isinstance(node, Operation):
            waiting += (sign if node.operator == "+" else -sign, node.right), (sign, node.left)


def _differences(comparison: Operation) -> list[list[tuple[int, Region]]]:
    """Give what is set against what: each side that is a difference alone, else one side and the other."""
    sides = [list(_signed(side)) for side in (comparison.left, comparison.right)]
    apart = [side for side in sides if len({sign for sign, _ in side}) > 1]
    return apart or [list(_signed(comparison))]


def interactions_of(node: Node) -> Iterator[list[str]]:
    """Give the conditions of every comparison of differences, `b.x - a.x > d.x - c.x` and the like."""
    for part in parts_of(node):
        if isinstance(part, Operation) and part.operator in LEVELS[1]:
            operators = {one.operator for one in parts_of(part) if isinstance(one, Operation)}
            if "-" in operators:
                yield sorted({region.condition for region in regions_of(part)})


def values(node: Node, surprisal: Surprisal) -> NDArray[np.float64] | NDArray[np.bool_]:
    """Evaluate a formula, or a part of it, for many items at once; surprisals are in nats, (items,)."""
    # Down the left parts by a loop: `1 + 1 + ... + 1` is as deep there as it is long.
    above: list[Operation] = []
    while isinstance(node, Operation):
        above.append(node)
        node = node.left
    found = surprisal(node.place, node.condition) if isinstance(node, Region) else np.array(node)
    for operation in reversed(above):
        found = _OPERATIONS[operation.operator](found, values(operation.right, surprisal))
    return found


_OPERATIONS: dict[str, Callable[..., NDArray[np.float64] | NDArray[np.bool_]]] = {
    "+": np.add,
    "-": np.subtract,
    "<": np.less,
    ">": np.greater,
    "=": lambda left, right: np.asarray(np.isclose(left, right, rtol=1e-5, atol=1e-3)),
    "&": np.logical_and,
    "|": np.logical_or,
}


# What the surprisal of a region is made of the surprisals of its words by.
Metric = Literal["sum", "mean", "median", "range", "max", "min"]
REGION_METRICS: tuple[Metric, ...] = get_args(Metric)
ALL_PREDICTIONS = "all predictions"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an item should fulfil: a formula over surprisals of regions (`tseval.questions.regions`)."""

    name: str
    formula: str

    def __str__(self) -> str:
        return self.name


def with_all(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """Add to several predictions that an item should fulfil all of them (Hu et al. 2020, section 3)."""
    if len(predictions) == 1:
        return tuple(predictions)
    every = " & ".join(f"[{prediction.formula}]" for prediction in predictions)
    return (*predictions, Prediction(ALL_PREDICTIONS, every))


@dataclass(frozen=True, slots=True)
class Regions(Question):
    """Predictions on the regions of sentences, whose labels are conditions."""

    predictions: tuple[Prediction, ...]
    lengths: pa.Table  # words of each region: one list column per label, (items, labels)
    metric: Metric = "sum"  # what makes one number of the words of a region
    named: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by label; name to number

    def regions_of(self, condition: str) -> list[list[int]]:
        """Give the number of words of each region of each sentence under a condition."""
        return [list(lengths or ()) for lengths in self.lengths[condition].to_pylist()]

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Refuse every score but `regions`."""
        if score == "regions":
            return None
        choices = score == "choices"
        what = "has no choices between symbols" if choices else "has predictions that compare regions"
        return f"{what}, so --score {score} is not possible.\n  Write --score regions."

    def n_verdicts(self, n_items: int) -> int:
        """Count one for each item and prediction."""
        return n_items * len(self.predictions)

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Evaluate the formula of every prediction, and tell the surprisals that it is evaluated from.

        The scores of a single comparison are its two sides, with the sign that makes the better one greater;
        a combination of several has none. Items whose conditions all look alike to the model are undecidable;
        so are those of an interaction two of whose conditions do, as it then asks something else; and so are
        those that ask for first words where the model leaves unscored in what they differ; and those that are
        half known, unless these are to be compared.
        """

        @cache  # formulas, their two sides, and both parts of a difference ask for the same regions
        def surprisal(place: RegionPlace, condition: str) -> NDArray[np.float64]:
            found = self._surprisal(scored.words, rows[condition], condition, place)
            if scored.words.unfinished.any():
                whole = self._compares_whole(scored.words, rows, place)
                found = np.where(whole, -scored.words.totals[rows[condition]], found)
            return found

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
        nothing = partial(self._says_nothing, scored=scored, rows=rows)
        undecidable |= self._unknown(formula, nothing, surprisal)
        for one, other in chain.from_iterable(combinations(own, 2) for own in interactions_of(formula)):
            undecidable |= scored.looks[rows[one]] == scored.looks[rows[other]]
        apart = scored.begin_apart(*(rows[condition] for condition in conditions))
        if apart.any():
            undecidable |= apart & np.any([self._begins(region) for region in regions_of(formula)], axis=0)
        half_known = None
        if scored.unknown_words.of_rows:

            def says_nothing(node: Operation) -> NDArray[np.bool_]:
                return nothing(node) | self.half_known(node, scored.unknown_words, rows)

            half_known = self._unknown(formula, says_nothing, surprisal) & ~undecidable
            if not scored.compares_half_known:
                undecidable |= half_known
        for region in regions_of(formula):  # not a number where words share a piece with others
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
        """Tell in which items nothing says whether a statement holds, (items,).

        `says_nothing` tells it of a comparison. Of two statements, one that is known to be false makes `&`
        false, and one that is known to be true makes `|` true.
        """
        above: list[Operation] = []
        while node.operator in "&|" and isinstance(node.left, Operation):
            above.append(node)
            node = node.left
        unknown, value = says_nothing(node), np.asarray(values(node, surprisal))
        for both in reversed(above):
            assert isinstance(both.right, Operation)
            other = self._unknown(both.right, says_nothing, surprisal)
            right, settling = np.asarray(values(both.right, surprisal)), both.operator == "|"
            settled = ((value == settling) & ~unknown) | ((right == settling) & ~other)
            unknown = (unknown | other) & ~settled
            value = (np.logical_or if settling else np.logical_and)(value, right)
        return unknown

    def _says_nothing(
        self, comparison: Operation, scored: ScoredSentences, rows: RowsByLabel
    ) -> NDArray[np.bool_]:
        """Tell in which items both sides of a comparison are made of the same regions, (items,).

        As the model sees them, that is: in an interaction, where both conditions look alike pair by pair.
        """
        signed = list(_signed(comparison))
        seen = [(scored.looks[rows[one.condition]], *self.span(one)) for _, one in signed]
        nothing: NDArray[np.bool_] = np.ones(len(next(iter(rows.values()))), dtype=np.bool_)
        for own in seen:
            equal = ([a == b for a, b in zip(own, other, strict=True)] for other in seen)
            same = [np.logical_and.reduce(parts) for parts in equal]
            nothing &= np.sum([sign * one for (sign, _), one in zip(signed, same, strict=True)], axis=0) == 0
        return nothing

    def half_known(
        self, comparison: Operation, unknown: UnknownWords, rows: RowsByLabel
    ) -> NDArray[np.bool_]:
        """Tell in which items a comparison is half known, (items,).

        Of what is set against each other, up to the end of what is compared, some region has an unknown word
        under one condition and not under the other. In an interaction both conditions of each difference are
        set against each other. A region that is compared with a number is not half known.
        """
        found = np.zeros(len(next(iter(rows.values()))), dtype=np.bool_)
        for terms in _differences(comparison):
            if len(terms) > 1:
                found |= self._apart(terms, unknown, rows)
        return found

    def _apart(
        self, terms: Sequence[tuple[int, Region]], unknown: UnknownWords, rows: RowsByLabel
    ) -> NDArray[np.bool_]:
        """Tell in which items added regions have other unknown words than subtracted ones, (items,)."""
        spans = [(sign, one.condition, *self.span(one)) for sign, one in terms]
        any_unknown = np.any([unknown.kinds[rows[label]] > 0 for _, label, *_ in spans], axis=0)
        found = np.zeros(len(any_unknown), dtype=np.bool_)
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
            sides = (Counter(read[label] for sign, label, *_ in spans if sign == own) for own in (1, -1))
            found[item] = balance != 0 or len({frozenset(side.items()) for side in sides}) > 1
        return found

    def _unknown_in(self, label: str, item: int, row: int, end: int, unknown: UnknownWords) -> Counter[int]:
        """Count the unknown words of each region of a sentence, by its number, up to a word."""
        stops = np.cumsum(self.regions_of(label)[item])
        places = [place for place, _ in unknown.of_rows.get(row, ()) if place < end]
        return Counter(np.searchsorted(stops, places, side="right").tolist())

    def compared(self) -> list[Region]:
        """List the regions that predictions refer to, each once under all its conditions, in their order."""
        parts = (part for one in self.predictions for part in parts_of(parse(one.formula)))
        regions = dict.fromkeys(part for part in parts if isinstance(part, Region))
        places = list(dict.fromkeys(region.place for region in regions))
        labels = self.lengths.column_names
        return sorted(regions, key=lambda one: (places.index(one.place), labels.index(one.condition)))

    def span(self, region: Region) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Say where a region stands in its sentences: words before it and words in it, (items,) each."""
        of_items, place = self.regions_of(region.condition), region.place
        if place is None:
            whole = np.array([sum(own) for own in of_items], dtype=np.int64)
            return np.zeros_like(whole), whole
        number = self.named[region.condition][place.name] if isinstance(place, Mark) else place
        before = np.array([sum(own[: number - 1]) for own in of_items], dtype=np.int64)
        length = np.array([own[number - 1] for own in of_items], dtype=np.int64)
        if isinstance(place, Mark) and place.after:
            return before + length + place.after - 1, np.ones_like(length)
        return before, length

    def _surprisal(
        self, words: WordScores, rows: NDArray[np.int64], condition: str, place: RegionPlace
    ) -> NDArray[np.float64]:
        if place is None and self.metric == "sum":  # not the sum over its words, if these were corrected
            return -words.totals[rows]
        if place is None:  # SyntaxGym adds up the regions, whatever the metric within them
            n_regions = max(map(len, self.regions_of(condition)), default=0)
            parts = [self._surprisal(words, rows, condition, n + 1) for n in range(n_regions)]
            return np.sum(parts, axis=0, initial=0.0) if parts else np.zeros(len(rows))
        before, lengths = self.span(Region(place, condition))
        if self.metric == "sum":
            return -words.sums_within(rows, before, lengths)
        reduced = _REDUCE[self.metric]
        return np.array([reduced(-own) for own in words.within(rows, before, lengths)])

    def compares_continuations(self) -> bool:
        """Tell whether nothing is asked but which of two continuations, region 2, is more probable."""
        formulas = [parse(one.formula) for one in self.predictions]
        sides = [side for one in formulas for side in (one.left, one.right)]
        return self.metric == "sum" and all(isinstance(side, Region) and side.place == 2 for side in sides)

    def _compares_whole(self, words: WordScores, rows: RowsByLabel, place: RegionPlace) -> NDArray[np.bool_]:
        """Tell in which items whole sentences are compared instead of a region, (items,).

        A piece holds letters of the region and of what is before it. Where nothing but continuations of one
        text is compared, up to the end, whole sentences differ by as much.
        """
        formulas = [parse(one.formula) for one in self.predictions]
        sides = [side for one in formulas for side in (one.left, one.right)]
        regions = [side for side in sides if isinstance(side, Region) and side.place == place]
        whole = np.zeros(len(next(iter(rows.values()))), dtype=np.bool_)
        if place is None or self.metric != "sum" or len(regions) < len(sides):
            return whole
        spans = {one.condition: self.span(one) for one in regions}
        found = [words.sums_within(rows[label], *span) for label, span in spans.items()]
        for item in np.flatnonzero(np.isnan(found).any(axis=0)).tolist():
            before = set()
            for label, (starts, lengths) in spans.items():
                own = str(words.texts[int(rows[label][item])].as_py()).split()
                at_end = starts[item] + lengths[item] == len(own)
                before.add(tuple(own[: int(starts[item])]) if at_end else label)
            whole[item] = len(before) == 1
        return whole

    def _begins(self, region: Region) -> NDArray[np.bool_]:
        """Tell in which items a region holds the first word of its sentence."""
        before, lengths = self.span(region)
        begins: NDArray[np.bool_] = (before == 0) & (lengths > 0)
        return begins

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Name comparisons of sums that are over unequal numbers of words."""
        for prediction in self.predictions:
            if self.metric == "sum" and prediction.name != ALL_PREDICTIONS:
                for part in parts_of(parse(prediction.formula)):
                    if isinstance(part, Operation) and part.operator in "<>=":
                        yield from self._unequal(prediction, part)

    def _unequal(self, prediction: Prediction, comparison: Operation) -> Iterator[tuple[str, str]]:
        """Count the words of both sides; in a difference, those that are taken away are too."""
        regions = list(dict.fromkeys(part for part in parts_of(comparison) if isinstance(part, Region)))
        if len(regions) < 2:  # a region against a number
            return
        balance = np.broadcast_to(self._n_words(comparison), len(self.lengths))
        unequal = np.flatnonzero(balance)
        if len(unequal):
            named = ", ".join(f"{one} {self.span(one)[1][unequal[0]]}" for one in regions)
            items = f"{len(unequal):,} of {len(balance):,} items"
            yield prediction.name, f"{items} compare sums over different numbers of words: {named}"

    def _n_words(self, node: Node) -> NDArray[np.int64]:
        """Count the words of regions that are added, less those of regions that are subtracted."""
        if isinstance(node, Region):
            return self.span(node)[1]
        if isinstance(node, float):
            return np.zeros((), dtype=np.int64)
        left, right = self._n_words(node.left), self._n_words(node.right)
        return left + right if node.operator == "+" else left - right

    def describe(self) -> list[list[str]]:
        """Name each prediction, with its formula, and with the metric where it is not the sum."""
        metric = [] if self.metric == "sum" else [self.metric]  # digests of sums stay what they were
        return [[prediction.name, prediction.formula, *metric] for prediction in self.predictions]

    def hash_into(self, digest: hashlib._Hash) -> None:
        """Add how many regions there are, how long each is, and which have names."""
        for name in self.lengths.column_names:
            column = self.lengths.column(name).combine_chunks()
            hash_column(digest, pc.list_value_length(column))
            hash_column(digest, pc.list_flatten(column))
        if self.named:
            digest.update(json.dumps(self.named, sort_keys=True).encode())

    def feature_types(self) -> list[pa.Field[Any]]:
        """Give the surprisals that predictions refer to, in nats: `match.4`, `what_gap.critical`."""
        return [pa.field(str(region), pa.float64()) for region in self.compared()]

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
