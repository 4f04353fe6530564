"""Read requests on trees from text; errors give line and column."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.expressions import PatternError, whole_matcher
from tseval.suites.agreement.requests import Block, Clause, InCorpus, Request, RequestFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tseval.suites.agreement.requests import NodeFeature, Word

    Accepts = Callable[[str], bool]

RELATION = "relation"  # name of the relation of an edge among the features in conditions

_NAME = re.compile(r"[^\W\d]\w*'?")
_FEATURE = re.compile(r"[^\W\d]\w*(?:\[\w+\])?")
_VALUE = re.compile(r"[\w.:+'-]+")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LABEL = re.compile(r"[\w:]+")
_NOTES = ("title", "change", "controller", "surroundings", "readings", "keep", "never", "least")
_NOTE = re.compile(rf"%\s*({'|'.join(_NOTES)})\s*:\s*(.+?)\s*$", re.MULTILINE)
_RULE = re.compile(r"%\s*rule\s*:\s*(.+?)\s*$", re.MULTILINE)
_NEW = re.compile(r"%\s*new\s*:\s*(.+?)\s*$", re.MULTILINE)
_SIGNS = re.compile(r"<=|>=|<>|=|<|>")
# Parts of Grew's language that tseval does not read, by their beginning.
_REFUSED = {
    r"global\b": "global",
    r"(?:package|rule|strat|commands?)\b": "rewriting",
    r"\*": "a node without a name",
    r"\w+\s*->>": "an edge over any distance (->>)",
    r"\w+\s*=\[": "an edge of another layer",
    r"\w+\s*-\[[^\]]*=\s*re": "a regular expression in a label's part",
    r"\w+\s*><|\w+\s*<>\s*\w+\s*[;}]": "crossing edges",
    r"(?:id|label)\s*\(": "a function other than length and delta",
    r"is_\w+": "a property of the graph",
}


def read_request(text: str, place: str) -> RequestFile:
    """Read requests; `place` is the name of their text in messages."""
    reader = _Reader(re.sub(r"%.*", lambda note: " " * len(note[0]), text), place)
    names = [(note.start(), note[1]) for note in _RULE.finditer(text)]
    new = {note.start(): note for note in _NEW.finditer(text)}  # `% new:` comments without a rule so far
    requests, rules, clauses = list[Request](), list[Clause](), list[Clause]()
    pattern: Block | None = None
    while not reader.at_end():
        before = reader.last
        if pattern is not None and (match := reader.take(re.compile(r"(with|without)\b"))):
            rule = next((name for at, name in reversed(names) if before <= at < match.start()), None)
            clause = _read_clause_of_match(reader, pattern, match[1] == "with", rule)
            stated = [at for at in new if before <= at < match.start()] if rule else []
            for note in (new.pop(at) for at in stated):
                clause = replace(clause, new=frozenset(re.split(r"\s*,\s*", note[1])))
            (clauses if rule is None else rules).append(clause)
            continue
        if not reader.take(re.compile(r"(?:pattern|match)\b")):
            raise reader.wrong(
                "pattern { ... }" if pattern is None else "pattern { ... }, with { ... } or without { ... }"
            )
        if pattern is not None:
            requests.append(Request(pattern, tuple(clauses)))
        pattern, clauses = _read_block(reader), []
        if not pattern.nodes:
            raise reader.wrong("a node, such as V [upos=VERB], inside the braces of the pattern")
    if pattern is None:
        raise SuiteError(
            f"{place}: the request has no pattern.\n  Write pattern {{ V [upos=VERB]; V -[nsubj]-> S }}."
        )
    requests.append(Request(pattern, tuple(clauses)))
    for at in new:
        raise SuiteError(
            f"{place}:{text[:at].count(chr(10)) + 1}: the comment '% new:' belongs to no rule.\n  Write it "
            "between '% rule: NAME' and the block of the rule."
        )
    return RequestFile(tuple(requests), tuple(rules), dict(_NOTE.findall(text)))


class _Reader:
    """A text with the current reading position."""

    def __init__(self, text: str, place: str) -> None:
        self.text, self.place, self.at = text, place, 0
        self.last = 0  # end of the previous block

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def at_end(self) -> bool:
        self.last = self.at
        self.skip()
        return self.at == len(self.text)

    def take(self, what: re.Pattern[str] | str) -> re.Match[str] | None:
        """Move past a pattern or a text if it comes next; return the match or None."""
        before = self.at
        self.skip()
        pattern = re.compile(re.escape(what)) if isinstance(what, str) else what
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else before
        return match

    def need(self, what: re.Pattern[str] | str, expected: str) -> re.Match[str]:
        match = self.take(what)
        if match is None:
            raise self.wrong(expected)
        return match

    def position(self) -> str:
        self.skip()
        before = self.text[: self.at]
        return f"{self.place}:{before.count(chr(10)) + 1}:{self.at - (before.rfind(chr(10)) + 1) + 1}"

    def wrong(self, expected: str) -> SuiteError:
        place = self.position()
        for refused, name in _REFUSED.items():
            if re.match(refused, self.text[self.at :]):
                return SuiteError(
                    f"{place}: {name} is a part of Grew's language that tseval does not support.\n"
                    "  Write only nodes, edges, order, distances and comparisons of features."
                )
        token_match = re.match(r"[^\s;,{}\[\]]+|.", self.text[self.at :])
        token = repr(token_match[0][:30]) if token_match else "the end"
        return SuiteError(
            f"{place}: {token} is not allowed at this place of the request.\n  Write at this place "
            f"{expected}."
        )


def _read_clause_of_match(reader: _Reader, pattern: Block, wanted: bool, rule: str | None) -> Clause:
    """Read the blocks after `with` or `without`, with `or` between them."""
    blocks = [_read_wanted_block(reader, pattern)]
    while reader.take(re.compile(r"or\b")):
        blocks.append(_read_wanted_block(reader, pattern))
    return Clause(tuple(blocks), wanted, rule)


def _read_wanted_block(reader: _Reader, pattern: Block) -> Block | InCorpus:
    """Read a block, or `corpus { ... } above 10 percent of { ... } same V.lemma`."""
    if not reader.take(re.compile(r"corpus\b")):
        return _read_block(reader, pattern)
    block, per, share = _read_block(reader), None, 0.0
    if reader.take(re.compile(r"above\b")):
        share = float(reader.need(re.compile(r"\d+(?:\.\d+)?"), "a number, such as 10")[0]) / 100
        reader.need(re.compile(r"percent\b"), "percent")
        reader.need(re.compile(r"of\b"), "of { ... }")
        per = _read_block(reader)
    same_features = list[tuple[str, str]]()
    while reader.take("," if same_features else re.compile(r"same\b")):
        at = reader.position()
        node = reader.need(_NAME, "a node, such as V")[0]
        reader.need(".", ".feature")
        same_features.append((node, _feature(reader)))
        for nodes in (pattern.nodes, block.nodes, *([per.nodes] if per else [])):
            if node not in nodes:
                raise SuiteError(
                    f"{at}: the node {node!r} must be in the pattern and in each block after `corpus`.\n"
                    f"  {suggest(node, nodes, 'Nodes')}"
                )
    return InCorpus(block, per, share, tuple(same_features))


def _read_block(reader: _Reader, pattern: Block | None = None) -> Block:
    """Read `{ clause; clause ... }`, which may use the named edges of the pattern."""
    reader.need("{", "{")
    block = Block(named_edges=dict(pattern.named_edges) if pattern else {})
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
    if function := reader.take(re.compile(r"(length|delta)\s*\(")):
        _read_distance(reader, block, signed=function[1] == "delta")
        return
    node = reader.need(_NAME, "a node, such as V")[0]
    edge_name = None
    if reader.take(":"):
        edge_name, node = node, reader.need(_NAME, "a node, such as V")[0]
    if reader.take(re.compile(r"-\[")):
        labels = _read_label(reader)
        reader.need("]->", "]->")
        _edge(reader, block, node, *labels, edge_name)
    elif reader.take(re.compile(r"-->|->(?!>)")):
        _edge(reader, block, node, lambda relation: True, None, edge_name)
    elif edge_name is not None:
        raise reader.wrong("-[label]-> or -->")
    elif reader.take("["):
        block.ask(lambda words, at: True, node)
        _read_features(reader, block, node)
    elif match := reader.take(re.compile(r"<<|<(?!>)|>>|>")):
        ends = (node, reader.need(_NAME, "a node")[0])
        gaps = range(1, 2) if len(match[0]) == 1 else range(1, 10**9)
        block.ask(lambda words, a, b: b - a in gaps, *(ends if match[0][0] == "<" else ends[::-1]))
    elif reader.take("."):
        if node in block.named_edges:
            _read_edge_comparison(reader, block, node)
        else:
            _read_comparison(reader, block, node)
    else:
        raise reader.wrong("one of these: '[', '-[label]->', '-->', '<', '<<', '>', '>>' or '.feature'")


def _edge(
    reader: _Reader,
    block: Block,
    head: str,
    accepts: Accepts,
    labels: frozenset[str] | None,
    name: str | None,
) -> None:
    dependent = reader.need(_NAME, "a node")[0]
    block.ask(lambda words, a, b: words[b].head == a and accepts(words[b].relation), head, dependent)
    block.edges.append((head, dependent))
    if labels:
        block.values.append((RELATION, labels))
    if name is not None:
        block.named_edges[name] = (head, dependent)


def _compare_numbers(left: float, sign: str, right: float) -> bool:
    return (left < right and sign in {"<", "<=", "<>"}) or (
        left > right if sign in {">", ">=", "<>"} and left != right else left == right and "=" in sign
    )


def _read_distance(reader: _Reader, block: Block, signed: bool) -> None:
    """Read the distance of two words, `length(e) > 3` or `length(A, B) > 3`; `delta` is signed."""
    at = reader.position()
    first = reader.need(_NAME, "an edge, such as e, or two nodes, such as V, S")[0]
    if reader.take(","):
        ends = first, reader.need(_NAME, "a node, such as S")[0]
    elif first in block.named_edges:
        ends = block.named_edges[first]
    else:
        raise SuiteError(
            f"{at}: no edge has the name {first!r}.\n  Name an edge before you use it, such as "
            f"{first}: V -[nsubj]-> S. Or write two nodes, such as length(V, S)."
        )
    reader.need(")", ")")
    sign = reader.need(_SIGNS, "=, <>, <, <=, > or >=")[0]
    number = int(reader.need(re.compile(r"-?\d+"), "a whole number")[0])
    block.ask(lambda words, a, b: _compare_numbers(b - a if signed else abs(b - a), sign, number), *ends)


def _read_edge_comparison(reader: _Reader, block: Block, edge: str) -> None:
    """Read the rest of `e.`: `label = nsubj|obj`, `1 = nsubj`, `label = f.label`, or `<>` for `=`."""
    part = reader.need(re.compile(r"label\b|1|2"), "label, 1 or 2")[0]
    is_equal = reader.need(re.compile(r"=|<>"), "= or <>")[0] == "="

    def label(words: Sequence[Word], at: int, part: str) -> str:
        relation = words[at].relation
        return relation if part == "label" else relation.partition(":")[2 * int(part) - 2]

    dependent = block.named_edges[edge][1]
    match = reader.take(re.compile(rf"({_NAME.pattern})\s*\.\s*(label\b|1|2)"))
    if match is not None and match[1] in block.named_edges:
        other, their = block.named_edges[match[1]][1], match[2]
        block.ask(
            lambda words, a, b: (label(words, a, part) == label(words, b, their)) == is_equal,
            dependent,
            other,
        )
        return
    if match is not None:
        reader.at = match.start()
        raise reader.wrong("a relation, such as nsubj, or the label of a named edge, such as f.label")
    accepts, labels = _read_values(reader, _relation)
    if is_equal and labels:
        block.values.append((RELATION, labels))
    block.ask(lambda words, at: accepts(label(words, at, part)) == is_equal, dependent)


def _feature(reader: _Reader) -> str:
    """Read the name of a feature; a layered one, `Number[abs]`, may be in quotation marks."""
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
    """Read `=a|b`, `<>a`, `=re"..."`, or nothing, which means any value."""
    sign = reader.take(re.compile(r"=|<>"))
    accepts: Accepts = bool
    wanted = sign is None or sign[0] == "="
    if sign is not None and not (wanted and reader.take("*")):
        accepts, values = _read_values(reader, _value)
        if wanted and values:
            block.values.append((name, values))
    block.needs.add(name)
    block.ask(lambda words, at: name in words[at].values and accepts(words[at].values[name]) == wanted, node)


def _read_values(reader: _Reader, read: Callable[[_Reader], str]) -> tuple[Accepts, frozenset[str] | None]:
    """Read `a|b` or `re"..."`: return a predicate, and the values if they are listed."""
    place = reader.at
    if reader.take(re.compile(r're(?=")')):
        text = reader.need(_STRING, 'an expression in quotation marks, re"..."')[1]
        try:
            return whole_matcher(text.replace('\\"', '"')), None
        except PatternError as error:
            reader.at = place
            raise SuiteError(f"{reader.wrong('a regular expression')} Problem: {error}") from None
    values = {read(reader)}
    while reader.take("|"):
        values.add(read(reader))
    return values.__contains__, frozenset(values)


def _value(reader: _Reader) -> str:
    if quoted := reader.take(_STRING):
        return re.sub(r"\\(.)", r"\1", quoted[1])
    return reader.need(_VALUE, "a value")[0]


def _relation(reader: _Reader) -> str:
    return reader.need(_LABEL, "a relation, such as nsubj")[0]


def _read_label(reader: _Reader) -> tuple[Accepts, frozenset[str] | None]:
    """Read the content of `-[...]->`: labels, `^` for all others, or parts: `1=nsubj, 2<>pass, !2`."""
    parts = []
    first: frozenset[str] | None = None
    while match := reader.take(re.compile(r"!\s*([12])|([12])\s*(=|<>)")):
        labels, values = ((lambda part: part != ""), None) if match[1] else _read_values(reader, _relation)
        parts.append((2 * int(match[1] or match[2]) - 2, labels, match[3] == "="))
        first = values if match[0].replace(" ", "") == "1=" else first
        if reader.take(",") is None:
            break
    if parts:
        accepts = lambda relation: all(  # noqa: E731 - the two ways of writing labels give one value
            labels(relation.partition(":")[at]) == wanted for at, labels, wanted in parts
        )
        return accepts, first
    negated = reader.take("^") is not None
    labels, values = _read_values(reader, _relation)
    return (lambda relation: labels(relation) != negated), None if negated else values


def _read_comparison(reader: _Reader, block: Block, node: str) -> None:
    """Read the rest of `node.`: `Feature = other.Feature`, `<>` for `=`, or a value."""
    name = _feature(reader)
    at = reader.at
    is_equal = reader.need(re.compile(r"=|<>"), "= or <>")[0] == "="
    match = reader.take(re.compile(rf'({_NAME.pattern})\s*\.\s*(?=[^\W\d"]|")'))
    if match is None:
        reader.at = at
        _read_condition(reader, block, node, name)
        return
    other, their = match[1], _feature(reader)
    block.needs |= {name, their}
    pair: tuple[NodeFeature, NodeFeature] = ((node, name), (other, their))
    block.shared += [pair] if is_equal else []

    def compare(words: Sequence[Word], a: int, b: int) -> bool:
        left, right = words[a].values.get(name), words[b].values.get(their)
        return left is not None and right is not None and (left == right) == is_equal

    block.ask(compare, node, other)
