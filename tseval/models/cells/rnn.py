"""Simple recurrent network, GRU and LSTM with torch's layers; ablated LSTM and ordered-neurons LSTM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import AdditiveCell, FusedCell, State, recurrent_matrix, require
from tseval.models.cells.decay import ACTIVATIONS, DERIVATIVES, IN_PLACE
from tseval.models.cells.window import Gradients, aten, tanh_

if TYPE_CHECKING:
    from collections.abc import Sequence


class SRN(FusedCell):
    """Elman network, computed by torch's fused layer.

    h_t = f(W h_{t-1} + U x_t + b)

    f is `activation`: `tanh` for language models, `relu` for classifiers.

    Source: Elman 1990, "Finding structure in time". The bias is the sum of torch's two bias vectors.
    """

    name = "srn"
    layer_type = nn.RNN

    def __init__(self, input_size: int, hidden_size: int, *, activation: str = "tanh") -> None:
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size, nn.RNN(input_size, hidden_size, nonlinearity=activation))
        self.activation = ACTIVATIONS[activation]
        self.activation_backward = DERIVATIVES[activation]

    def project(self, x: Tensor) -> Tensor:
        """Return U x + b, (..., hidden)."""
        u, _, b, b_recurrent = self.weights
        return F.linear(x, u, b + b_recurrent)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        return self.update(torch.addmm(projected, state[0], self.weights[1].t()), state)

    def update(self, drive: Tensor, _: State) -> State:
        """Compute the next state from the drive W h_{t-1} + U x_t + b."""
        return (self.activation(drive),)

    def update_backward(self, _: Tensor, __: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
        return self.activation_backward(slopes[0], after[0]), (torch.zeros_like(after[0]),), ()


class GRU(FusedCell):
    """Gated recurrent unit, computed by torch's fused layer if f is tanh.

    r = σ(W_r h_{t-1} + U_r x_t + b_r)
    z = σ(W_z h_{t-1} + U_z x_t + b_z)
    n = f(U_n x_t + b_n + r ∘ (W_n h_{t-1} + b'_n))
    h_t = (1 - z) ∘ n + z ∘ h_{t-1}

    Source: Cho et al. 2014, in torch's variant: the reset gate acts after the matrix product, so the
    recurrent bias b' cannot be merged with the input bias.

    Args:
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
        """Return U x + b for the three gates, (..., 3 * hidden)."""
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
        """Return W and b' in the order n, r, z."""
        _, w, _, b_recurrent = self.weights
        return w.roll(self.hidden_size, 0), b_recurrent.roll(self.hidden_size, 0)

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state from the drive, which holds W_n h + b'_n, then r and z, then U_n x + b_n."""
        h_n, r, z, x_n = drive.chunk(4, dim=1)
        n = self.activation(x_n + r.sigmoid() * h_n)
        return (n + z.sigmoid() * (state[0] - n),)

    def update_backward(self, drive: Tensor, before: State, _: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
        h_n, r, z, x_n = drive.chunk(4, dim=1)
        drive[:, self.hidden_size : 3 * self.hidden_size].sigmoid_()
        n = self.activate_(x_n.addcmul_(r, h_n))
        by_h, by_z = slopes[0] * z, slopes[0] * (before[0] - n)
        self.derive_(slopes[0] - by_h, n, x_n)
        aten.sigmoid_backward.grad_input(by_z, z, grad_input=z)
        by_r = x_n * h_n
        h_n.copy_(x_n).mul_(r)
        aten.sigmoid_backward.grad_input(by_r, r, grad_input=r)
        return drive, (by_h,), ()


class LSTM(FusedCell):
    """LSTM with forget gate, computed by torch's fused layer if φ is tanh.

    i, f, o = σ(W h_{t-1} + U x_t + b), one matrix each
    g       = tanh(W_g h_{t-1} + U_g x_t + b_g)
    c_t     = f ∘ c_{t-1} + i ∘ g
    h_t     = o ∘ φ(c_t), or with a projection P o ∘ φ(c_t)

    Source: Hochreiter & Schmidhuber 1997; Gers et al. 2000; Sak et al. 2014 for P. The state is (h, c). The
    gates have torch's order i, f, g, o, and the bias is the sum of torch's two bias vectors.

    Args:
        activation: φ, `tanh`, or `relu` as in the number-prediction program of Bhatt et al. 2020, where g
            also has tanh.
        projection: Width to which h is projected; 0 for no projection.
    """

    name = "lstm"
    layer_type = nn.LSTM
    n_states = 2
    later_options = ("activation", "projection")

    def __init__(
        self, input_size: int, hidden_size: int, *, activation: str = "tanh", projection: int = 0
    ) -> None:
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        require("projection", projection, 0 <= projection < hidden_size, f"below {hidden_size}, 0 for none")
        super().__init__(input_size, hidden_size, nn.LSTM(input_size, hidden_size, proj_size=projection))
        self.projection = projection
        self.activation, self.fused = ACTIVATIONS[activation], activation == "tanh"
        self.activate_, self.activation_backward = IN_PLACE[activation][0], DERIVATIVES[activation]

    def project(self, x: Tensor) -> Tensor:
        """Return U x + b for the four gates, (..., 4 * hidden)."""
        u, _, b, b_recurrent = self.weights
        return F.linear(x, u, b + b_recurrent)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        h, c = self.update(torch.addmm(projected, state[0], self.weights[1].t()), state)
        return (F.linear(h, self.layer.all_weights[0][4]) if self.projection else h), c

    def initial_state(self, batch: int) -> State:
        """Return the zero state; see `Cell.initial_state`."""
        widths = self.projection or self.hidden_size, self.hidden_size
        return tuple(self.weights[0].new_zeros(batch, width) for width in widths)

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state from the drive, W h_{t-1} + U x_t + b of the four gates."""
        i, f, g, o = drive.chunk(4, dim=1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * self.activation(c), c

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
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
    """LSTM whose input and forget gates are learned constants, the same at every step.

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
        """Return W_o above W_c, (2 * hidden, hidden)."""
        return self.recurrent

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """The two constant gates."""
        return self.forget, self.admit

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state; see `AdditiveCell.update`."""
        o, candidate = drive.chunk(2, dim=1)
        c = self.forget.sigmoid() * state[1] + self.admit.sigmoid() * candidate.tanh()
        return o.sigmoid() * c.tanh(), c

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
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


CHUNK = 10


class ONLSTM(AdditiveCell):
    """LSTM whose units are ordered by the length of their memory, with two master gates.

    i, f, o, g = W h_{t-1} + U x_t + b, one matrix each, before the activations
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
        chunk: Units per master gate, a divisor of `hidden_size`; 0: the largest divisor up to 10, the paper's
            value, that leaves two gates. A single gate would always be 1 and admit nothing.
        weight_drop: Share of the recurrent weights that training drops, the same for a whole window
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
        """Return the six W stacked, (drive, hidden), with dropped weights in training."""
        return F.dropout(self.recurrent, self.weight_drop, self.training)

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """An empty sequence: `update` reads no parameters."""
        return ()

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state; see `AdditiveCell.update`."""
        forget, admit, gates = drive.tensor_split((self.master, 2 * self.master), dim=1)
        i, f, o, g = gates.chunk(4, dim=1)
        m_f, m_i = self._cumax(forget), 1 - self._cumax(admit)
        w = m_f * m_i
        f, i = f.sigmoid() * w + (m_f - w), i.sigmoid() * w + (m_i - w)
        c = f * state[1] + i * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
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
        """Compute values that rise from 0 to 1 over the units: (batch, hidden / chunk) to (batch, hidden)."""
        return self._spread(x.softmax(1).cumsum(1))

    def _cumax_backward(self, slopes: Tensor, shares: Tensor) -> Tensor:
        """Compute the gradient by the input of `_cumax` from that by its result; `shares` is the softmax."""
        by_sums = slopes.view(len(slopes), self.master, self.chunk).sum(2)
        by_shares = by_sums.flip(1).cumsum(1).flip(1)
        return shares * (by_shares - (by_shares * shares).sum(1, keepdim=True))

    def _spread(self, x: Tensor) -> Tensor:
        """Give each unit the value of its master gate."""
        return x.repeat_interleave(self.chunk, dim=1)
