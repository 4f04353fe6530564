"""Requests on trees: nodes, edges, order and shared features, the most used part of Grew's language.

    pattern { D [upos=DET, Gender]; N [upos=NOUN]; N -[det]-> D; D.Gender = N.Gender }
    without { N -[1=conj]-> C }

`request_reader.py` reads requests. Source: Guillaume 2021, Graph Matching and Graph Rewriting: GREW tools for
corpus exploration, maintenance and conversion, EACL demonstrations. Departures: a file may hold several
requests, one `pattern` after the other, and the first one that matches a word is used. A block that a comment
`% rule:` names holds for all requests. `or` may join blocks. `corpus` requires matches in the whole treebank.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Condition = Callable[..., bool]  # arguments: the words of a sentence, the positions of its nodes

# Values that every word has in addition to the features of column 6.
FORM, LEMMA, UPOS, XPOS = "form", "lemma", "upos", "xpos"
OWN = (FORM, LEMMA, UPOS, XPOS)
NodeFeature = tuple[str, str]
MOST_STEPS = 1_000_000  # steps of the search in one sentence, including `with` and `without`
STEPS_TO_BEGIN, STEPS_A_SENTENCE = 2_000_000, 2_000  # total steps in a treebank: a start, plus per sentence


@dataclass(frozen=True, slots=True)
class Word:
    """A syntactic word of a tree."""

    values: Mapping[str, str]  # `form`, `lemma`, `upos`, `xpos` if present, and the features of column 6
    head: int | None  # position of its head, from 0; None for the root
    relation: str  # relation to its head, with subtype (`nsubj:pass`)

    @property
    def form(self) -> str:
        """The word as written; spaces inside it become `_`."""
        return "_".join(self.values[FORM].split())

    @property
    def role(self) -> str:
        """The relation without its subtype."""
        return self.relation.partition(":")[0]


@dataclass(slots=True)
class Block:
    """The content of the braces of `pattern`, `with` or `without`."""

    nodes: list[str] = field(default_factory=list)  # in the order in which they are named
    # Nodes, and a condition on the words at their positions.
    conditions: list[tuple[tuple[str, ...], Condition]] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(
        default_factory=list
    )  # heads and dependents: they shorten the search
    named_edges: dict[str, tuple[str, str]] = field(default_factory=dict)  # name to head and dependent
    shared: list[tuple[NodeFeature, NodeFeature]] = field(default_factory=list)  # features that must be equal
    needs: set[str] = field(default_factory=set)  # features that some word must have
    # Features, or `relation`, with values: some word must have one of the values.
    values: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    # For each node: the conditions on it alone, and those on it and other nodes.
    _on: dict[str, tuple[list[Condition], list[tuple[tuple[str, ...], Condition]]]] = field(
        default_factory=dict
    )

    def ask(self, condition: Condition, *nodes: str) -> None:
        """Add a condition on nodes, and the nodes that are new."""
        self.nodes += [node for node in dict.fromkeys(nodes) if node not in self.nodes]
        self.conditions.append((nodes, condition))
        for node in dict.fromkeys(nodes):
            alone, joint = self._on.setdefault(node, ([], []))
            if nodes == (node,):
                alone.append(condition)
            else:
                joint.append((nodes, condition))

    def may_be(self, words: Sequence[Word], node: str, position: int) -> bool:
        """Check the conditions on a node alone."""
        return all(condition(words, position) for condition in self._on.get(node, ([], []))[0])

    def fits(self, words: Sequence[Word], match: Mapping[str, int], node: str) -> bool:
        """Check the joint conditions on a node and on other nodes that already have a position."""
        return all(
            condition(words, *[match[name] for name in nodes])
            for nodes, condition in self._on.get(node, ([], []))[1]
            if all(name in match for name in nodes)
        )


@dataclass(slots=True)
class Effort:
    """A counter of search steps, in one sentence and in all sentences so far."""

    allowed: int = STEPS_TO_BEGIN
    steps: int = 0  # in this sentence

    def begin(self) -> None:
        """Start a new sentence."""
        self.allowed += STEPS_A_SENTENCE - self.steps
        self.steps = 0

    def step(self, size: int = 1) -> None:
        """Count a step of a given size.

        Raises:
            SuiteError: The search took too many steps.
        """
        self.steps += size
        if self.steps > min(MOST_STEPS, self.allowed):
            raise SuiteError(
                "the request matches one sentence in more than a million ways.\n"
                "  Connect the nodes by edges, or add features to each node."
            )


@dataclass(slots=True)
class InCorpus:
    """A condition on the whole treebank: how many matches of a block it has for the words of a match.

    `survey` counts the matches in every sentence, separately for each combination of the features in `same`.
    """

    block: Block
    per: Block | None  # the matches of `block` must be more than `share` of the matches of this block
    share: float
    same: tuple[NodeFeature, ...]
    found: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    of: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    effort: Effort = field(default_factory=Effort)

    def forget(self) -> None:
        """Reset the counts for a new treebank."""
        self.found.clear()
        self.of.clear()

    def survey(self, words: Sequence[Word]) -> None:
        """Add the matches of a sentence to the counts."""
        self.effort.begin()
        for block, counts in ((self.block, self.found), (self.per, self.of)):
            for match in search(block, words, {}, self.effort) if block else ():
                counts[self._values(words, match)] += 1

    def holds(self, words: Sequence[Word], match: Mapping[str, int]) -> bool:
        """Check whether the treebank has enough matches that share the values of this one."""
        values = self._values(words, match)
        return self.found[values] > (self.share * self.of[values] if self.per else 0)

    def _values(self, words: Sequence[Word], match: Mapping[str, int]) -> tuple[str | None, ...]:
        return tuple(words[match[node]].values.get(name) for node, name in self.same if node in match)


@dataclass(frozen=True, slots=True)
class Clause:
    """A `with` or `without` clause: a condition that a match must or must not fulfil."""

    blocks: tuple[Block | InCorpus, ...]  # alternatives: `{ ... } or { ... }`
    wanted: bool  # True for `with`
    rule: str | None = None  # name of the rule; None if the clause is not a rule
    new: frozenset[str] | None = None  # the new values that the rule excludes; None for all

    def holds(self, words: Sequence[Word], match: Mapping[str, int], effort: Effort) -> bool:
        """Check whether a match fulfils the clause."""
        return self.wanted == any(
            block.holds(words, match)
            if isinstance(block, InCorpus)
            else next(search(block, words, match, effort), None) is not None
            for block in self.blocks
        )


@dataclass(frozen=True, slots=True)
class Request:
    """A pattern with its `with` and `without` clauses."""

    pattern: Block
    clauses: tuple[Clause, ...]
    effort: Effort = field(default_factory=Effort, compare=False)

    def matches(self, words: Sequence[Word]) -> Iterator[Mapping[str, int]]:
        """Yield the matches in a sentence; each maps every node of the pattern to a position."""
        self.effort.begin()
        for match in search(self.pattern, words, {}, self.effort):
            if all(clause.holds(words, match, self.effort) for clause in self.clauses):
                yield match


@dataclass(frozen=True, slots=True)
class RequestFile:
    """The requests of a file, its rules, and its comments such as `title` and `change`."""

    requests: tuple[Request, ...]
    rules: tuple[Clause, ...]  # they apply to every request
    notes: Mapping[str, str]

    @property
    def needs(self) -> set[str]:
        """The features that some word must have, without those of `!Feature` and of rules."""
        return {
            name
            for request in self.requests
            for block in (request.pattern, *(block for clause in request.clauses for block in clause.blocks))
            if isinstance(block, Block)
            for name in block.needs
        }

    def in_corpus(self, with_rules: bool) -> list[InCorpus]:
        """Return the conditions on the whole treebank, with or without those of rules."""
        clauses = [clause for request in self.requests for clause in request.clauses]
        clauses += self.rules if with_rules else ()
        return [block for clause in clauses for block in clause.blocks if isinstance(block, InCorpus)]


def search(
    block: Block, words: Sequence[Word], bound: Mapping[str, int], effort: Effort
) -> Iterator[dict[str, int]]:
    """Yield the matches of a block that extend the bound nodes; no two nodes share a position."""

    def extend(match: dict[str, int], rest: Sequence[str]) -> Iterator[dict[str, int]]:
        if not rest:
            yield dict(match)
            return
        # A node with an edge to a placed node has few candidates.
        joined = {node_name for edge in block.edges if {*edge} & match.keys() for node_name in edge}
        node = next((candidate for candidate in rest if candidate in joined), rest[0])
        for position in _candidates(block, words, match, node):
            effort.step(size)
            if position in match.values() or not block.may_be(words, node, position):
                continue
            longer = {**match, node: position}
            if block.fits(words, longer, node):
                yield from extend(longer, [candidate for candidate in rest if candidate != node])

    size = 1 + len(block.conditions) // 8
    effort.step(size)
    if all(
        block.may_be(words, node, place) and block.fits(words, bound, node) for node, place in bound.items()
    ):
        yield from extend(dict(bound), [node for node in block.nodes if node not in bound])


def _candidates(block: Block, words: Sequence[Word], match: Mapping[str, int], node: str) -> Sequence[int]:
    """Return the possible positions of a node, given its edges to nodes with positions."""
    for head, dependent in block.edges:
        if dependent in match and head == node:
            at = words[match[dependent]].head
            return [] if at is None else [at]
        if head in match and dependent == node:
            return [at for at, word in enumerate(words) if word.head == match[head]]
    return range(len(words))
