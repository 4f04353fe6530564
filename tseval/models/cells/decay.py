"""What the Decay RNN and its variants share: a state that decays at a learned rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tseval.models.cells.cell import AdditiveCell, State, require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
# The derivative of the loss before the activation, from that after it and from the activation's value.
DERIVATIVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": torch.ops.aten.tanh_backward,
    "relu": lambda slope, value: torch.ops.aten.threshold_backward(slope, value, 0),
}
BOUNDS = ("sigmoid", "none")


class DecayCell(AdditiveCell):
    """State that decays at one learned rate per layer towards the drive c_t.

    h_t = f(α h_{t-1} + (1 - α) c_t)

    Args:
        input_size: Width of a word vector.
        hidden_size: Width of the state.
        initial_alpha: α before training.
        alpha_bound: `sigmoid`: α = σ(a) with a learned; `none`: α itself is learned, without bounds.
        activation: f, `tanh` for language models, `relu` for classifiers.

    Source: Bhatt et al. 2020, section 4. Departure: the authors' language-modelling program starts at
    α = σ(0.8) = 0.69 and their number-prediction programs learn α without a sigmoid; both are options,
    the default is what the paper says.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        initial_alpha: float = 0.8,
        alpha_bound: str = "sigmoid",
        activation: str = "tanh",
    ) -> None:
        super().__init__(input_size, hidden_size, hidden_size)
        require("alpha_bound", alpha_bound, alpha_bound in BOUNDS, "sigmoid or none")
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        self.bounded = alpha_bound == "sigmoid"
        self.activation = ACTIVATIONS[activation]
        self.activation_backward = DERIVATIVES[activation]
        if self.bounded:
            require("initial_alpha", initial_alpha, 0 < initial_alpha < 1, "between 0 and 1")
        else:
            require("initial_alpha", initial_alpha, math.isfinite(initial_alpha), "finite")
        self.decay = nn.Parameter(torch.tensor(logit(initial_alpha) if self.bounded else initial_alpha))
        self.add_recurrent()

    def add_recurrent(self) -> None:
        """Add the recurrent weights, if the variant has any; the constructor calls this once."""

    @property
    def alpha(self) -> Tensor:
        """Decay rate α, a scalar."""
        return self.decay.sigmoid() if self.bounded else self.decay

    @property
    def watched(self) -> Mapping[str, Tensor]:
        """α, which Figure 5 of Bhatt et al. 2020 follows over training."""
        return {"alpha": self.alpha}

    def update(self, drive: Tensor, state: State) -> State:
        """Advance the state; see `AdditiveCell.update`."""
        return (self.activation(torch.lerp(drive, state[0], self.alpha)),)

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """What α comes from."""
        return (self.decay,)

    def update_backward(
        self, drive: Tensor, before: State, after: State, slopes: State, /
    ) -> tuple[Tensor, State, Sequence[Tensor]]:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        alpha = self.alpha
        slope = self.activation_backward(slopes[0], after[0])
        by_alpha = torch.dot(slope.flatten(), (before[0] - drive).flatten())
        if self.bounded:
            by_alpha *= alpha * (1 - alpha)
        return slope * (1 - alpha), (slope * alpha,), (by_alpha,)


def logit(share: float) -> float:
    """Invert the sigmoid."""
    return math.log(share / (1 - share))
