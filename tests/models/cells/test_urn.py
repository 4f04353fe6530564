"""The URN: its equation, used by the tests of all cells, and its other properties."""

import numpy as np
import pytest
import torch
from equations import Known
from scipy.linalg import expm

from tseval.models.cells.urn import URN

INPUT, HIDDEN, BATCH, TIME = 7, 12, 3, 6


def skew(angles, n):
    """Return S(x): x row by row above the diagonal, its negative below."""
    s, left = np.zeros((n, n)), iter(angles)
    for row in range(n):
        for column in range(row + 1, n):
            s[row, column] = next(left)
            s[column, row] = -s[row, column]
    assert next(left, None) is None
    return s


def urn(weights, options, words, state):
    angles = words[-1]
    if "angles.weight" in weights:
        angles = angles @ weights["angles.weight"].T + weights["angles.bias"]
    n = state[0].shape[1]
    return (np.stack([expm(skew(x, n)) @ h for x, h in zip(angles, state[0], strict=True)]),)


KNOWN = {"urn": Known(urn, lambda e, n: (e + 1) * n * (n - 1) // 2)}


def words(time=TIME, batch=BATCH, width=INPUT):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(time, batch, width, generator=generator, dtype=torch.float64)


def make(input_size=INPUT):
    torch.manual_seed(2)
    return URN(input_size, HIDDEN).double()


def read(cell, x):
    return cell(x, cell.initial_state(x.shape[1]))[0]


def test_the_urn_starts_from_the_first_unit_vector():
    (state,) = make().initial_state(2)
    assert state.tolist() == [[1.0] + [0.0] * (HIDDEN - 1)] * 2


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 30.0])
def test_a_word_of_the_urn_is_a_rotation(scale):
    cell = make(HIDDEN * (HIDDEN - 1) // 2)
    rotations = cell.project(scale * words(5, 2, cell.input_size))
    one = torch.eye(HIDDEN, dtype=torch.float64).expand(5, 2, HIDDEN, HIDDEN)
    torch.testing.assert_close(rotations.mT @ rotations, one, rtol=0, atol=1e-11)
    torch.testing.assert_close(rotations.det(), torch.ones(5, 2, dtype=torch.float64), rtol=0, atol=1e-11)


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-4), (torch.float64, 1e-11)])
def test_the_urn_keeps_the_length_of_its_state_over_a_thousand_words(dtype, bound):
    cell = make().to(dtype)
    outputs = read(cell, words(1000).to(dtype))
    lengths = outputs.double().norm(dim=2)
    torch.testing.assert_close(lengths, torch.ones_like(lengths), rtol=0, atol=bound)
    assert outputs.std(0).min() > 0.1  # the rotation is not trivial
