"""The ordered-neurons LSTM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from tseval.models.cells.cell import AdditiveCell, State, recurrent_matrix, require
from tseval.models.cells.window import Gradients, aten, tanh_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

CHUNK = 10


class ONLSTM(AdditiveCell):
    """LSTM whose units are ordered by how long they remember, under two master gates.

    i, f, o, g = W h_{t-1} + U x_t + b, one matrix each, before their activations
    m_f        = cumax(W_mf h_{t-1} + U_mf x_t + b_mf),  cumax = cumsum ∘ softmax
    m_i        = 1 - cumax(W_mi h_{t-1} + U_mi x_t + b_mi)
    w          = m_f ∘ m_i
    f^, i^     = σ(f) ∘ w + (m_f - w),  σ(i) ∘ w + (m_i - w)
    c_t        = f^ ∘ c_{t-1} + i^ ∘ tanh(g)
    h_t        = σ(o) ∘ tanh(c_t)

    A master gate has hidden / chunk entries, each for `chunk` consecutive units. The state is (h, c); the
    drive holds m_f, m_i, then i, f, o, g.

    Source: Shen, Tan, Sordoni & Courville 2019, section 4.2, equations (9) to (14).

    Args:
        chunk: Units per master gate, a divisor of `hidden_size`; 0: the largest up to 10, which is what the
            paper has, that leaves two gates. A single gate would be 1 for ever and admit nothing.
        weight_drop: Share of the recurrent weights dropped in training, the same for a whole window
            (Merity et al. 2018).
    """

    name = "onlstm"
    n_states = 2

    def __init__(
        self, input_size: int, hidden_size: int, *, chunk: int = 0, weight_drop: float = 0.0
    ) -> None:
        largest = max(1, min(CHUNK, hidden_size // 2))
        chunk = chunk or max(n for n in range(1, largest + 1) if hidden_size % n == 0)
        divides = chunk > 0 and hidden_size % chunk == 0
        require("chunk", chunk, divides, f"a divisor of the hidden size {hidden_size}")
        require("weight_drop", weight_drop, 0 <= weight_drop < 1, "in [0, 1)")
        self.master = hidden_size // chunk
        drive_size = 2 * self.master + 4 * hidden_size
        super().__init__(input_size, hidden_size, drive_size)
        self.chunk, self.weight_drop = chunk, weight_drop
        self.recurrent = recurrent_matrix(drive_size, hidden_size)

    def recurrent_weight(self) -> Tensor:
        """All six W one over the other, (drive, hidden), some weights dropped in training."""
        return F.dropout(self.recurrent, self.weight_drop, self.training)

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """There are none."""
        return ()

    def update(self, drive: Tensor, state: State) -> State:
        """Advance the state; see `AdditiveCell.update`."""
        forget, admit, gates = drive.tensor_split((self.master, 2 * self.master), dim=1)
        i, f, o, g = gates.chunk(4, dim=1)
        m_f, m_i = self._cumax(forget), 1 - self._cumax(admit)
        w = m_f * m_i
        f, i = f.sigmoid() * w + (m_f - w), i.sigmoid() * w + (m_i - w)
        c = f * state[1] + i * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        forget, admit, gates = drive.tensor_split((self.master, 2 * self.master), dim=1)
        i, f, o, g = gates.chunk(4, dim=1)
        gates[:, : 3 * self.hidden_size].sigmoid_()
        tanh_(g)
        forgets, admits = forget.softmax(1), admit.softmax(1)
        m_f, m_i = self._spread(forgets.cumsum(1)), 1 - self._spread(admits.cumsum(1))
        w = m_f * m_i
        kept, admitted = f * w + (m_f - w), i * w + (m_i - w)
        bounded = tanh_(after[1].clone())
        by_c = slopes[1] + aten.tanh_backward(slopes[0] * o, bounded)
        by_kept, by_admitted = by_c * before[1], by_c * g
        by_w = by_kept * (f - 1) + by_admitted * (i - 1)
        forget.copy_(self._cumax_backward(by_kept + by_w * m_i, forgets))
        admit.copy_(self._cumax_backward(by_admitted + by_w * m_f, admits).neg_())
        for gate, slope in ((i, by_admitted * w), (f, by_kept * w), (o, slopes[0] * bounded)):
            aten.sigmoid_backward.grad_input(slope, gate, grad_input=gate)
        aten.tanh_backward.grad_input(by_c * admitted, g, grad_input=g)
        return drive, (torch.zeros_like(by_c), by_c * kept), ()

    def _cumax(self, x: Tensor) -> Tensor:
        """Rise from 0 to 1 over the master units: (batch, hidden / chunk) to (batch, hidden)."""
        return self._spread(x.softmax(1).cumsum(1))

    def _cumax_backward(self, slopes: Tensor, shares: Tensor) -> Tensor:
        """Give derivatives by what `_cumax` was given, from those by its result; `shares` is the softmax."""
        by_sums = slopes.view(len(slopes), self.master, self.chunk).sum(2)
        by_shares = by_sums.flip(1).cumsum(1).flip(1)
        return shares * (by_shares - (by_shares * shares).sum(1, keepdim=True))

    def _spread(self, x: Tensor) -> Tensor:
        """Give each unit the value of its master gate."""
        return x.repeat_interleave(self.chunk, dim=1)
