"""The gated recurrent unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import FusedCell, State, require
from tseval.models.cells.decay import ACTIVATIONS, IN_PLACE
from tseval.models.cells.window import aten

if TYPE_CHECKING:
    from collections.abc import Sequence


class GRU(FusedCell):
    """Gated recurrent unit, on torch's own fused layer where f is tanh.

    r = σ(W_r h_{t-1} + U_r x_t + b_r)
    z = σ(W_z h_{t-1} + U_z x_t + b_z)
    n = f(U_n x_t + b_n + r ∘ (W_n h_{t-1} + b'_n))
    h_t = (1 - z) ∘ n + z ∘ h_{t-1}

    Source: Cho et al. 2014, in torch's variant, where the reset gate acts after the matrix product,
    so that the recurrent bias b' stays apart from the input bias.

    Args:
        input_size: Width of a word vector.
        hidden_size: Width of the state.
        activation: f, `tanh`, or `relu` as in the number-prediction program of Bhatt et al. 2020.
    """

    name = "gru"
    layer_type = nn.GRU
    later_options = ("activation",)

    def __init__(self, input_size: int, hidden_size: int, *, activation: str = "tanh") -> None:
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size)
        self.activation, self.fused = ACTIVATIONS[activation], activation == "tanh"
        self.activate_, self.derive_ = IN_PLACE[activation]
        self.drive_size = 4 * hidden_size

    def project(self, x: Tensor) -> Tensor:
        """U x + b for the three gates, (..., 3 * hidden)."""
        u, _, b, _ = self.weights
        return F.linear(x, u, b)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        (h,) = state
        _, w, _, b_recurrent = self.weights
        recurrent = F.linear(h, w, b_recurrent)
        x_r, x_z, x_n = projected.chunk(3, dim=1)
        h_r, h_z, h_n = recurrent.chunk(3, dim=1)
        r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
        n = self.activation(x_n + r * h_n)
        return (n + z * (h - n),)

    def recurrent(self) -> tuple[Tensor, Tensor]:
        """W and b' in the order n, r, z."""
        _, w, _, b_recurrent = self.weights
        return w.roll(self.hidden_size, 0), b_recurrent.roll(self.hidden_size, 0)

    def update(self, drive: Tensor, state: State) -> State:
        """Turn the drive into the next state; it holds W_n h + b'_n, then r and z, then U_n x + b_n."""
        h_n, r, z, x_n = drive.chunk(4, dim=1)
        n = self.activation(x_n + r.sigmoid() * h_n)
        return (n + z.sigmoid() * (state[0] - n),)

    def update_backward(
        self, drive: Tensor, before: State, _: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        h_n, r, z, x_n = drive.chunk(4, dim=1)
        drive[:, self.hidden_size : 3 * self.hidden_size].sigmoid_()
        n = self.activate_(x_n.addcmul_(r, h_n))
        by_h, by_z = slopes[0] * z, slopes[0] * (before[0] - n)
        self.derive_(slopes[0] - by_h, n, x_n)
        aten.sigmoid_backward.grad_input(by_z, z, grad_input=z)
        by_r = x_n * h_n
        torch.mul(x_n, r, out=h_n)
        aten.sigmoid_backward.grad_input(by_r, r, grad_input=r)
        return drive, (by_h,), ()
