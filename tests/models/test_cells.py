"""Cells against float64 evaluations of their equations, torch's own modules, and numerical gradients."""

from typing import Any

import numpy as np
import pytest
import torch
from equations import EQUATIONS, first_state
from torch import nn

from tseval.models.cells import CELLS
from tseval.models.cells.cell import options_of
from tseval.models.network import LanguageModel, Sizes, Undrawn

BATCH, TIME, INPUT = 3, 6, 7
HIDDEN = 24  # four of them are inhibitory, and the ON-LSTM makes three chunks of eight
DEFAULTS: list[Any] = [(arch, INPUT, HIDDEN, {}) for arch in CELLS]
OTHERS: list[Any] = [
    ("srn", INPUT, 11, {"activation": "relu"}),
    ("gru", INPUT, 11, {"activation": "relu"}),
    ("lstm", INPUT, 11, {"activation": "relu"}),
    ("eirnn", INPUT, 11, {"inhibitory": "0.35:first"}),
    ("drnn", INPUT, 11, {"inhibitory": "0:last"}),
    ("drnn", INPUT, 11, {"inhibitory": "1:first"}),
    ("drnn", INPUT, 100, {"inhibitory": "0.29:drawn:11"}),  # 29, not the 28 of binary fractions
    ("drnn-cnn", INPUT, 11, {"inhibitory": "0.5:drawn:0"}),
    ("eirnn", INPUT, 11, {"beta": 0.001, "self_connections": True}),
    ("eirnn", INPUT, 11, {"beta": 1.0, "sigma": 0.0}),
    ("drnn", INPUT, 4, {}),  # too small for an inhibitory unit
    ("drnn", INPUT, 11, {"initial_alpha": 1.3, "alpha_bound": "none", "activation": "relu"}),
    ("sdrnn", INPUT, 11, {"initial_alpha": 0.1, "activation": "relu"}),
    ("abdrnn", INPUT, 11, {"initial_alpha": -0.2, "alpha_bound": "none"}),
    ("drnn-cnn", INPUT, 11, {"window": 1}),
    ("drnn-cnn", INPUT, 11, {"window": 8, "activation": "relu"}),
    ("onlstm", INPUT, 20, {}),
    ("onlstm", INPUT, 12, {"chunk": 1}),
    ("onlstm", INPUT, 12, {"chunk": 4, "weight_drop": 0.5}),
    ("onlstm", INPUT, 12, {"chunk": 12}),
    ("urn", 5 * 4 // 2, 5, {}),  # the word vectors are the angles
    ("urn", INPUT, 2, {}),
]
# Numerical differentiation takes two evaluations per parameter.
TINY: list[Any] = [(arch, 4, 6, {}) for arch in CELLS]
TINY += [("gru", 4, 6, {"activation": "relu"}), ("lstm", 4, 6, {"activation": "relu"})]
TINY += [("urn", 6, 4, {}), ("onlstm", 4, 6, {"chunk": 2}), ("eirnn", 4, 6, {"self_connections": True})]
TORCHS = {"srn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def numbers(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def make_cell(arch, input_size, hidden, options):
    """Make a cell in float64, its parameters random, so that none can hide behind a zero."""
    torch.manual_seed(3)
    cell = CELLS[arch](input_size, hidden, **options).double().eval()
    for seed, parameter in enumerate(cell.parameters()):
        if not parameter.any():
            parameter.data = numbers(seed, *parameter.shape)
    return cell


def in_the_middle_of_a_text(arch, cell, batch=BATCH):
    """Read some words, then put random numbers into the state; give the words and the state."""
    past = numbers(1, 4, batch, cell.input_size)
    _, state = cell(past, cell.initial_state(batch))
    # What the convolution keeps beside h is owed to the words: it stays.
    free = 1 if arch == "drnn-cnn" else cell.n_states
    state = (*(numbers(10 + i, *tensor.shape) for i, tensor in enumerate(state[:free])), *state[free:])
    if arch == "eirnn":
        state = state[1].relu(), state[1]  # r follows from s
    return past, tuple(tensor.detach() for tensor in state)


def by_hand(variant, cell, words, state):
    """One step of the cell's equation in numpy float64, with the same numbers."""
    arch, _, _, options = variant
    weights = {name: value.detach().numpy() for name, value in cell.named_parameters()}
    return EQUATIONS[arch](weights, options_of(CELLS[arch]) | options, words, state)


def test_every_cell_has_an_equation():
    assert EQUATIONS.keys() == CELLS.keys(), "KNOWN, in the test file of the cell"


@pytest.mark.parametrize("variant", DEFAULTS + OTHERS, ids=str)
def test_a_step_is_the_equation(variant):
    cell = make_cell(*variant)
    past, state = in_the_middle_of_a_text(variant[0], cell)
    x = numbers(2, BATCH, cell.input_size)
    ours = cell.step(cell.project(x), state)
    expected = by_hand(variant, cell, [*past.numpy(), x.numpy()], [tensor.numpy() for tensor in state])
    assert [tensor.shape for tensor in ours] == [tensor.shape for tensor in state]
    for got, wanted in zip(ours, expected, strict=variant[0] != "drnn-cnn"):
        np.testing.assert_allclose(got.detach().numpy(), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", DEFAULTS + OTHERS, ids=str)
def test_a_window_is_the_equation_for_one_word_after_the_other(variant):
    arch, input_size, hidden, _ = variant
    cell, x = make_cell(*variant), numbers(4, TIME, BATCH, input_size)
    outputs, _ = cell(x, cell.initial_state(BATCH))
    state = first_state(arch, BATCH, hidden)
    for time, output in enumerate(outputs):
        state = by_hand(variant, cell, list(x[: time + 1].numpy()), state)
        np.testing.assert_allclose(output.detach().numpy(), state[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", DEFAULTS + OTHERS, ids=str)
def test_a_window_ends_in_the_state_that_steps_lead_to(variant):
    cell = make_cell(*variant)
    _, state = in_the_middle_of_a_text(variant[0], cell)
    x = numbers(5, TIME, BATCH, cell.input_size)
    outputs, after = cell(x, state)
    for time, output in enumerate(outputs):
        state = cell.step(cell.project(x[time]), state)
        torch.testing.assert_close(output, state[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(after, state, rtol=0, atol=1e-12)


@pytest.mark.parametrize("arch", TORCHS)
def test_srn_gru_and_lstm_are_torchs_own(arch):
    cell = make_cell(arch, INPUT, 11, {})
    theirs = TORCHS[arch](INPUT, 11).double()
    for name, parameter in theirs.named_parameters():
        parameter.data = getattr(cell.layer, name).data
    _, state = in_the_middle_of_a_text(arch, cell)
    x = numbers(6, TIME, BATCH, INPUT)
    before = tuple(tensor[None] for tensor in state)
    expected, after = theirs(x, before if arch == "lstm" else before[0])
    after = after if arch == "lstm" else (after,)
    for time in range(TIME):
        state = cell.step(cell.project(x[time]), state)
        torch.testing.assert_close(state[0], expected[time], rtol=0, atol=1e-12)
    torch.testing.assert_close(state, tuple(tensor[0] for tensor in after), rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", TINY, ids=str)
def test_gradients_are_those_of_numerical_differentiation(variant):
    cell = make_cell(*variant)
    _, state = in_the_middle_of_a_text(variant[0], cell, batch=2)
    x = numbers(7, 3, 2, cell.input_size)
    inputs = [tensor.requires_grad_() for tensor in (x, *state)]

    def read(*_):
        outputs, after = cell(x, state)
        return outputs, *after

    # What is differentiated is changed in place, so the cell sees it.
    assert torch.autograd.gradcheck(read, (*inputs, *cell.parameters()))


@pytest.mark.parametrize("arch", CELLS)
def test_a_network_that_is_not_drawn_is_the_same_but_for_its_parameters(arch):
    sizes = Sizes(arch, 6, 15, 6, 2)  # 15 angles turn the 6 units of the URN
    drawn = LanguageModel(sizes)
    before = torch.get_rng_state()
    with Undrawn():
        undrawn = LanguageModel(sizes)
    assert torch.equal(torch.get_rng_state(), before)
    shapes = [{name: p.shape for name, p in model.named_parameters()} for model in (drawn, undrawn)]
    assert shapes[0] == shapes[1]
    for (name, one), (other, two) in zip(drawn.named_buffers(), undrawn.named_buffers(), strict=True):
        assert name == other
        assert torch.equal(one, two)
