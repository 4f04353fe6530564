"""The long short-term memory network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import FusedCell, State, require
from tseval.models.cells.decay import ACTIVATIONS


class LSTM(FusedCell):
    """LSTM with forget gate, on torch's own fused layer where f is tanh.

    i, f, o = σ(W h_{t-1} + U x_t + b), one matrix each
    g       = tanh(W_g h_{t-1} + U_g x_t + b_g)
    c_t     = f ∘ c_{t-1} + i ∘ g
    h_t     = o ∘ f(c_t)

    Source: Hochreiter & Schmidhuber 1997; Gers et al. 2000. The state is (h, c), the gates are stored
    in torch's order i, f, g, o, and the bias is torch's pair, which acts as one.

    Args:
        input_size: Width of a word vector.
        hidden_size: Width of h and of c.
        activation: f, `tanh`, or `relu` as in the number-prediction program of Bhatt et al. 2020, whose g has
            tanh too.
    """

    layer_type = nn.LSTM
    n_states = 2
    later_options = ("activation",)

    def __init__(self, input_size: int, hidden_size: int, *, activation: str = "tanh") -> None:
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size)
        self.activation, self.fused = ACTIVATIONS[activation], activation == "tanh"

    def project(self, x: Tensor) -> Tensor:
        """U x + b for the four gates, (..., 4 * hidden)."""
        u, _, b, b_recurrent = self.weights
        return F.linear(x, u, b + b_recurrent)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        h, c = state
        i, f, g, o = torch.addmm(projected, h, self.weights[1].t()).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * self.activation(c), c
