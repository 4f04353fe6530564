"""The unitary-evolution recurrent network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tseval.errors import ModelError
from tseval.models.cells.cell import Cell, State

# Terms of the Taylor series for full precision in each type, if the norm of the matrix is below 1/2.
TERMS = {torch.float32: 8, torch.float64: 14}
MAX_HALVINGS = 128  # exponent of the largest float32


class URN(Cell):
    """A network in which words rotate the state, without activation, forgetting or hyperparameters.

    h_t = exp(S(x_t)) h_{t-1}

    S(x) is skew-symmetric: x fills its strict upper triangle row by row, and the lower triangle is the
    negative. So exp(S(x)) is a rotation, and the state has length 1, except for rounding: in float32, about
    1e-3 over 10,000 words with angles of size 1. h_0 is the first unit vector. n is at least 2.

    Source: Bernardy & Lappin 2022. Departure: their word vectors are the n(n-1)/2 numbers of the rotation.
    So does this cell if the input has that width. For any other width, a learned linear map precedes, so
    that large vocabularies and further layers are possible. A language model computes the exponential once
    for each distinct word of a window, also in training. So dropout, which acts on x_t, drops the same units
    of a word everywhere in the window.
    """

    name = "urn"
    costly_projection = True
    unit: Tensor
    upper: Tensor

    def __init__(self, input_size: int, hidden_size: int) -> None:
        if hidden_size < 2:
            raise ModelError(f"the hidden size of a URN must be above 1, not {hidden_size}")
        super().__init__(input_size, hidden_size)
        n_angles = hidden_size * (hidden_size - 1) // 2
        self.angles = nn.Identity() if input_size == n_angles else nn.Linear(input_size, n_angles)
        # Derived from the size alone, so they are not saved in checkpoints.
        self.register_buffer("unit", torch.eye(1, hidden_size)[0], persistent=False)
        self.register_buffer("upper", torch.triu_indices(hidden_size, hidden_size, 1), persistent=False)

    def initial_state(self, batch: int) -> State:
        """Return the first unit vector, (batch, hidden)."""
        return (self.unit.repeat(batch, 1),)

    def project(self, x: Tensor) -> Tensor:
        """Return exp(S(x)), (..., hidden, hidden)."""
        angles = self.angles(x).to(self.unit.dtype)
        # A product in a narrower type would not be a rotation.
        with torch.autocast(x.device.type, enabled=False):
            half = angles.new_zeros(*angles.shape[:-1], self.hidden_size, self.hidden_size)
            half[..., self.upper[0], self.upper[1]] = angles
            return rotation(half - half.mT)

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`. `projected` is (batch, hidden, hidden)."""
        return ((projected * state[0][:, None]).sum(2),)


def rotation(skew: Tensor) -> Tensor:
    """Return the exponential of skew-symmetric matrices, (..., n, n), by scaling, Taylor series, squaring.

    It agrees with `torch.linalg.matrix_exp` up to rounding. The backward pass of that function exponentiates
    matrices of twice the size, which makes training about four times slower.
    """
    norms = skew.detach().abs().sum(-1).amax(-1)[..., None, None]
    # Halve each matrix separately to a norm below 1/2, so that a word's result does not depend on other
    # words.
    halvings = (norms.frexp().exponent + 1).clamp(0, MAX_HALVINGS)
    small = skew * 0.5**halvings
    result = identity = torch.eye(skew.shape[-1], dtype=skew.dtype, device=skew.device)
    for k in range(TERMS[skew.dtype], 0, -1):
        result = identity + small @ result / k
    for done in range(int(halvings.max())):
        result = torch.where(done < halvings, result @ result, result)
    return result
