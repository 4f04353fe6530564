"""A phenomenon to find in treebanks: its request, the feature to change and the word that governs it."""

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
    """The change of one feature of a word."""

    feature: str
    value: str | None  # the new value; None for every other value
    removed: bool  # the new form does not have the feature


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """A phenomenon: its requests, what is changed, and what governs the changed word."""

    name: str  # name of the cases (`determiner-noun-gender`)
    title: str  # name of the rows in the results table
    file: RequestFile
    node: str  # the node of the changed word
    changes: tuple[Change, ...]  # made together; the controller shares the first feature
    controller: tuple[str, str] | None  # the node that governs the word, and its feature, if any
    governs: bool  # the controller requires the value without having it, as an adposition requires a case
    free: frozenset[str]  # features in which the changed word may have another reading
    controller_free: frozenset[str]  # features in which the controller may have another reading
    surroundings: bool  # whether the form depends on the determiner: German adjectives
    never: frozenset[str]  # new values with which the word may be independent: nuorena, young
    least: int  # minimum number of occurrences of a governor, so that its values are known
    keeps_ending: bool  # whether forms keep their ending, which shows more than the features: Basque verbs

    @property
    def feature(self) -> str:
        """The feature that is changed; the first of several."""
        return self.changes[0].feature

    @property
    def value(self) -> str | None:
        """The new value of this feature; None for every other value."""
        return self.changes[0].value


def phenomena() -> list[str]:
    """Return the names of the phenomena that come with tseval."""
    return sorted(path.stem for path in PHENOMENA.glob("*.req"))


def open_phenomenon(name: str, change: str | None = None, controller: str | None = None) -> Phenomenon:
    """Open a phenomenon that comes with tseval; for `change` and `controller` see `read_phenomenon`."""
    if name not in phenomena():
        raise SuiteError(
            f"there is no phenomenon with the name {name!r}.\n  {suggest(name, phenomena(), 'Phenomena')}"
        )
    return read_phenomenon((PHENOMENA / f"{name}.req").read_text("utf-8"), name, name, change, controller)


def read_phenomenon(
    text: str, name: str, place: str, change: str | None = None, controller: str | None = None
) -> Phenomenon:
    """Read the requests of a phenomenon, and what is changed.

    Args:
        text: The requests.
        name: Name of the cases.
        place: Name of the text in messages.
        change: `NODE.Feature` or `NODE.Feature=Value`; the default is the comment `% change:` of the text.
        controller: A node; the default is the comment `% controller:`, or the node that shares the feature.
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
    """Read `V.Gender=Fem, !V.Animacy`: the node, and the changes of its features."""
    nodes, changes = list[str](), list[Change]()
    for part in stated.split(","):
        match = _CHANGE.fullmatch(part.strip())
        if match is None or (match[1] and match[4]):
            raise SuiteError(
                f"--change {stated}: the text does not have the form NODE.Feature.\n  Write NODE.Feature or "
                "NODE.Feature=Value, such as D.Gender=Fem. Write commas between several changes. Write ! "
                "before a feature that the new form does not have: V.Gender=Fem, !V.Animacy."
            )
        removed, node, feature, value = match.groups()
        if feature in OWN and not (feature == LEMMA and value):
            raise SuiteError(
                f"--change {stated}: {feature} is not a morphological feature (column 6 of CoNLL-U).\n  Name "
                "a morphological feature, such as V.Number or V.Gender. To change the lemma, name the new "
                "one: V.lemma=avere."
            )
        nodes.append(node)
        changes.append(Change(feature, value, bool(removed)))
    if len({*nodes}) > 1 or len({change.feature for change in changes}) < len(changes) or changes[0].removed:
        raise SuiteError(
            f"--change {stated}: the changes must be of different features of one node, and the first must "
            "not begin with '!'.\n  Write them like this: V.Gender=Fem, !V.Animacy."
        )
    return nodes[0], tuple(changes)


# Features that may differ between readings by default: all but the person, which pronouns determine.
_FREE = frozenset(
    [
        "Number", "Gender", "Case", "Animacy", "Definite", "Mood", "Tense", "Aspect", "Degree",
        "Number[psor]", "Person[psor]",
    ]
)  # fmt: skip


def _read_free(
    stated: str | None, place: str, nodes: tuple[str, str | None]
) -> tuple[frozenset[str], frozenset[str]]:
    """Read `% readings: V.Mood, S.Number`: the features in which the words may have another reading."""
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
