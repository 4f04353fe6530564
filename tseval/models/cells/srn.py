"""The simple recurrent network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import FusedCell, State


class SRN(FusedCell):
    """Elman network with tanh units, on torch's own fused layer.

    h_t = tanh(W h_{t-1} + U x_t + b)

    Source: Elman 1990, "Finding structure in time". The bias is torch's pair, which acts as one.
    """

    layer_type = nn.RNN

    def project(self, x: Tensor) -> Tensor:
        """U x + b, (..., hidden)."""
        u, _, b, b_recurrent = self.weights
        return F.linear(x, u, b + b_recurrent)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        return (torch.addmm(projected, state[0], self.weights[1].t()).tanh_(),)
