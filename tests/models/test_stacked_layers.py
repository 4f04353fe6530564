"""The language model around the cells: layers on top of each other, dropout, words projected once."""

import math

import pytest
import torch
from torch import nn

from tseval.models.cells import CELLS
from tseval.models.network import LanguageModel, Sizes


def make(arch, dropout=0.0, layers=2):
    torch.manual_seed(5)
    sizes = Sizes(arch, vocabulary=30, embedding=8, hidden=12, layers=layers, dropout=dropout)
    return LanguageModel(sizes)


@pytest.mark.parametrize(("arch", "stack"), [("srn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_the_language_model_is_torchs_stack_of_layers(arch, stack):
    model, theirs = make(arch, layers=3).eval(), stack(8, 12, 3)
    for layer, cell in enumerate(model.cells):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(theirs, f"{name}_l{layer}").data = getattr(cell.layer, f"{name}_l0").data
    words = torch.arange(20).view(10, 2)
    ours, _ = model(words, model.initial_state(2))
    expected, _ = theirs(model.embedding(words))
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("arch", sorted(CELLS))
def test_one_word_at_a_time_is_the_window(arch):
    model = make(arch).double().eval()
    words = torch.arange(20).view(10, 2) % 7
    window, after = model(words, model.initial_state(2))
    state = model.initial_state(2)
    for time, read in enumerate(words):
        state = model.step(model.project(read), state)
        torch.testing.assert_close(model.top(state), window[time], rtol=0, atol=1e-12)
    torch.testing.assert_close(state, after, rtol=0, atol=1e-12)


def test_a_word_that_occurs_again_is_exponentiated_once_with_the_same_outputs_and_gradients():
    model = make("urn").double()
    words = torch.tensor([[3, 3], [4, 3], [3, 9], [4, 3]])
    goal = torch.randn(4, 2, 12, dtype=torch.float64)
    x = model.embedding(words)
    for cell in model.cells:
        x, _ = cell(x, cell.initial_state(2))
    plain = torch.autograd.grad((x * goal).sum(), list(model.parameters())[:-2])
    seen = []
    model.cells[0].angles.register_forward_hook(lambda _, inputs, __: seen.append(len(inputs[0])))
    ours, _ = model(words, model.initial_state(2))
    assert seen == [3]
    torch.testing.assert_close(ours, x, rtol=0, atol=1e-12)
    gradients = torch.autograd.grad((ours * goal).sum(), list(model.parameters())[:-2])
    torch.testing.assert_close(gradients, plain, rtol=0, atol=1e-12)


def test_gradients_through_the_words_projected_once_are_those_of_numerical_differentiation():
    torch.manual_seed(6)
    model = LanguageModel(Sizes("urn", vocabulary=5, embedding=3, hidden=4, layers=2)).double()
    words, state = torch.tensor([[3, 3], [4, 3], [3, 1]]), model.initial_state(2)
    parameters = [p for name, p in model.named_parameters() if not name.startswith("output")]
    assert torch.autograd.gradcheck(lambda *_: model(words, state)[0], parameters)


def test_dropout_acts_on_the_angles_of_the_urn_so_that_the_state_keeps_its_length():
    model = make("urn", dropout=0.5, layers=1)
    words = torch.full((50, 40), 3)
    first, second = (model.cells[0](model.embedding(words), model.initial_state(40))[0] for _ in range(2))
    assert torch.equal(first, second)
    outputs, (state,) = model._first_layer(words, model.initial_state(40))
    # A word is turned once for a window, so that all its readers drop the same entries; the next window
    # drops others. All still only rotate.
    assert torch.equal(outputs[-1, 0], outputs[-1, 1])
    again, _ = model._first_layer(words, model.initial_state(40))
    assert not torch.allclose(outputs[-1], again[-1])
    torch.testing.assert_close(state.norm(dim=1), torch.ones(40), rtol=0, atol=1e-5)


def test_dropout_acts_in_training_only():
    torch.manual_seed(6)
    model = LanguageModel(Sizes("srn", vocabulary=9, embedding=50, hidden=50, layers=2, dropout=0.5))
    words, state = torch.zeros(1, 1, dtype=torch.long), model.initial_state(1)
    zeros = (model(words, state)[0] == 0).float().mean().item()
    assert zeros == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 50))
    assert (model.eval()(words, state)[0] != 0).all()
