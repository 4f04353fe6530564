"""Dale's law: a unit excites or inhibits, never both."""

from __future__ import annotations

import hashlib
import re
from decimal import Decimal

import torch
from torch import Tensor

from tseval.models.cells.cell import require

INHIBITORY = "0.2:last"  # as in Bhatt et al. 2020
_CHOICE = re.compile(
    r"(?P<share>0(\.[0-9]{1,9})?|1(\.0{1,9})?):(?P<place>first|last|drawn:(?P<seed>[0-9]{1,18}))"
)


def dale_signs(hidden: int, inhibitory: str = INHIBITORY) -> Tensor:
    """Diagonal of D, (hidden,): -1 for the inhibitory units, +1 for the others.

    D multiplies from the right, so it signs columns, the outgoing weights of a unit.

    Args:
        hidden: Number of units.
        inhibitory: Which of them inhibit, `SHARE:PLACE`: floor(share * hidden) units, the `last`, the
            `first`, or as many `drawn:SEED`, the same in every layer and wherever the model is opened.

    Source: Bhatt et al. 2020, section 4; Song et al. 2016: the last fifth. Departure: the published program
    of Bhatt et al. leaves noise off D's diagonal; here D is exact.

    Raises:
        ModelError: If the choice cannot be read.
    """
    chosen = _CHOICE.fullmatch(inhibitory)
    demand = "a share from 0 to 1 and a place, such as 0.2:last, 0.2:first or 0.2:drawn:7"
    require("inhibitory", inhibitory, chosen is not None, demand)
    assert chosen is not None
    count = int(Decimal(chosen["share"]) * hidden)
    signs = torch.ones(hidden)
    if signs.is_meta:  # only the options are being checked
        return signs
    if chosen["seed"] is not None:
        signs[_drawn(hidden, count, int(chosen["seed"]))] = -1
    else:
        signs[slice(count) if chosen["place"] == "first" else slice(hidden - count, hidden)] = -1
    return signs


def _drawn(hidden: int, count: int, seed: int) -> list[int]:
    """Draw units without a generator, whose numbers another version of its library may change."""
    lots = {unit: hashlib.sha256(f"{seed} {unit}".encode()).digest() for unit in range(hidden)}
    return sorted(lots, key=lots.__getitem__)[:count]
