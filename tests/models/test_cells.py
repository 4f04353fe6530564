"""Cells against float64 evaluations of their equations, torch's own modules, and numerical gradients."""

import inspect
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from equations import EQUATIONS, KNOWN
from torch import nn

from tseval.models.cells.cell import options_of
from tseval.models.cells.registry import CELLS, FIRST
from tseval.models.network import LanguageModel, Sizes, count_parameters
from tseval.report.published import BUNDLED_BOARDS, read_board

BATCH, TIME, INPUT = 3, 6, 7
HIDDEN = 24  # four are inhibitory, and the ON-LSTM has three chunks of eight
DEFAULTS: list[Any] = [(arch, INPUT, HIDDEN, {}) for arch in CELLS]
OTHERS: list[Any] = [
    ("srn", INPUT, 11, {"activation": "relu"}),
    ("gru", INPUT, 11, {"activation": "relu"}),
    ("lstm", INPUT, 11, {"activation": "relu"}),
    ("eirnn", INPUT, 11, {"inhibitory": "0.35:first"}),
    ("drnn", INPUT, 11, {"inhibitory": "0:last"}),
    ("drnn", INPUT, 11, {"inhibitory": "1:first"}),
    ("drnn", INPUT, 100, {"inhibitory": "0.29:drawn:11"}),  # 29, not 28 as with binary fractions
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
# Numerical differentiation needs two evaluations per parameter.
TINY: list[Any] = [(arch, 4, 6, {}) for arch in CELLS]
TINY += [("gru", 4, 6, {"activation": "relu"}), ("lstm", 4, 6, {"activation": "relu"})]
TINY += [("urn", 6, 4, {}), ("onlstm", 4, 6, {"chunk": 2}), ("eirnn", 4, 6, {"self_connections": True})]


def numbers(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def make_cell(arch, input_size, hidden, options):
    """Make a float64 cell. Its parameters are random, because a zero could hide an error."""
    torch.manual_seed(3)
    cell = CELLS[arch](input_size, hidden, **options).double().eval()
    for seed, parameter in enumerate(cell.parameters()):
        if not parameter.any():
            parameter.data = numbers(seed, *parameter.shape)
    return cell


def in_the_middle_of_a_text(arch, cell, batch=BATCH):
    """Read some words, then set the state to random numbers; return the words and the state."""
    past = numbers(1, 4, batch, cell.input_size)
    _, state = cell(past, cell.initial_state(batch))
    # The convolution's other states come from the words, so they stay.
    free = 1 if arch == "drnn-cnn" else cell.n_states
    state = (*(numbers(10 + i, *tensor.shape) for i, tensor in enumerate(state[:free])), *state[free:])
    if arch == "eirnn":
        state = state[1].relu(), state[1]  # r follows from s
    return past, tuple(tensor.detach() for tensor in state)


def by_hand(variant, cell, words, state):
    """Compute one step of the cell's equation in numpy float64, with the same numbers."""
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
def test_a_window_ends_in_the_state_that_steps_lead_to(variant):
    cell = make_cell(*variant)
    _, state = in_the_middle_of_a_text(variant[0], cell)
    x = numbers(5, TIME, BATCH, cell.input_size)
    outputs, after = cell(x, state)
    for time, output in enumerate(outputs):
        state = cell.step(cell.project(x[time]), state)
        torch.testing.assert_close(output, state[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(after, state, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("variant", TINY, ids=str)
def test_gradients_are_those_of_numerical_differentiation(variant):
    cell = make_cell(*variant)
    _, state = in_the_middle_of_a_text(variant[0], cell, batch=2)
    x = numbers(7, 3, 2, cell.input_size)
    inputs = [tensor.requires_grad_() for tensor in (x, *state)]

    def read(*_):
        outputs, after = cell(x, state)
        return outputs, *after

    # gradcheck changes these tensors in place, so the cell sees the changes.
    assert torch.autograd.gradcheck(read, (*inputs, *cell.parameters()))


# Parameter counts against closed forms, printed numbers, and the table in docs/architectures.md.
PAGE = Path(__file__).parents[2] / "docs/architectures.md"
PRINTED = {model.name: model.parameters for model in read_board(BUNDLED_BOARDS / "bhatt2020").models}
NAMES = {"srn": "SRN", "gru": "GRU", "lstm": "LSTM", "drnn": "DRNN", "sdrnn": "SDRNN", "abdrnn": "Ab-DRNN"}


def two_layers(layer):
    """Sum a closed form over two layers of 650 units; the first reads 200 numbers."""
    return layer(200, 650) + layer(650, 650)


CLOSED_FORMS = {arch: two_layers(known.parameters) for arch, known in KNOWN.items()}


def make(arch, vocabulary=10, embedding=200, hidden=650, layers=2):
    with torch.device("meta"):
        return LanguageModel(Sizes(arch, vocabulary, embedding, hidden, layers))


@pytest.mark.parametrize("arch", CELLS)
def test_the_recurrent_core_has_the_parameters_of_its_equation(arch):
    assert make(arch).n_core_parameters == CLOSED_FORMS[arch]


@pytest.mark.parametrize("arch", NAMES)
def test_the_recurrent_core_has_the_size_that_table_4_prints(arch):
    # 1.4M, 4.2M, 5.6M, 1.4M, 1.4M and 0.55M: two digits, rounded (the table's accuracies are truncated).
    assert f"{make(arch).n_core_parameters / 1e6:.2g}M" == PRINTED[NAMES[arch]]


@pytest.mark.parametrize(("n", "printed"), [(8, 444), (16, 1644), (32, 6348)])
def test_the_urn_has_as_many_parameters_as_printed(n, printed):
    # Bernardy & Lappin 2022, Dyck words of five bracket types; a word vector has the angles.
    model = make("urn", vocabulary=12, embedding=n * (n - 1) // 2, hidden=n, layers=1)
    assert count_parameters(model) == 12 * n * (n - 1) // 2 + 12 * (n + 1) == printed


def test_the_page_of_the_architectures_has_these_numbers():
    rows = re.findall(r"^\| `([\w-]+)` \|[^|]+\|[^|]+\| +([\d,]+) \| +(\S+) \|$", TEXT, re.M)
    counts = {arch: int(count.replace(",", "")) for arch, count, _ in rows}
    assert list(counts) == [arch for arch in CELLS if arch in counts], "rows in the order of the cells"
    assert counts == {arch: CLOSED_FORMS[arch] for arch in counts}
    printed = {arch: size for arch, _, size in rows if size != "–"}
    assert printed == {arch: PRINTED[name] for arch, name in NAMES.items()}


# Every cell's docstring has its equation and source; docs/architectures.md repeats those of its rows.
TEXT = PAGE.read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| ([^|]+?) \|", TEXT, re.MULTILINE))
# The first code block under each heading.
SECTIONS = dict(re.findall(r"^## (.+)\n\n((?:    .+\n)+)", TEXT, re.MULTILINE))


def equations(lines: str) -> list[str]:
    """Return the equations, one per line, without alignment and without text after a comma."""
    return [re.split(r", (?=[^\W\d])", " ".join(line.split()))[0] for line in lines.splitlines()]


@pytest.mark.parametrize("arch", CELLS)
def test_every_cell_says_its_equation_and_its_source(arch):
    text = inspect.getdoc(CELLS[arch])
    _, equation, *_ = text.split("\n\n")
    assert "=" in equation, f"the docstring of {CELLS[arch].__name__} has no equation after its first line"
    assert "\nSource: " in text, f"the docstring of {CELLS[arch].__name__} has no line 'Source: ...'"


@pytest.mark.parametrize("arch", [arch for arch in CELLS if arch in {*FIRST, *ROWS}])
def test_every_row_of_the_page_has_a_section_with_the_equation_of_the_cell(arch):
    _, equation, *_ = inspect.getdoc(CELLS[arch]).split("\n\n")
    assert arch in ROWS, f"docs/architectures.md has no row for {arch}"
    assert ROWS[arch] in SECTIONS, f"docs/architectures.md has no section '{ROWS[arch]}' with an equation"
    assert equations(SECTIONS[ROWS[arch]]) == equations(equation)


# The language model around the cells: stacked layers, dropout, and each word projected one time.
def make_of_layers(arch, dropout=0.0, layers=2):
    torch.manual_seed(5)
    sizes = Sizes(arch, vocabulary=30, embedding=8, hidden=12, layers=layers, dropout=dropout)
    return LanguageModel(sizes)


@pytest.mark.parametrize(("arch", "stack"), [("srn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_the_language_model_is_torchs_stack_of_layers(arch, stack):
    model, theirs = make_of_layers(arch, layers=3).eval(), stack(8, 12, 3)
    for layer, cell in enumerate(model.cells):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(theirs, f"{name}_l{layer}").data = getattr(cell.layer, f"{name}_l0").data
    words = torch.arange(20).view(10, 2)
    ours, _ = model(words, model.initial_state(2))
    expected, _ = theirs(model.embedding(words))
    torch.testing.assert_close(ours, expected)


def test_dropout_acts_on_the_angles_of_the_urn_so_that_the_state_keeps_its_length():
    model = make_of_layers("urn", dropout=0.5, layers=1)
    words = torch.full((50, 40), 3)
    first, second = (model.cells[0](model.embedding(words), model.initial_state(40))[0] for _ in range(2))
    assert torch.equal(first, second)
    outputs, (state,) = model._first_layer(words, model.initial_state(40))
    # Dropout of a word is the same for all rows of a window and differs in the next window. All results are
    # still rotations.
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
