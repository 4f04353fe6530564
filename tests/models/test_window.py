"""Training reads a window in one call, with the outputs and gradients of single steps, for every option."""

from typing import Any

import pytest
import torch

from tseval.models.cells import CELLS, window
from tseval.models.cells.cell import LEAST_UNITS, AdditiveCell, FusedCell
from tseval.models.cells.window import Kernels, read_window

TIME, BATCH, INPUT, HIDDEN = 5, 3, 4, 6
RELU = {"activation": "relu"}
BY_WINDOW = [arch for arch, cell in CELLS.items() if issubclass(cell, AdditiveCell | FusedCell)]
VARIANTS: list[Any] = [(arch, {}) for arch in BY_WINDOW]
VARIANTS += [(arch, RELU) for arch in ("srn", "gru", "lstm", "drnn", "sdrnn", "abdrnn", "drnn-cnn")]
VARIANTS += [(arch, {"inhibitory": "0.5:drawn:2"}) for arch in ("drnn", "drnn-cnn", "eirnn")]
VARIANTS += [("drnn-cnn", {"window": 1}), ("onlstm", {"chunk": 2}), ("onlstm", {"chunk": 3})]
VARIANTS += [("drnn", {**RELU, "alpha_bound": "none", "initial_alpha": 1.2})]


def by_window(cell: Any, x, state):
    """Read a window as training in a narrow type does, but in float64, where rounding hides nothing."""
    weight, bias = cell.recurrent() if isinstance(cell, FusedCell) else (cell.recurrent_weight(), None)
    return read_window(cell, cell.project(x), weight, bias, state)


def by_kernels(cell: Any, x, state):
    """Read a window in the same way, with the kernels for a GPU."""
    cell.kernels = Kernels(cell)
    return by_window(cell, x, state)


def by_steps(cell, x, state):
    outputs = []
    for word in cell.project(x):
        state = cell.step(word, state)
        outputs.append(state[0])
    return torch.stack(outputs), state


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_window_read_at_once_has_the_outputs_and_gradients_of_single_steps(variant, monkeypatch):
    monkeypatch.setattr(window, "_compiled", lambda function: function)
    arch, options = variant
    torch.manual_seed(4)
    cell = CELLS[arch](INPUT, HIDDEN, **options).double()
    x = torch.randn(TIME, BATCH, INPUT, dtype=torch.float64)
    weight = torch.randn(TIME, BATCH, HIDDEN, dtype=torch.float64)
    # A state that a text can produce.
    with torch.no_grad():
        _, start = cell(torch.randn_like(x), cell.initial_state(BATCH))
    found = []
    for read in (by_steps, by_window, by_kernels):
        cell.zero_grad()
        torch.manual_seed(5)  # for the noise of the EIRNN
        inputs = [x.clone().requires_grad_(), *(tensor.clone().requires_grad_() for tensor in start)]
        outputs, after = read(cell, inputs[0], tuple(inputs[1:]))
        loss = (outputs * weight).sum() + sum(tensor.square().sum() for tensor in after)
        loss.backward()
        found.append([outputs, *after, *(t.grad for t in inputs), *(p.grad for p in cell.parameters())])
    for theirs, *ours in zip(*found, strict=True):
        for one in ours:
            torch.testing.assert_close(one, theirs)


@pytest.mark.parametrize("name", BY_WINDOW)
def test_under_autocast_a_large_layer_differs_from_float32_by_the_rounding_of_products(name):
    torch.manual_seed(0)
    cell = CELLS[name](30, 80).eval()  # without the noise of the EIRNN
    batch = LEAST_UNITS // 80 + 1
    x, state = torch.randn(9, batch, 30), cell.initial_state(batch)
    weight, parameters = torch.randn(9, batch, 80), list(cell.parameters())
    exact = torch.autograd.grad((cell(x, state)[0] * weight).sum(), parameters)
    with torch.autocast("cpu", torch.bfloat16):
        outputs, after = cell(x, state)
    assert all(tensor.dtype == torch.float32 for tensor in (outputs, *after))
    for rounded, one in zip(torch.autograd.grad((outputs * weight).sum(), parameters), exact, strict=True):
        assert rounded.dtype == torch.float32
        assert 1e-5 < (rounded - one).norm() / one.norm() < 0.1
