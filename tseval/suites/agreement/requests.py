"""Requests on trees: nodes, edges, order, shared features; the part of Grew's language that is written most.

    pattern { D [upos=DET, Gender]; N [upos=NOUN]; N -[det]-> D; D.Gender = N.Gender }
    without { N -[1=conj]-> C }

`request_reader.py` reads them. Source: Guillaume 2021, Graph Matching and Graph Rewriting: GREW tools for
corpus exploration, maintenance and conversion, EACL demonstrations. Departures: a file may hold several
requests, one `pattern` after the other, and a word is taken by the first that matches; a block that a
comment `% rule:` names holds for all of them; `or` between blocks; `corpus` asks for matches in the whole
treebank.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Condition = Callable[..., bool]  # of the words of a sentence, and the positions of its nodes

# What every word has beside the features of column 6.
FORM, LEMMA, UPOS, XPOS = "form", "lemma", "upos", "xpos"
OWN = (FORM, LEMMA, UPOS, XPOS)
NodeFeature = tuple[str, str]
MOST_STEPS = 1_000_000  # of the search in one sentence, of patterns and of what refutes them together
STEPS_TO_BEGIN, STEPS_A_SENTENCE = 2_000_000, 2_000  # on average over a treebank


@dataclass(frozen=True, slots=True)
class Word:
    """A syntactic word of a tree."""

    values: Mapping[str, str]  # `form`, `lemma`, `upos`, `xpos` where it has them; the features of column 6
    head: int | None  # position of its head, from 0; None for the root
    relation: str  # to its head, with subtype (`nsubj:pass`)

    @property
    def form(self) -> str:
        """The word as written; white space inside it is `_`."""
        return "_".join(self.values[FORM].split())

    @property
    def role(self) -> str:
        """The relation without its subtype."""
        return self.relation.partition(":")[0]


@dataclass(slots=True)
class Block:
    """The content of the braces of `pattern`, `with` or `without`."""

    nodes: list[str] = field(default_factory=list)  # in the order in which they are named
    # Nodes, and what has to hold of the words at their positions.
    conditions: list[tuple[tuple[str, ...], Condition]] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(
        default_factory=list
    )  # heads and dependents: they shorten the search
    named_edges: dict[str, tuple[str, str]] = field(default_factory=dict)  # to their heads and dependents
    shared: list[tuple[NodeFeature, NodeFeature]] = field(default_factory=list)  # that have to be the same
    needs: set[str] = field(default_factory=set)  # features that some word has to have
    # Features, or `relation`, and the values of which some word has to have one.
    values: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    # Of each node, the conditions on it alone, and those on others too.
    _on: dict[str, tuple[list[Condition], list[tuple[tuple[str, ...], Condition]]]] = field(
        default_factory=dict
    )

    def ask(self, condition: Condition, *nodes: str) -> None:
        """Add a condition on nodes, which may be new."""
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
        """Check the conditions on a node and on others that have a place."""
        return all(
            condition(words, *[match[name] for name in nodes])
            for nodes, condition in self._on.get(node, ([], []))[1]
            if all(name in match for name in nodes)
        )


@dataclass(slots=True)
class Effort:
    """Counts the steps of a search, in one sentence and in all so far."""

    allowed: int = STEPS_TO_BEGIN
    steps: int = 0  # in this sentence

    def begin(self) -> None:
        """Begin a sentence."""
        self.allowed += STEPS_A_SENTENCE - self.steps
        self.steps = 0

    def step(self, size: int = 1) -> None:
        """Count a step of some size.

        Raises:
            SuiteError: There are too many.
        """
        self.steps += size
        if self.steps > min(MOST_STEPS, self.allowed):
            raise SuiteError(
                "the request matches one sentence in more than a million ways.\n"
                "  Connect the nodes by edges, or add features to each node."
            )


@dataclass(slots=True)
class InCorpus:
    """What must be found, or must not, in the whole treebank, for the words of a match.

    `survey` counts the matches of every sentence. They are counted apart for each value of the features that
    a word of the match must share.
    """

    block: Block
    per: Block | None  # of the matches of this block, those of the other are more than a share
    share: float
    same: tuple[NodeFeature, ...]
    found: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    of: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    effort: Effort = field(default_factory=Effort)

    def forget(self) -> None:
        """Begin a treebank."""
        self.found.clear()
        self.of.clear()

    def survey(self, words: Sequence[Word]) -> None:
        """Count the matches of a sentence."""
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
    """A `with` or a `without`: what has to be found beside a match, or must not be."""

    blocks: tuple[Block | InCorpus, ...]  # of which one is enough: `{ ... } or { ... }`
    wanted: bool  # `with`
    rule: str | None = None  # the name of the rule that it states, if it states one
    new: frozenset[str] | None = None  # the new values for which the rule holds; None for all

    def holds(self, words: Sequence[Word], match: Mapping[str, int], effort: Effort) -> bool:
        """Check whether a match may stay."""
        return self.wanted == any(
            block.holds(words, match)
            if isinstance(block, InCorpus)
            else next(search(block, words, match, effort), None) is not None
            for block in self.blocks
        )


@dataclass(frozen=True, slots=True)
class Request:
    """A pattern, and what a match of it needs, or what refutes it."""

    pattern: Block
    clauses: tuple[Clause, ...]
    effort: Effort = field(default_factory=Effort, compare=False)

    def matches(self, words: Sequence[Word]) -> Iterator[Mapping[str, int]]:
        """Yield the matches in a sentence, each a position for every node of the pattern."""
        self.effort.begin()
        for match in search(self.pattern, words, {}, self.effort):
            if all(clause.holds(words, match, self.effort) for clause in self.clauses):
                yield match


@dataclass(frozen=True, slots=True)
class RequestFile:
    """The requests of a file, its rules, and what its comments say of `title`, `change` and so on."""

    requests: tuple[Request, ...]
    rules: tuple[Clause, ...]  # which hold for each request
    notes: Mapping[str, str]

    @property
    def needs(self) -> set[str]:
        """The features that a word must have, without those that it must lack, and without those of rules."""
        return {
            name
            for request in self.requests
            for block in (request.pattern, *(block for clause in request.clauses for block in clause.blocks))
            if isinstance(block, Block)
            for name in block.needs
        }

    def in_corpus(self, with_rules: bool) -> list[InCorpus]:
        """Return what has to be counted over the whole treebank, for rules too or for requests alone."""
        clauses = [clause for request in self.requests for clause in request.clauses]
        clauses += self.rules if with_rules else ()
        return [block for clause in clauses for block in clause.blocks if isinstance(block, InCorpus)]


def search(
    block: Block, words: Sequence[Word], bound: Mapping[str, int], effort: Effort
) -> Iterator[dict[str, int]]:
    """Yield the ways in which a block fits, some of its nodes having their places; no two have the same."""

    def extend(match: dict[str, int], rest: Sequence[str]) -> Iterator[dict[str, int]]:
        if not rest:
            yield dict(match)
            return
        # A node that an edge joins to one with a place has few candidates.
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
    """Return the positions that a node may have, by its edges to nodes that have theirs."""
    for head, dependent in block.edges:
        if dependent in match and head == node:
            at = words[match[dependent]].head
            return [] if at is None else [at]
        if head in match and dependent == node:
            return [at for at, word in enumerate(words) if word.head == match[head]]
    return range(len(words))
