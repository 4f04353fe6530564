"""A phenomenon to look for in treebanks: the request, the feature to change and the word that governs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.suites.agreement.request_reader import read_request
from tseval.suites.agreement.requests import LEMMA, OWN

if TYPE_CHECKING:
    from tseval.suites.agreement.requests import RequestFile


PHENOMENA = Path(__file__).parent / "phenomena"


@dataclass(frozen=True, slots=True)
class Change:
    """A feature of a word, and what becomes of it."""

    feature: str
    value: str | None  # that it gets; None for every other one
    removed: bool  # the new form does not have the feature


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """What is looked for, what is changed, and what governs it."""

    name: str  # of the cases (`determiner-noun-gender`)
    title: str  # of the rows of a table
    file: RequestFile
    node: str  # whose word is changed
    changes: tuple[Change, ...]  # all at once; the controller shares the first
    controller: tuple[str, str] | None  # the node that the word depends on, and its feature, if there is one
    governs: bool  # that node decides on the value without having it, as an adposition decides on a case
    free: frozenset[str]  # features that the changed word as written may have otherwise in the sentence
    controller_free: frozenset[str]  # and its controller
    surroundings: bool  # the form depends on the determiner: German adjectives
    never: frozenset[str]  # new values with which the word may stand by itself: nuorena, young
    least: int  # how often a governor must be seen before it is known which values it takes
    keeps_ending: bool  # the ending of the form says more than the features do: Basque verbs

    @property
    def feature(self) -> str:
        """The feature that is changed, the first of several."""
        return self.changes[0].feature

    @property
    def value(self) -> str | None:
        """The value that this feature gets; None for every other one."""
        return self.changes[0].value


def phenomena() -> list[str]:
    """Name the phenomena that come with tseval."""
    return sorted(path.stem for path in PHENOMENA.glob("*.req"))


def open_phenomenon(name: str, change: str | None = None, controller: str | None = None) -> Phenomenon:
    """Open a phenomenon that comes with tseval; `change` and `controller` as for `read_phenomenon`."""
    if name not in phenomena():
        raise SuiteError(
            f"there is no phenomenon with the name {name!r}.\n  {suggest(name, phenomena(), 'Phenomena')}"
        )
    return read_phenomenon((PHENOMENA / f"{name}.req").read_text("utf-8"), name, name, change, controller)


def read_phenomenon(
    text: str, name: str, place: str, change: str | None = None, controller: str | None = None
) -> Phenomenon:
    """Read requests and say what is changed.

    Args:
        text: The requests.
        name: Of the cases.
        place: Of the text, for messages.
        change: `NODE.Feature` or `NODE.Feature=Value`; by default what the text says in `% change:`.
        controller: A node; by default what `% controller:` says, or the node that shares the changed feature.
    """
    file = read_request(text, place)
    if (stated := change or file.notes.get("change")) is None:
        raise SuiteError(
            f"{place}: the request does not name the feature to change.\n"
            "  Add --change NODE.Feature, such as --change D.Gender."
        )
    node, changes = _read_changes(stated)
    feature = changes[0].feature
    pairs = [pair for request in file.requests for pair in request.pattern.shared if (node, feature) in pair]
    shared = [right if left == (node, feature) else left for left, right in pairs]
    named = controller or file.notes.get("controller")
    governor = next(
        (node_and_feature for node_and_feature in shared if named in {None, node_and_feature[0]}),
        named and (named, feature),
    )
    for node_name in filter(None, (node, governor and governor[0])):
        for nodes in (request.pattern.nodes for request in file.requests):
            if node_name not in nodes:
                hint = suggest(node_name, nodes, "Nodes")
                raise SuiteError(f"{place}: the pattern of the request has no node {node_name!r}.\n  {hint}")
    free = _read_free(file.notes.get("readings"), place, (node, governor[0] if governor else None))
    return Phenomenon(
        name=name,
        title=file.notes.get("title", name),
        file=file,
        node=node,
        changes=changes,
        controller=governor or None,
        governs=governor is not None and not shared,
        free=free[0],
        controller_free=free[1],
        surroundings=file.notes.get("surroundings") == "determiner",
        never=frozenset(re.findall(r"\w+", file.notes.get("never", ""))),
        least=int(file.notes.get("least", "0")),
        keeps_ending=file.notes.get("keep") == "ending",
    )


_CHANGE = re.compile(r"""(!?)([^\W\d]\w*'?)\.["']?([^\W\d]\w*(?:\[\w+\])?)["']?(?:=([^\s,]+))?""")


def _read_changes(stated: str) -> tuple[str, tuple[Change, ...]]:
    """Read `V.Gender=Fem, !V.Animacy`: the node, and its features."""
    nodes, changes = list[str](), list[Change]()
    for part in stated.split(","):
        match = _CHANGE.fullmatch(part.strip())
        if match is None or (match[1] and match[4]):
            raise SuiteError(
                f"--change {stated}: the text does not have the form NODE.Feature.\n  Write NODE.Feature or "
                "NODE.Feature=Value, such as D.Gender=Fem. Write several with commas, and ! for a feature "
                "that the new form does not have: V.Gender=Fem, !V.Animacy."
            )
        removed, node, feature, value = match.groups()
        if feature in OWN and not (feature == LEMMA and value):
            raise SuiteError(
                f"--change {stated}: {feature} is not a morphological feature (column 6 of CoNLL-U).\n  Name "
                "a morphological feature, such as Number or Gender, or another lemma: V.lemma=avere."
            )
        nodes.append(node)
        changes.append(Change(feature, value, bool(removed)))
    if len({*nodes}) > 1 or len({change.feature for change in changes}) < len(changes) or changes[0].removed:
        raise SuiteError(
            f"--change {stated}: several changes must be of different features of one node, and the first "
            "must have a new value.\n  Write them like this: V.Gender=Fem, !V.Animacy."
        )
    return nodes[0], tuple(changes)


# What words may be read as by default: all but the person, which pronouns fix.
_FREE = frozenset(
    [
        "Number", "Gender", "Case", "Animacy", "Definite", "Mood", "Tense", "Aspect", "Degree",
        "Number[psor]", "Person[psor]",
    ]
)  # fmt: skip


def _read_free(
    stated: str | None, place: str, nodes: tuple[str, str | None]
) -> tuple[frozenset[str], frozenset[str]]:
    """Read `% readings: V.Mood, S.Number`: the features that the words, as written, may have otherwise."""
    if stated is None:
        return _FREE, _FREE
    free: dict[str | None, set[str]] = {node: set() for node in nodes}
    for part in stated.split(",") if stated != "none" else ():
        match = _CHANGE.fullmatch(part.strip())
        if match is None or match[1] or match[4] or match[2] not in free:
            raise SuiteError(
                f"{place}: {part.strip()!r} in the comment '% readings:' is not a feature of "
                f"{' or '.join(filter(None, nodes))}.\n  Write NODE.Feature with commas between, such as "
                f"{nodes[0]}.Number."
            )
        free[match[2]].add(match[3])
    return frozenset(free[nodes[0]]), frozenset(free.get(nodes[1], ()))
