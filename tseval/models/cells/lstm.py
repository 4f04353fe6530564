"""The long short-term memory network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import FusedCell, State
from tseval.models.cells.window import tanh_

if TYPE_CHECKING:
    from collections.abc import Sequence

aten = torch.ops.aten


class LSTM(FusedCell):
    """LSTM with forget gate, on torch's own fused layer.

    i, f, o = σ(W h_{t-1} + U x_t + b), one matrix each
    g       = tanh(W_g h_{t-1} + U_g x_t + b_g)
    c_t     = f ∘ c_{t-1} + i ∘ g
    h_t     = o ∘ tanh(c_t)

    Source: Hochreiter & Schmidhuber 1997; Gers et al. 2000. The state is (h, c), the gates are stored
    in torch's order i, f, g, o, and the bias is torch's pair, which acts as one.
    """

    layer_type = nn.LSTM
    n_states = 2

    def project(self, x: Tensor) -> Tensor:
        """U x + b for the four gates, (..., 4 * hidden)."""
        u, _, b, b_recurrent = self.weights
        return F.linear(x, u, b + b_recurrent)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        return self.update(torch.addmm(projected, state[0], self.weights[1].t()), state)

    def update(self, drive: Tensor, state: State) -> State:
        """Turn the drive, all four W h_{t-1} + U x_t + b, into the next state."""
        i, f, g, o = drive.chunk(4, dim=1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def update_backward(
        self, drive: Tensor, before: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        i, f, g, o = drive.chunk(4, dim=1)
        drive[:, : 2 * self.hidden_size].sigmoid_()
        tanh_(g)
        o.sigmoid_()
        by_h, by_c = slopes
        bounded = tanh_(after[1].clone())
        by_c = by_c + aten.tanh_backward(by_h * o, bounded)
        by_before = by_c * f
        by_gates = by_c * g, by_c * before[1], by_c * i, by_h * bounded
        for gate, slope in zip((i, f, o), (by_gates[0], by_gates[1], by_gates[3]), strict=True):
            aten.sigmoid_backward.grad_input(slope, gate, grad_input=gate)
        aten.tanh_backward.grad_input(by_gates[2], g, grad_input=g)
        return drive, (torch.zeros_like(by_h), by_before), ()
