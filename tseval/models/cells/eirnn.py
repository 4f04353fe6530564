"""The excitatory-inhibitory RNN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.models.cells.cell import AdditiveCell, State, recurrent_matrix, require
from tseval.models.cells.dale import INHIBITORY, dale_signs

if TYPE_CHECKING:
    from collections.abc import Sequence


class EIRNN(AdditiveCell):
    """Excitatory and inhibitory rate units that leak at a fixed rate, with noise while training.

    r_{t-1} = relu(s_{t-1})
    s_t     = (1 - β) s_{t-1} + β ((ReLU(W) D) r_{t-1} + U x_t + b) + √(2 β σ²) N(0, 1)

    The state is (r, s); r is the output. Without self-connections the diagonal of W is masked, always, so
    that training cannot bring them back.

    Source: Song, Yang & Wang 2016, the discretised dynamics; β as in Bansal et al. 2020 (0.17 and 0.001).
    Departure: the published program of Bansal et al. has β = 0.005 and no noise.

    Args:
        input_size: Width of a word vector.
        hidden_size: Number of units.
        beta: β, the share of the state that is renewed at every word.
        sigma: σ, strength of the noise in training; 0 for none.
        self_connections: Whether a unit may drive itself.
        inhibitory: Which units inhibit; see `dale_signs`.
    """

    n_states = 2
    later_options = ("inhibitory",)
    mask: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        beta: float = 0.17,
        sigma: float = 0.15,
        self_connections: bool = False,
        inhibitory: str = INHIBITORY,
    ) -> None:
        require("beta", beta, 0 < beta <= 1, "above 0 and at most 1")
        require("sigma", sigma, 0 <= sigma < math.inf, "a finite number, 0 or above")
        super().__init__(input_size, hidden_size, hidden_size)
        self.beta, self.sigma = beta, sigma
        self.recurrent = recurrent_matrix(hidden_size, hidden_size)
        mask = dale_signs(hidden_size, inhibitory).repeat(hidden_size, 1)
        if not self_connections:
            mask.fill_diagonal_(0)
        # Derived from the options and the size, so it is no part of a checkpoint.
        self.register_buffer("mask", mask, persistent=False)

    def recurrent_weight(self) -> Tensor:
        """ReLU(W) D, (hidden, hidden), with a zero diagonal unless there are self-connections."""
        return self.recurrent.relu() * self.mask

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """There are none."""
        return ()

    def update(self, drive: Tensor, state: State) -> State:
        """Advance the state; see `AdditiveCell.update`."""
        s = torch.lerp(state[1], drive, self.beta)
        if self.training and self.sigma:
            s = s + math.sqrt(2 * self.beta) * self.sigma * torch.randn_like(s)
        return s.relu(), s

    def update_backward(
        self, _: Tensor, __: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`. The noise adds nothing to it."""
        slope = torch.ops.aten.threshold_backward(slopes[0], after[0], 0) + slopes[1]
        return slope * self.beta, (torch.zeros_like(slope), slope * (1 - self.beta)), ()
