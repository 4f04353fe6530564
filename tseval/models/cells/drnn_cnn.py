"""The Decay RNN whose decay rate depends on the last words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import AdditiveCell, State, recurrent_matrix, require
from tseval.models.cells.decay import ACTIVATIONS, DERIVATIVES, INHIBITORY, dale_signs, logit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INITIAL_ALPHA = 0.8
MAX_WINDOW = 1000  # words; a sentence is shorter


class ConvolutionalDecayRNN(AdditiveCell):
    """Decay RNN with a decay rate for every step, read off a window of word vectors.

    α_t = σ(k_0 · x_t + k_1 · x_{t-1} + ... + k_{n-1} · x_{t-n+1} + b_α)
    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = f(α_t h_{t-1} + (1 - α_t) c_t)

    The window ends at the word being read, since a language model must not look ahead. Instead of the last
    word vectors, the state (h, pending) holds what they still owe to coming decay rates, (batch, n - 1):
    pending_i is the part of the sum for α_{t+1+i} that is known at time t. Before the first word it is 0.

    Source: Bansal et al. 2020, section 6.2 and Figure 4.

    Args:
        input_size: Width of a word vector.
        hidden_size: Width of h.
        window: n, words that the decay rate depends on, at most 1,000.
        activation: f, `tanh` for language models, `relu` for classifiers.
        inhibitory: Which units inhibit; see `dale_signs`.
    """

    name = "drnn-cnn"
    n_states = 2
    later_options = ("inhibitory",)
    signs: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        window: int = 3,
        activation: str = "tanh",
        inhibitory: str = INHIBITORY,
    ) -> None:
        require("window", window, 0 < window <= MAX_WINDOW, f"from 1 to {MAX_WINDOW}")
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size, hidden_size)
        self.activation, self.activation_backward = ACTIVATIONS[activation], DERIVATIVES[activation]
        self.taps = nn.Linear(input_size, window, bias=False)
        self.decay = nn.Parameter(torch.tensor(logit(INITIAL_ALPHA)))
        self.recurrent = recurrent_matrix(hidden_size, hidden_size)
        self.drive_size += window
        self.register_buffer("signs", dale_signs(hidden_size, inhibitory), persistent=False)

    def initial_state(self, batch: int) -> State:
        """Give h = 0 and nothing pending: (batch, hidden) and (batch, window - 1)."""
        widths = self.hidden_size, self.taps.out_features - 1
        return tuple(self.decay.new_zeros(batch, width) for width in widths)

    def project(self, x: Tensor) -> Tensor:
        """U x + b, then k_0 · x to k_{n-1} · x, (..., hidden + window)."""
        return torch.cat((self.input(x), self.taps(x)), -1)

    def recurrent_weight(self) -> Tensor:
        """ReLU(W) D, (hidden + window, hidden); the state adds nothing to the convolution."""
        return F.pad(self.recurrent.relu() * self.signs, (0, 0, 0, self.taps.out_features))

    def watched_words(self, projected: Tensor) -> Mapping[str, Tensor]:
        """α_t of each word; nothing is pending before the first."""
        sums = projected[..., self.hidden_size :]
        earlier = (F.pad(sums[..., lag], (0, 0, lag, 0))[: len(sums)] for lag in range(sums.shape[-1]))
        return {"alpha": (sum(earlier, start=self.decay).sigmoid())[..., None]}

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """The constant b_α."""
        return (self.decay,)

    def update(self, drive: Tensor, state: State) -> State:
        """Advance the state; see `AdditiveCell.update`."""
        h, pending = state
        c, taps = drive[:, : self.hidden_size], drive[:, self.hidden_size :]
        sums = taps + F.pad(pending, (0, 1))
        alpha = (sums[:, :1] + self.decay).sigmoid()
        return self.activation(torch.lerp(c, h, alpha)), sums[:, 1:]

    def update_backward(
        self, drive: Tensor, before: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        c, taps = drive[:, : self.hidden_size], drive[:, self.hidden_size :]
        h, pending = before
        alpha = (taps[:, :1] + F.pad(pending, (0, 1))[:, :1] + self.decay).sigmoid()
        slope = self.activation_backward(slopes[0], after[0])
        by_alpha = (slope * (h - c)).sum(1, keepdim=True) * alpha * (1 - alpha)
        by_sums = torch.cat((by_alpha, slopes[1]), 1)
        by_drive = torch.cat((slope * (1 - alpha), by_sums), 1)
        return by_drive, (slope * alpha, by_sums[:, :-1]), (by_alpha.sum(),)
