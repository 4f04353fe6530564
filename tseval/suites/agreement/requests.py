"""Requests on trees: nodes, edges, order, shared features; the part of Grew's language that is written most.

    pattern { D [upos=DET, Gender]; N [upos=NOUN]; N -[det]-> D; D.Gender = N.Gender }
    without { N -[1=conj]-> C }

Source: Guillaume 2021, Graph Matching and Graph Rewriting: GREW tools for corpus exploration, maintenance
and conversion, EACL demonstrations. Departures: a file may hold several requests, one `pattern` after the
other, and a word is taken by the first that matches; comments that begin `% title:`, `% change:` and
`% controller:` say what a request is for. What else Grew has is refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.expressions import PatternError, whole_matcher

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
    """The content of the braces of `pattern` or `without`."""

    nodes: list[str] = field(default_factory=list)  # in the order in which they are named
    # Nodes, and what has to hold of the words at their positions.
    conditions: list[tuple[tuple[str, ...], Condition]] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(
        default_factory=list
    )  # heads and dependents: they shorten the search
    shared: list[tuple[NodeFeature, NodeFeature]] = field(default_factory=list)  # that have to be the same
    needs: set[str] = field(default_factory=set)  # features that some word has to have

    def ask(self, condition: Condition, *nodes: str) -> None:
        """Add a condition on nodes, which may be new."""
        self.nodes += [node for node in dict.fromkeys(nodes) if node not in self.nodes]
        self.conditions.append((nodes, condition))


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


@dataclass(frozen=True, slots=True)
class Request:
    """A pattern, and what refutes a match of it."""

    pattern: Block
    without: tuple[Block, ...]
    effort: Effort = field(default_factory=Effort, compare=False)

    def matches(self, words: Sequence[Word]) -> Iterator[Mapping[str, int]]:
        """Yield the matches in a sentence, each a position for every node of the pattern."""
        self.effort.begin()
        for match in _search(self.pattern, words, {}, self.effort):
            if not any(next(_search(block, words, match, self.effort), None) for block in self.without):
                yield match


def _search(
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
            if position not in match.values() and _holds(block, words, {**match, node: position}, node):
                yield from extend(
                    {**match, node: position}, [candidate for candidate in rest if candidate != node]
                )

    size = 1 + len(block.conditions) // 8
    effort.step(size)
    if all(_holds(block, words, bound, node) for node in bound):
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


def _holds(block: Block, words: Sequence[Word], match: Mapping[str, int], node: str) -> bool:
    """Check whether all conditions on a node, and on others that have a place, hold."""
    return all(
        condition(words, *(match[node] for node in nodes))
        for nodes, condition in block.conditions
        if node in nodes and {*nodes} <= match.keys()
    )


# Reading requests


@dataclass(frozen=True, slots=True)
class RequestFile:
    """The requests of a file, and what its comments say of `title`, `change` and `controller`."""

    requests: tuple[Request, ...]
    notes: Mapping[str, str]

    @property
    def needs(self) -> set[str]:
        """The features that a word must have, without those that it must lack."""
        return {
            name
            for request in self.requests
            for block in (request.pattern, *request.without)
            for name in block.needs
        }


_NAME = re.compile(r"[^\W\d]\w*'?")
_FEATURE = re.compile(r"[^\W\d]\w*(?:\[\w+\])?")
_VALUE = re.compile(r"[\w.:+'-]+")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LABEL = re.compile(r"[\w:]+")
_NOTE = re.compile(r"%\s*(title|change|controller)\s*:\s*(.+?)\s*$", re.MULTILINE)
# What Grew has and is not read here, by how it begins.
_REFUSED = {
    r"global\b": "global",
    r"with\b": "with",
    r"(?:package|rule|strat|commands?)\b": "rewriting",
    r"\w+\s*:\s*[^\W\d]\w*\s*-": "a named edge",
    r"\*": "a node without a name",
    r"\w+\s*->>": "an edge over any distance (->>)",
    r"\w+\s*=\[": "an edge of another layer",
    r"\w+\s*-\[[^\]]*=\s*re": "a regular expression in a label's part",
    r"(?:id|label|length|delta|delta_len)\s*\(": "a function",
    r"is_\w+": "a property of the graph",
}


def read_request(text: str, place: str) -> RequestFile:
    """Read requests; `place` is what their text is called in messages."""
    reader = _Reader(re.sub(r"%.*", lambda note: " " * len(note[0]), text), place)
    requests = list[Request]()
    pattern, without = None, list[Block]()
    while not reader.at_end():
        if pattern is not None and reader.take(re.compile(r"without\b")):
            without.append(_read_block(reader))
            continue
        if not reader.take(re.compile(r"(?:pattern|match)\b")):
            raise reader.wrong("pattern { ... }" if pattern is None else "pattern { ... } or without { ... }")
        if pattern is not None:
            requests.append(Request(pattern, tuple(without)))
        pattern, without = _read_block(reader), []
        if not pattern.nodes:
            raise reader.wrong("a node, such as V [upos=VERB], inside the braces of the pattern")
    if pattern is None:
        raise SuiteError(
            f"{place}: the request has no pattern.\n  Write pattern {{ V [upos=VERB]; V -[nsubj]-> S }}."
        )
    requests.append(Request(pattern, tuple(without)))
    return RequestFile(tuple(requests), dict(_NOTE.findall(text)))


class _Reader:
    """A text, and how far it is read."""

    def __init__(self, text: str, place: str) -> None:
        self.text, self.place, self.at = text, place, 0

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def at_end(self) -> bool:
        self.skip()
        return self.at == len(self.text)

    def take(self, what: re.Pattern[str] | str) -> re.Match[str] | None:
        """Read on over what comes next, if it is that."""
        self.skip()
        pattern = re.compile(re.escape(what)) if isinstance(what, str) else what
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def need(self, what: re.Pattern[str] | str, expected: str) -> re.Match[str]:
        match = self.take(what)
        if match is None:
            raise self.wrong(expected)
        return match

    def wrong(self, expected: str) -> SuiteError:
        self.skip()
        before = self.text[: self.at]
        line, column = before.count("\n") + 1, self.at - (before.rfind("\n") + 1) + 1
        place = f"{self.place}:{line}:{column}"
        for refused, name in _REFUSED.items():
            if re.match(refused, self.text[self.at :]):
                return SuiteError(
                    f"{place}: {name} is a part of Grew's language that tseval does not support.\n"
                    "  Write only nodes, edges, order and comparisons of features."
                )
        next_one = re.match(r"[^\s;,{}\[\]]+|.", self.text[self.at :])
        text_found = repr(next_one[0][:30]) if next_one else "the end"
        return SuiteError(
            f"{place}: {text_found} is not allowed at this place of the request.\n  Write at this place "
            f"{expected}."
        )


def _read_block(reader: _Reader) -> Block:
    """Read `{ clause; clause ... }`."""
    reader.need("{", "{")
    block = Block()
    while not reader.take("}"):
        _read_clause(reader, block)
        if reader.take(";") is None:
            reader.need("}", "; or }")
            break
    return block


def _read_clause(reader: _Reader, block: Block) -> None:
    reader.skip()
    if any(re.compile(refused).match(reader.text, reader.at) for refused in _REFUSED):
        raise reader.wrong("a clause")
    node = reader.need(_NAME, "a node, such as V")[0]
    if reader.take("["):
        block.ask(lambda words, at: True, node)
        _read_features(reader, block, node)
    elif reader.take(re.compile(r"-\[")):
        accepts = _read_label(reader)
        reader.need("]->", "]->")
        _edge(reader, block, node, accepts)
    elif reader.take(re.compile(r"-->|->(?!>)")):
        _edge(reader, block, node, lambda relation: True)
    elif match := reader.take(re.compile(r"<<|<(?!>)|>>|>")):
        ends = (node, reader.need(_NAME, "a node")[0])
        gaps = range(1, 2) if len(match[0]) == 1 else range(1, 10**9)
        block.ask(lambda words, a, b: b - a in gaps, *(ends if match[0][0] == "<" else ends[::-1]))
    elif reader.take("."):
        _read_comparison(reader, block, node)
    else:
        raise reader.wrong("[, -[label]->, -->, <, << or .feature")


def _edge(reader: _Reader, block: Block, head: str, accepts: Callable[[str], bool]) -> None:
    dependent = reader.need(_NAME, "a node")[0]
    block.ask(lambda words, a, b: words[b].head == a and accepts(words[b].relation), head, dependent)
    block.edges.append((head, dependent))


def _feature(reader: _Reader) -> str:
    """Read the name of a feature; one of a layer, `Number[abs]`, may be in quotation marks."""
    if quoted := reader.take(_STRING):
        return quoted[1]
    return reader.need(_FEATURE, "a feature, such as Number, lemma or upos")[0]


def _read_features(reader: _Reader, block: Block, node: str) -> None:
    """Read `upos=NOUN|PROPN, Number, !Gender, lemma<>"be"]`."""
    while not reader.take("]"):
        if reader.take("!"):
            name = _feature(reader)
            block.ask(lambda words, at, name=name: name not in words[at].values, node)
        else:
            _read_condition(reader, block, node, _feature(reader))
        if reader.take(",") is None:
            reader.need("]", "= or <> with a value, a comma or ]")
            return


def _read_condition(reader: _Reader, block: Block, node: str, name: str) -> None:
    """Read `=a|b`, `<>a`, `=re"..."` or nothing, which asks for any value."""
    sign = reader.take(re.compile(r"=|<>"))
    accepts: Callable[[str], bool] = bool
    wanted = sign is None or sign[0] == "="
    if sign is not None and not (wanted and reader.take("*")):
        accepts = _read_values(reader, _value)
    block.needs.add(name)
    block.ask(lambda words, at: name in words[at].values and accepts(words[at].values[name]) == wanted, node)


def _read_values(reader: _Reader, read: Callable[[_Reader], str]) -> Callable[[str], bool]:
    """Read `a|b` or `re"..."`, and give what tells whether a text is one of them."""
    place = reader.at
    if reader.take(re.compile(r're(?=")')):
        text = reader.need(_STRING, 'an expression in quotation marks, re"..."')[1]
        try:
            return whole_matcher(text.replace('\\"', '"'))
        except PatternError as error:
            reader.at = place
            raise SuiteError(f"{reader.wrong('a regular expression')} Problem: {error}") from None
    values = {read(reader)}
    while reader.take("|"):
        values.add(read(reader))
    return values.__contains__


def _value(reader: _Reader) -> str:
    if quoted := reader.take(_STRING):
        return re.sub(r"\\(.)", r"\1", quoted[1])
    return reader.need(_VALUE, "a value")[0]


def _relation(reader: _Reader) -> str:
    return reader.need(_LABEL, "a relation, such as nsubj")[0]


def _read_label(reader: _Reader) -> Callable[[str], bool]:
    """Read the content of `-[...]->`: labels, `^` for all others, or parts: `1=nsubj, 2<>pass, !2`."""
    parts = []
    while match := reader.take(re.compile(r"!\s*([12])|([12])\s*(=|<>)")):
        labels = (lambda part: part != "") if match[1] else _read_values(reader, _relation)
        parts.append((2 * int(match[1] or match[2]) - 2, labels, match[3] == "="))
        if reader.take(",") is None:
            break
    if parts:
        return lambda relation: all(
            labels(relation.partition(":")[at]) == wanted for at, labels, wanted in parts
        )
    negated = reader.take("^") is not None
    labels = _read_values(reader, _relation)
    return lambda relation: labels(relation) != negated


def _read_comparison(reader: _Reader, block: Block, node: str) -> None:
    """Read what follows `node.`: `Feature = other.Feature`, `<>` for `=`, or a value."""
    name = _feature(reader)
    at = reader.at
    same = reader.need(re.compile(r"=|<>"), "= or <>")[0] == "="
    match = reader.take(re.compile(rf'({_NAME.pattern})\s*\.\s*(?=[^\W\d"]|")'))
    if match is None:
        reader.at = at
        _read_condition(reader, block, node, name)
        return
    other, their = match[1], _feature(reader)
    block.needs |= {name, their}
    block.shared += [((node, name), (other, their))] if same else []

    def compare(words: Sequence[Word], a: int, b: int) -> bool:
        left, right = words[a].values.get(name), words[b].values.get(their)
        return left is not None and right is not None and (left == right) == same

    block.ask(compare, node, other)
