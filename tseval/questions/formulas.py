"""A language of formulas over the surprisals of regions: parsing and evaluation.

`(5;%match%)` is the surprisal of region 5 under the condition `match`; `(*;%match%)` is that of its whole
sentence. If regions have names, `match.critical` is the surprisal of the region `critical`,
`match.critical+1` that of the first word after it, and `match.*` that of the whole sentence.
`(2;%good%,%good_2%)` is the surprisal of either text: the probabilities of region 2 under both conditions are
added. Formulas also have numbers, `+ -`, the comparisons `< > =`, `& |`, and brackets of any shape. The
operators bind in this order. Within a group they have equal precedence, from left to right: `A | B & C` is
`(A | B) & C`. Two values are equal if they differ by at most a thousandth of a nat or a hundred-thousandth of
their size.

Source: SyntaxGym (Gauthier et al. 2020, ACL demonstrations), as its program syntaxgym-core 0.6.0 reads them.
Departures: names of regions and sums of probabilities are additions of tseval. `1 < 2 < 3` is an error, while
that program reads only its beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    # Arguments: a place and one condition; or several, whose probabilities are added.
    Surprisal = Callable[..., NDArray[np.float64]]


LITERAL = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERED = r"\(\s*(\d+|\*)\s*;\s*%([^%]+)%((?:\s*,\s*%[^%]+%)*)\s*\)"
# Without spaces, `critical+1` names a word; `critical + 1` adds a nat.
NAMED = r"([^\W\d]\w*)\.(?:([^\W\d]\w*)(?:\+([1-9]\d?)(?![\w.]))?|\*)"
TOKEN = re.compile(rf"\s*(?:{NUMBERED}|{NAMED}|({LITERAL})|([-+<>=&|()\[\]{{}}]))")
CLOSING = {"(": ")", "[": "]", "{": "}"}
SIGNS = {"+": 1.0, "-": -1.0}
# From the weakest binding to the strongest.
LEVELS = ("&|", "<>=", "+-")
DEEPEST = 50  # brackets within brackets


@dataclass(frozen=True, slots=True)
class Mark:
    """A region by its name, or a word after it: the first if `after` is 1, and so on."""

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
class Either:
    """The surprisal of one text or another: the sum of the probabilities of a region under conditions."""

    regions: tuple[Region, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.regions))


@dataclass(frozen=True, slots=True)
class Operation:
    """Two parts and the operator between them."""

    operator: str
    left: Node
    right: Node


Leaf = Region | Either
Node = Leaf | Operation | float


def parse(text: str) -> Operation:
    """Parse a formula; a mistake in it raises ValueError."""
    tokens: list[str | Leaf | float] = []
    position = 0
    while position < len(text.rstrip()):
        token = TOKEN.match(text, position)
        if not token:
            raise ValueError(
                f"the formula has a part that tseval cannot read, at {text[position:].strip()[:20]!r}"
            )
        number, numbered, others, condition, name, after, literal, mark = token.groups()
        if literal and isinf(float(literal)):
            raise ValueError(f"the formula has the number {literal[:20]}, which is too large")
        if numbered:
            labels = [numbered, *re.findall(r"%([^%]+)%", others)]
            regions = tuple(Region(None if number == "*" else int(number), label) for label in labels)
            tokens.append(Either(regions) if others else regions[0])
        elif condition:
            tokens.append(Region(Mark(name, int(after or 0)) if name else None, condition))
        else:
            tokens.append(float(literal) if literal else mark)
        position = token.end()
    tree = _Parser(tokens).parse()
    if not isinstance(tree, Operation) or not _states(tree):
        raise ValueError(
            "the formula compares nothing, but must state something that is true or false, as in (1) < (2)"
        )
    return tree


class _Parser:
    """A parser that reads tokens from left to right, with the weakest operators at the top."""

    def __init__(self, tokens: list[str | Leaf | float]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
        tree = self._level(0)
        if self._at < len(self._tokens):
            raise ValueError(
                f"the formula is complete before {self._tokens[self._at]}, so nothing can follow"
            )
        return tree

    def _next(self) -> str | Leaf | float | None:
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
        if isinstance(token, Region | Either | float):
            return token
        signed = self._next()
        if isinstance(token, str) and token in SIGNS and isinstance(signed, float):
            self._at += 1
            return SIGNS[token] * signed
        if token not in CLOSING or self._depth == DEEPEST:
            raise ValueError(
                "the formula is incomplete: a region or a number is missing at its end"
                if token is None
                else f"the formula has {token} in a place where a region or a number must be"
            )
        self._depth += 1
        tree = self._level(0)
        self._depth -= 1
        if self._next() != CLOSING[token]:
            raise ValueError(f"the formula has an opening bracket {token} without a closing one")
        self._at += 1
        return tree


def _states(node: Node) -> bool:
    """Return whether a part is true or false, and not a number."""
    return isinstance(node, Operation) and node.operator not in LEVELS[-1]


def _joined(operator: str, left: Node, right: Node) -> Operation:
    if {_states(left), _states(right)} != {operator in "&|"}:
        operands = "statements" if operator in "&|" else "numbers"
        raise ValueError(f"the formula has the operator {operator}, but not between two {operands}")
    return Operation(operator, left, right)


def regions_of(node: Node) -> set[Region]:
    """Collect the regions that a formula refers to."""
    return {part for part in parts_of(node) if isinstance(part, Region)}


def regions_in(formula: str, known: Mapping[str, Collection[int | str]]) -> set[Region]:
    """Return the regions that a formula names; `known` has the numbers and names of each condition.

    Raises:
        ValueError: The formula has a mistake; for an unknown name, a second argument has suggestions.
    """
    regions = regions_of(parse(formula))
    if not regions:
        raise ValueError("the formula must name a region, such as (1) or name.region")
    for region in sorted(regions, key=str):
        place = region.place.name if isinstance(region.place, Mark) else region.place
        known_regions = known.get(region.condition, ())
        for kind, name, names in (("condition", region.condition, known), ("region", place, known_regions)):
            if name is not None and name not in names:
                hint = suggest(str(name), map(str, names), f"{kind.title()}s")
                raise ValueError(
                    f"the formula names the {kind} {str(name)!r}, but the items do not have it", hint
                )
    return regions


def parts_of(node: Node) -> Iterator[Node]:
    """Yield a formula and all its parts, from left to right."""
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Operation):
            pending += part.right, part.left
        elif isinstance(part, Either):
            pending += reversed(part.regions)


def signed(node: Node) -> Iterator[tuple[int, Region]]:
    """Yield the signed regions of a sum; a comparison is read as left side minus right side."""
    pending: list[tuple[int, Node]] = [(1, node)]
    while pending:
        sign, node = pending.pop()
        if isinstance(node, Region):
            yield sign, node
        elif isinstance(node, Either):
            yield from ((sign, region) for region in node.regions)
        elif isinstance(node, Operation):
            pending += (sign if node.operator == "+" else -sign, node.right), (sign, node.left)


def differences(comparison: Operation) -> list[list[tuple[int, Region]]]:
    """Return the differences that a comparison makes: each side with a difference, else left minus right."""
    sides = [list(signed(side)) for side in (comparison.left, comparison.right)]
    mixed_sides = [side for side in sides if len({sign for sign, _ in side}) > 1]
    return mixed_sides or [list(signed(comparison))]


def interactions_of(node: Node) -> Iterator[list[str]]:
    """Yield the conditions of every comparison of differences, such as `b.x - a.x > d.x - c.x`."""
    for part in parts_of(node):
        if isinstance(part, Operation) and part.operator in LEVELS[1]:
            operators = {
                operation.operator for operation in parts_of(part) if isinstance(operation, Operation)
            }
            if "-" in operators:
                yield sorted({region.condition for region in regions_of(part)})


def values(node: Node, surprisal: Surprisal) -> NDArray[np.float64] | NDArray[np.bool_]:
    """Evaluate a formula, or a part of it, for many items at once; surprisals are in nats, (items,)."""
    # A loop over left parts: in `1 + 1 + ... + 1` recursion would go as deep as the formula is long.
    above: list[Operation] = []
    while isinstance(node, Operation):
        above.append(node)
        node = node.left
    value = np.array(node) if isinstance(node, float) else surprisal(*_asked(node))
    for operation in reversed(above):
        value = _OPERATIONS[operation.operator](value, values(operation.right, surprisal))
    return value


def _asked(leaf: Leaf) -> tuple[RegionPlace, *tuple[str, ...]]:
    regions = leaf.regions if isinstance(leaf, Either) else (leaf,)
    return regions[0].place, *(region.condition for region in regions)


_OPERATIONS: dict[str, Callable[..., NDArray[np.float64] | NDArray[np.bool_]]] = {
    "+": np.add,
    "-": np.subtract,
    "<": np.less,
    ">": np.greater,
    "=": lambda left, right: np.asarray(np.isclose(left, right, rtol=1e-5, atol=1e-3)),
    "&": np.logical_and,
    "|": np.logical_or,
}
