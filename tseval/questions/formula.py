"""Formulas over surprisals of regions, such as `(5;%match%) < (5;%mismatch%)`.

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

import re
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

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
    """Read a formula.

    Raises:
        ValueError: It is malformed, or states nothing; says what is wrong.
    """
    tokens: list[str | Region | float] = []
    position = 0
    while position < len(text.rstrip()):
        found = TOKEN.match(text, position)
        if not found:
            raise ValueError(f"cannot be read from {text[position:].strip()[:20]!r} on")
        number, numbered, condition, name, after, literal, mark = found.groups()
        if numbered:
            tokens.append(Region(None if number == "*" else int(number), numbered))
        elif condition:
            tokens.append(Region(Mark(name, int(after or 0)) if name else None, condition))
        else:
            tokens.append(_number(literal) if literal else mark)
        position = found.end()
    tree = _Parser(tokens).parse()
    if not isinstance(tree, Operation) or not _states(tree):
        raise ValueError("states nothing that could be true or false")
    return tree


def _number(literal: str) -> float:
    number = float(literal)
    if isinf(number):
        raise ValueError(f"has a number too large, {literal[:20]}")
    return number


class _Parser:
    """Reads tokens from left to right, the loosest operators first."""

    def __init__(self, tokens: list[str | Region | float]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
        tree = self._level(0)
        if self._at < len(self._tokens):
            raise ValueError(f"{self._tokens[self._at]} stands where nothing can follow")
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
            raise ValueError("ends too early" if token is None else f"{token} stands in a wrong place")
        self._depth += 1
        tree = self._level(0)
        self._depth -= 1
        if self._next() != CLOSING[token]:
            raise ValueError(f"{token} is not closed")
        self._at += 1
        return tree


def _states(node: Node) -> bool:
    """Whether a part is true or false, rather than a number."""
    return isinstance(node, Operation) and node.operator not in LEVELS[-1]


def _joined(operator: str, left: Node, right: Node) -> Operation:
    if {_states(left), _states(right)} != {operator in "&|"}:
        wanted = "statements" if operator in "&|" else "numbers"
        raise ValueError(f"{operator} joins {wanted} only")
    return Operation(operator, left, right)


def regions_of(node: Node) -> set[Region]:
    """Collect the regions that a formula refers to."""
    return {part for part in parts_of(node) if isinstance(part, Region)}


def parts_of(node: Node) -> Iterator[Node]:
    """Give a formula and all its parts, from left to right."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Operation):
            waiting += part.right, part.left


def values(node: Node, surprisal: Surprisal) -> NDArray[np.float64] | NDArray[np.bool_]:
    """Evaluate a formula for many items at once.

    Args:
        node: The formula, or a part of it.
        surprisal: Gives the surprisal of a region under a condition, in nats, (items,).

    Returns:
        Numbers or truth values, (items,).
    """
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
