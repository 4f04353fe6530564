"""Families of models: past a handful, lines are read family by family, the others grey behind them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_TOGETHER = 7  # lines in one panel; so many colours differ in lightness too
UNKNOWN_FAMILY = "Others"
FAMILIES = {
    "Gated": ("gru", "lstm", "ablated-lstm", "onlstm"),
    "Decaying": ("eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn"),
}
_FAMILY_OF = {arch: family for family, archs in FAMILIES.items() for arch in archs}
# As a word of the name, in which `-` parts words: `number-lstm-1`. The longest first: `drnn-cnn` is one.
_KNOWN = re.compile(
    rf"(?<![^\W_])({'|'.join(sorted(_FAMILY_OF, key=len, reverse=True))})(?![^\W\d_])", re.IGNORECASE
)


_SEED = re.compile(r"(?<=.)-seed\d+$")


def without_seed(name: str) -> str:
    """Name what models have in common that differ in their seed.

    >>> without_seed("lstm-16-seed2"), without_seed("lstm-16")
    ('lstm-16', 'lstm-16')
    """
    return _SEED.sub("", name)


def family_of(name: str) -> str:
    """Give the family of a model by the architecture in its name.

    >>> family_of("number-LSTM-2"), family_of("drnn-cnn"), family_of("gpt2")
    ('Gated', 'Decaying', 'Others')
    """
    found = _KNOWN.search(name)
    return _FAMILY_OF[found[1].lower()] if found else UNKNOWN_FAMILY


def in_families(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Part models into families, where they are too many for one panel.

    Args:
        names: Of all models; text from outside.

    Returns:
        The title of each family and the places of its models, at most `MOST_TOGETHER`: a larger family comes
        in parts. One family without a title where the models are few.
    """
    if len(names) <= MOST_TOGETHER:
        return [("", list(range(len(names))))]
    families: dict[str, list[int]] = {family: [] for family in (*FAMILIES, UNKNOWN_FAMILY)}
    for place, name in enumerate(names):
        families[family_of(name)].append(place)
    parts = []
    for family, places in families.items():
        n_parts = -(-len(places) // MOST_TOGETHER)
        for part in range(n_parts):
            own = places[part * len(places) // n_parts : (part + 1) * len(places) // n_parts]
            parts.append((f"{family} {part + 1}" if n_parts > 1 else family, own))
    return parts
