"""The simple recurrent network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import FusedCell, State, require
from tseval.models.cells.decay import ACTIVATIONS, DERIVATIVES

if TYPE_CHECKING:
    from collections.abc import Sequence


class SRN(FusedCell):
    """Elman network, on torch's own fused layer.

    h_t = f(W h_{t-1} + U x_t + b)

    Source: Elman 1990, "Finding structure in time". The bias is torch's pair, which acts as one.

    Args:
        input_size: Width of a word vector.
        hidden_size: Width of the state.
        activation: f, `tanh` for language models, `relu` for classifiers.
    """

    name = "srn"
    layer_type = nn.RNN

    def __init__(self, input_size: int, hidden_size: int, *, activation: str = "tanh") -> None:
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size, nn.RNN(input_size, hidden_size, nonlinearity=activation))
        self.activation = ACTIVATIONS[activation]
        self.activation_backward = DERIVATIVES[activation]

    def project(self, x: Tensor) -> Tensor:
        """U x + b, (..., hidden)."""
        u, _, b, b_recurrent = self.weights
        return F.linear(x, u, b + b_recurrent)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        return self.update(torch.addmm(projected, state[0], self.weights[1].t()), state)

    def update(self, drive: Tensor, _: State) -> State:
        """Turn the drive W h_{t-1} + U x_t + b into the next state."""
        return (self.activation(drive),)

    def update_backward(
        self, _: Tensor, __: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        return self.activation_backward(slopes[0], after[0]), (torch.zeros_like(after[0]),), ()
