"""Families of architectures, each with separate panels if there are many models."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.panels import Panel


MOST_TOGETHER = 7  # lines in one panel: the first seven colours also differ in lightness
UNKNOWN_FAMILY = "Others"
FAMILIES = {
    "Gated": ("gru", "lstm", "ablated-lstm", "onlstm"),
    "Decaying": ("eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn"),
}
_FAMILY_OF = {arch: family for family, archs in FAMILIES.items() for arch in archs}
# As a separate part of the name: `number-lstm-1`. The longest first, because `drnn-cnn` is one architecture.
_KNOWN = re.compile(
    rf"(?<![^\W_])({'|'.join(sorted(_FAMILY_OF, key=len, reverse=True))})(?![^\W\d_])", re.IGNORECASE
)
_SEED = re.compile(r"(?<=.)-seed\d+$")


def without_seed(name: str) -> str:
    """Return the name of a model without its seed.

    >>> without_seed("lstm-16-seed2"), without_seed("lstm-16")
    ('lstm-16', 'lstm-16')
    """
    return _SEED.sub("", name)


def in_families(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Group models into families by the architectures in their names, if they are too many for one panel.

    A larger family is split into parts of at most `MOST_TOGETHER`. Few models are one family without a title.
    """
    if len(names) <= MOST_TOGETHER:
        return [("", list(range(len(names))))]
    families: dict[str, list[int]] = {family: [] for family in (*FAMILIES, UNKNOWN_FAMILY)}
    for index, name in enumerate(names):
        match = _KNOWN.search(name)
        families[_FAMILY_OF[match[1].lower()] if match else UNKNOWN_FAMILY].append(index)
    parts = []
    for family, indices in families.items():
        n_parts = -(-len(indices) // MOST_TOGETHER)
        for part in range(n_parts):
            part_places = indices[part * len(indices) // n_parts : (part + 1) * len(indices) // n_parts]
            parts.append((f"{family} {part + 1}" if n_parts > 1 else family, part_places))
    return parts


def by_family(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Return each panel once for every family of models, with the lines of other families in the background.

    Few models stay together, as one family without a name.
    """
    named = {line.index: line.name for panel in panels for line in panel.series if line.name}
    indices, names = sorted(named), [named[index] for index in sorted(named)]
    families = in_families(names)
    if len(families) == 1:
        return [list(panels)]
    groups = []
    for family, members in families:
        colours = {indices[member]: index for index, member in enumerate(members)}
        group = []
        for panel in panels:
            series = [
                replace(line, index=colours[line.index]) for line in panel.series if line.index in colours
            ]
            background = [line for line in panel.series if line.index not in colours and line.name]
            if series:
                group.append(replace(panel, series=series, family=family, behind=background))
        groups.append(group)
    return groups
