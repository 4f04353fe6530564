"""The Decay RNN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.models.cells.cell import recurrent_matrix
from tseval.models.cells.dale import dale_signs
from tseval.models.cells.decay import DecayCell

if TYPE_CHECKING:
    from torch import Tensor


class DecayRNN(DecayCell):
    """Recurrent network whose state decays at a learned rate, under Dale's law.

    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = f(α h_{t-1} + (1 - α) c_t)

    Source: Bhatt et al. 2020, section 4. See `DecayCell` for α and `dale_signs` for D.
    """

    signs: Tensor

    def add_recurrent(self) -> None:
        """Add W and the signs D."""
        self.recurrent = recurrent_matrix(self.hidden_size, self.hidden_size)
        # Derived from the size alone, so it is no part of a checkpoint.
        self.register_buffer("signs", dale_signs(self.hidden_size), persistent=False)

    def recurrent_weight(self) -> Tensor:
        """ReLU(W) D, (hidden, hidden)."""
        return self.recurrent.relu() * self.signs
