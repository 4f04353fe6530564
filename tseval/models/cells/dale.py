"""Dale's law: a unit excites or inhibits, never both."""

from __future__ import annotations

import torch
from torch import Tensor

INHIBITORY_SHARE = 5  # one unit in five is inhibitory


def dale_signs(hidden: int) -> Tensor:
    """Diagonal of D, (hidden,): the last floor(hidden / 5) units are inhibitory, -1, the others +1.

    D multiplies from the right, so it signs columns, the outgoing weights of a unit.

    Source: Bhatt et al. 2020, section 4; Song et al. 2016. Departure: the published program of Bhatt et
    al. leaves noise off D's diagonal; here D is exact.
    """
    signs = torch.ones(hidden)
    signs[hidden - hidden // INHIBITORY_SHARE :] = -1
    return signs
