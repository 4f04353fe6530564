"""The Decay RNN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.models.cells.cell import recurrent_matrix
from tseval.models.cells.dale import INHIBITORY, dale_signs
from tseval.models.cells.decay import DecayCell

if TYPE_CHECKING:
    from torch import Tensor


class DecayRNN(DecayCell):
    """Recurrent network whose state decays at a learned rate, under Dale's law.

    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = f(α h_{t-1} + (1 - α) c_t)

    Source: Bhatt et al. 2020, section 4.

    Args:
        input_size: Width of a word vector.
        hidden_size: Width of the state.
        initial_alpha: See `DecayCell`.
        alpha_bound: See `DecayCell`.
        activation: See `DecayCell`.
        inhibitory: Which units inhibit; see `dale_signs`.
    """

    later_options = ("inhibitory",)
    signs: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        initial_alpha: float = 0.8,
        alpha_bound: str = "sigmoid",
        activation: str = "tanh",
        inhibitory: str = INHIBITORY,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            initial_alpha=initial_alpha,
            alpha_bound=alpha_bound,
            activation=activation,
        )
        # Derived from the options and the size, so it is no part of a checkpoint.
        self.register_buffer("signs", dale_signs(hidden_size, inhibitory), persistent=False)

    def add_recurrent(self) -> None:
        """Add W."""
        self.recurrent = recurrent_matrix(self.hidden_size, self.hidden_size)

    def recurrent_weight(self) -> Tensor:
        """ReLU(W) D, (hidden, hidden)."""
        return self.recurrent.relu() * self.signs
