"""The Slacked Decay RNN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.models.cells.cell import recurrent_matrix
from tseval.models.cells.decay import DecayCell

if TYPE_CHECKING:
    from torch import Tensor


class SlackedDecayRNN(DecayCell):
    """Decay RNN without Dale's law: a unit may excite some units and inhibit others.

    c_t = W h_{t-1} + U x_t + b
    h_t = f(α h_{t-1} + (1 - α) c_t)

    Source: Bhatt et al. 2020, section 4. See `DecayCell` for α.
    """

    def add_recurrent(self) -> None:
        """Add W."""
        self.recurrent = recurrent_matrix(self.hidden_size, self.hidden_size)

    def recurrent_weight(self) -> Tensor:
        """W, (hidden, hidden)."""
        return self.recurrent
