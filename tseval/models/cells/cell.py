"""What every recurrent cell offers: one layer that can read a window or take a single step."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]


class Cell(nn.Module):
    """One recurrent layer.

    The update is split in two, because most of its cost does not depend on the state: `project`
    turns word vectors into their contribution to the update (once for a whole window, or once per
    vocabulary item), `step` combines that contribution with the previous state.

    Attributes:
        n_states: Number of tensors that make up the state; the first is the output.
    """

    n_states: ClassVar[int] = 1

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size

    def initial_state(self, batch: int) -> State:
        """Give the zero state, `n_states` tensors of (batch, hidden)."""
        weight = next(self.parameters())
        return tuple(weight.new_zeros(batch, self.hidden_size) for _ in range(self.n_states))

    def project(self, x: Tensor) -> Tensor:
        """Turn word vectors, (..., input), into their part of the update, (..., gates * hidden)."""
        raise NotImplementedError

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word.

        Args:
            projected: What `project` gave for the word, (batch, gates * hidden).
            state: Previous state, each (batch, hidden).

        Returns:
            Next state, each (batch, hidden).
        """
        raise NotImplementedError

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window.

        Args:
            x: Word vectors, (time, batch, input).
            state: State before the window, each (batch, hidden).

        Returns:
            Outputs, (time, batch, hidden), and the state after the window.
        """
        outputs = []
        for projected in self.project(x):
            state = self.step(projected, state)
            outputs.append(state[0])
        return torch.stack(outputs), state


class FusedCell(Cell):
    """A cell that torch has a fused layer for; that layer holds the weights and reads windows."""

    layer_type: ClassVar[type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]]
    layer: nn.RNNBase

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.layer = self.layer_type(input_size, hidden_size)

    @property
    def weights(self) -> list[nn.Parameter]:
        """Input weights U, recurrent weights W, and torch's two bias vectors."""
        return self.layer.all_weights[0]

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window; see `Cell.forward`."""
        before = tuple(tensor[None] for tensor in state)
        outputs, after = self.layer(x, before if self.n_states > 1 else before[0])
        return outputs, tuple(tensor[0] for tensor in (after if self.n_states > 1 else (after,)))
