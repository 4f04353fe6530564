"""The Decay RNN."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import Cell, State

INITIAL_ALPHA = 0.8
INHIBITORY_SHARE = 5  # one unit in five is inhibitory


class DecayRNN(Cell):
    """Recurrent network whose state decays at a learned rate, under Dale's law.

    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = tanh(α h_{t-1} + (1 - α) c_t),  α = σ(a)

    D is diagonal: the last floor(hidden / 5) entries are -1 (inhibitory units), the others +1. It
    multiplies from the right, so it signs columns, the outgoing weights of a unit.

    Source: Bhatt et al. 2020, section 4. Departure: the published program starts α at σ(0.8) = 0.69
    and leaves noise off D's diagonal; here α starts at 0.8 and D is exact.
    """

    signs: Tensor

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.input = nn.Linear(input_size, hidden_size)
        self.recurrent = nn.Parameter(torch.empty(hidden_size, hidden_size))
        self.decay = nn.Parameter(torch.tensor(math.log(INITIAL_ALPHA / (1 - INITIAL_ALPHA))))
        bound = 1 / math.sqrt(hidden_size)
        nn.init.uniform_(self.recurrent, -bound, bound)
        signs = torch.ones(hidden_size)
        signs[hidden_size - hidden_size // INHIBITORY_SHARE :] = -1
        # Derived from the size alone, so it is no part of a checkpoint.
        self.register_buffer("signs", signs, persistent=False)

    @property
    def alpha(self) -> Tensor:
        """Decay rate α in (0, 1), a scalar."""
        return self.decay.sigmoid()

    def project(self, x: Tensor) -> Tensor:
        """U x + b, (..., hidden)."""
        return self.input(x)  # type: ignore[no-any-return]

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        return self._step(projected, state, self.recurrent.relu() * self.signs)

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window; see `Cell.forward`. The signed weights are made once for all its words."""
        weight = self.recurrent.relu() * self.signs
        outputs = []
        for projected in self.project(x):
            state = self._step(projected, state, weight)
            outputs.append(state[0])
        return torch.stack(outputs), state

    def _step(self, projected: Tensor, state: State, weight: Tensor) -> State:
        (h,) = state
        c = projected + F.linear(h, weight)
        return (torch.lerp(c, h, self.alpha).tanh(),)
