"""A phenomenon to look for in treebanks: the request, the feature to change and the word that governs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.suites.agreement.requests import OWN, read_request

if TYPE_CHECKING:
    from tseval.suites.agreement.requests import RequestFile


PHENOMENA = Path(__file__).parent / "phenomena"


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """What is looked for, what is changed, and what governs it."""

    name: str  # of the cases (`determiner-noun-gender`)
    title: str  # of the rows of a table
    file: RequestFile
    node: str  # whose word is changed
    feature: str  # of that word
    value: str | None  # that it gets; None for every other one
    controller: tuple[str, str] | None  # the node that the word depends on, and its feature, if there is one
    governs: bool  # that node decides on the value without having it, as an adposition decides on a case


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
    match = re.fullmatch(r"""([^\W\d]\w*'?)\.["']?([^\W\d]\w*(?:\[\w+\])?)["']?(?:=(\S+))?""", stated.strip())
    if match is None:
        raise SuiteError(
            f"--change {stated}: the text does not have the form NODE.Feature.\n  Write NODE.Feature or "
            "NODE.Feature=Value, such as D.Gender=Fem."
        )
    node, feature, value = match.groups()
    if feature in OWN:
        raise SuiteError(
            f"--change {stated}: {feature} is not a morphological feature (column 6 of CoNLL-U).\n  Name a "
            "morphological feature, such as Number or Gender."
        )
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
    title, governs = file.notes.get("title", name), governor is not None and not shared
    return Phenomenon(name, title, file, node, feature, value, governor or None, governs)
