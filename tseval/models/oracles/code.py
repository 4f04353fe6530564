"""How a slot of a stack held in recurrent units spells the type of bracket in it.

Source: Hewitt et al. 2020: one unit a type, or binary digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class BracketCode:
    """A code of k types in units that are 0 or 1; an empty slot has all of them at 0.

    Attributes:
        units: The units of each type, (k, width).
        readout: Weights that give 1 for a type's own units, and 0 or less for those of any other type and for
            an empty slot, (k, width).
        occupied: Weights that give 1 for the units of any type and 0 for an empty slot, (width,).
    """

    units: Tensor
    readout: Tensor
    occupied: Tensor

    @property
    def width(self) -> int:
        """Units of a slot."""
        return self.units.shape[1]


def one_hot(k: int) -> BracketCode:
    """Give each of k types a unit of its own: k units."""
    return BracketCode(torch.eye(k), torch.eye(k), torch.ones(k))


def binary(k: int) -> BracketCode:
    """Write k types as L = ⌈log2 k⌉ binary digits: 3L - 1 units; a single type has one digit.

    The units are the digits, their complements, and L - 1 that are always 1 in an occupied slot. The readout
    counts how many digits agree and takes L - 1 off, so that agreement in all of them alone is worth 1.
    """
    length = max(1, (k - 1).bit_length())
    digits = (torch.arange(k)[:, None] >> torch.arange(length) & 1).float()
    constants = torch.ones(k, length - 1)
    occupied = torch.zeros(3 * length - 1)
    occupied[[0, length]] = 1  # a digit or its complement
    return BracketCode(
        torch.cat([digits, 1 - digits, constants], 1),
        torch.cat([digits, 1 - digits, -constants], 1),
        occupied,
    )


CODES = {"one-hot": one_hot, "log": binary}
