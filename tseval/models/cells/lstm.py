"""The LSTM with constant input and forget gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import AdditiveCell, FusedCell, State, recurrent_matrix, require
from tseval.models.cells.decay import ACTIVATIONS, DERIVATIVES, IN_PLACE
from tseval.models.cells.window import aten, tanh_

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    name = "lstm"
    layer_type = nn.LSTM
    n_states = 2
    later_options = ("activation",)

    def __init__(self, input_size: int, hidden_size: int, *, activation: str = "tanh") -> None:
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size)
        self.activation, self.fused = ACTIVATIONS[activation], activation == "tanh"
        self.activate_, self.activation_backward = IN_PLACE[activation][0], DERIVATIVES[activation]

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
        return o.sigmoid() * self.activation(c), c

    def update_backward(
        self, drive: Tensor, before: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        i, f, g, o = drive.chunk(4, dim=1)
        drive[:, : 2 * self.hidden_size].sigmoid_()
        tanh_(g)
        o.sigmoid_()
        by_h, by_c = slopes
        bounded = self.activate_(after[1].clone())
        by_c = by_c + self.activation_backward(by_h * o, bounded)
        by_before = by_c * f
        by_gates = by_c * g, by_c * before[1], by_c * i, by_h * bounded
        for gate, slope in zip((i, f, o), (by_gates[0], by_gates[1], by_gates[3]), strict=True):
            aten.sigmoid_backward.grad_input(slope, gate, grad_input=gate)
        aten.tanh_backward.grad_input(by_gates[2], g, grad_input=g)
        return drive, (torch.zeros_like(by_h), by_before), ()


class AblatedLSTM(AdditiveCell):
    """LSTM whose input and forget gates are learned but the same at every step.

    o   = σ(W_o h_{t-1} + U_o x_t + b_o)
    c~  = tanh(W_c h_{t-1} + U_c x_t + b_c)
    c_t = F ∘ c_{t-1} + I ∘ c~,  F = σ(forget), I = σ(admit), vectors
    h_t = o ∘ tanh(c_t)

    Source: Bansal et al. 2020, section 3.2.2. The state is (h, c); the drive holds o, then c~.
    """

    name = "ablated-lstm"
    n_states = 2

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size, 2 * hidden_size)
        self.recurrent = recurrent_matrix(2 * hidden_size, hidden_size)
        self.forget = nn.Parameter(torch.zeros(hidden_size))
        self.admit = nn.Parameter(torch.zeros(hidden_size))

    def recurrent_weight(self) -> Tensor:
        """W_o over W_c, (2 * hidden, hidden)."""
        return self.recurrent

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """The two constant gates."""
        return self.forget, self.admit

    def update(self, drive: Tensor, state: State) -> State:
        """Advance the state; see `AdditiveCell.update`."""
        o, candidate = drive.chunk(2, dim=1)
        c = self.forget.sigmoid() * state[1] + self.admit.sigmoid() * candidate.tanh()
        return o.sigmoid() * c.tanh(), c

    def update_backward(
        self, drive: Tensor, before: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        o, candidate = drive.chunk(2, dim=1)
        o.sigmoid_()
        tanh_(candidate)
        forget, admit = self.forget.sigmoid(), self.admit.sigmoid()
        bounded = tanh_(after[1].clone())
        by_c = slopes[1] + aten.tanh_backward(slopes[0] * o, bounded)
        by_forget, by_admit = (by_c * before[1]).sum(0), (by_c * candidate).sum(0)
        aten.sigmoid_backward.grad_input(slopes[0] * bounded, o, grad_input=o)
        aten.tanh_backward.grad_input(by_c * admit, candidate, grad_input=candidate)
        by_gates = by_forget * forget * (1 - forget), by_admit * admit * (1 - admit)
        return drive, (torch.zeros_like(by_c), by_c * forget), by_gates
