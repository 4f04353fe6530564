"""The LSTM with constant input and forget gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tseval.models.cells.cell import AdditiveCell, State, recurrent_matrix
from tseval.models.cells.window import aten, tanh_

if TYPE_CHECKING:
    from collections.abc import Sequence


class AblatedLSTM(AdditiveCell):
    """LSTM whose input and forget gates are learned but the same at every step.

    o   = σ(W_o h_{t-1} + U_o x_t + b_o)
    c~  = tanh(W_c h_{t-1} + U_c x_t + b_c)
    c_t = F ∘ c_{t-1} + I ∘ c~,  F = σ(forget), I = σ(admit), vectors
    h_t = o ∘ tanh(c_t)

    Source: Bansal et al. 2020, section 3.2.2. The state is (h, c); the drive holds o, then c~.
    """

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
