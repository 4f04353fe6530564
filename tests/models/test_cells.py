"""Cells against float64 evaluations of their equations, and against torch's own modules."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from tseval.models.cells import CELLS
from tseval.models.cells.drnn import DecayRNN
from tseval.models.language_model import LanguageModel, Sizes

INPUT, HIDDEN, BATCH, TIME = 7, 11, 3, 6


def numbers(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(cell, x, state):
    """One step of a cell's equation in numpy float64; `cell` holds the same numbers."""
    p = {name: value.detach().numpy() for name, value in cell.named_parameters()}
    h = state[0]
    if isinstance(cell, DecayRNN):
        signs = np.ones(HIDDEN)
        signs[-(HIDDEN // 5) :] = -1
        dale = np.maximum(p["recurrent"], 0) @ np.diag(signs)
        c = h @ dale.T + x @ p["input.weight"].T + p["input.bias"]
        alpha = sigmoid(p["decay"])
        return (np.tanh(alpha * h + (1 - alpha) * c),)
    u, w = x @ p["layer.weight_ih_l0"].T, h @ p["layer.weight_hh_l0"].T
    b, b_recurrent = p["layer.bias_ih_l0"], p["layer.bias_hh_l0"]
    match type(cell).__name__:
        case "SRN":
            return (np.tanh(u + w + b + b_recurrent),)
        case "LSTM":
            i, f, g, o = np.split(u + w + b + b_recurrent, 4, axis=1)
            c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
            return sigmoid(o) * np.tanh(c), c
        case "GRU":
            (ur, uz, un), (wr, wz, wn) = np.split(u + b, 3, axis=1), np.split(w + b_recurrent, 3, axis=1)
            r, z = sigmoid(ur + wr), sigmoid(uz + wz)
            return ((1 - z) * np.tanh(un + r * wn) + z * h,)
    raise AssertionError(f"no equation for {cell}")


@pytest.fixture(params=sorted(CELLS))
def cell(request):
    torch.manual_seed(3)
    return CELLS[request.param](INPUT, HIDDEN).double()


def test_a_step_is_the_equation(cell):
    x = numbers(1, BATCH, INPUT)
    state = tuple(numbers(10 + i, BATCH, HIDDEN) for i in range(cell.n_states))
    ours = cell.step(cell.project(x), state)
    expected = by_hand(cell, x.numpy(), [tensor.numpy() for tensor in state])
    assert len(ours) == len(expected) == cell.n_states
    for got, wanted in zip(ours, expected, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), wanted, atol=1e-12)


def test_a_window_is_step_after_step(cell):
    x, state = numbers(2, TIME, BATCH, INPUT), cell.initial_state(BATCH)
    outputs, after = cell(x, state)
    for time in range(TIME):
        state = cell.step(cell.project(x[time]), state)
        torch.testing.assert_close(outputs[time], state[0])
    for got, wanted in zip(after, state, strict=True):
        torch.testing.assert_close(got, wanted)


def test_gradients_are_those_of_the_equation(cell):
    # Numerical differentiation knows nothing of the fused layers' own backward passes.
    x = numbers(4, 3, 2, INPUT).requires_grad_()
    state = cell.initial_state(2)
    assert torch.autograd.gradcheck(lambda *_: cell(x, state)[0], (x, *cell.parameters()))


def test_the_decay_rnn_starts_at_alpha_08_and_obeys_dale():
    cell = DecayRNN(4, 10)
    assert cell.alpha.item() == pytest.approx(0.8)
    assert cell.signs.tolist() == [1.0] * 8 + [-1.0] * 2


@pytest.mark.parametrize(
    ("arch", "parameters"),
    # Bhatt et al. 2020, Table 4 prints 1.4M, 4.2M, 5.6M, 1.4M. The Decay RNN has one bias where torch's
    # layer has two, and one decay rate a layer.
    [
        ("srn", 1_400_100),
        ("gru", 4_200_300),
        ("lstm", 5_600_400),
        ("drnn", (200 + 650 + 1) * 650 + (650 + 650 + 1) * 650 + 2),
    ],
)
def test_core_parameters_match_table_4(arch, parameters):
    with torch.device("meta"):
        model = LanguageModel(Sizes(arch, vocabulary=10, embedding=200, hidden=650, layers=2))
    assert model.n_core_parameters == parameters


def test_the_language_model_is_torchs_stack_of_lstm_layers():
    torch.manual_seed(5)
    model = LanguageModel(Sizes("lstm", vocabulary=30, embedding=8, hidden=12, layers=3)).eval()
    stack = nn.LSTM(8, 12, 3)
    for layer, cell in enumerate(model.cells):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(stack, f"{name}_l{layer}").data = getattr(cell.layer, f"{name}_l0").data
    words = torch.arange(20).view(10, 2)
    ours, _ = model(words, model.initial_state(2))
    expected, _ = stack(model.embedding(words))
    torch.testing.assert_close(ours, expected)


def test_dropout_acts_in_training_only():
    torch.manual_seed(6)
    model = LanguageModel(Sizes("srn", vocabulary=9, embedding=50, hidden=50, layers=2, dropout=0.5))
    words, state = torch.zeros(1, 1, dtype=torch.long), model.initial_state(1)
    zeros = (model(words, state)[0] == 0).float().mean().item()
    assert zeros == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 50))
    assert (model.eval()(words, state)[0] != 0).all()
