"""The way through a window that training takes, against the plain loop and autograd."""

import pytest
import torch
from torch.nn import functional as F

from tseval.models.cells import CELLS
from tseval.models.cells.cell import LEAST_UNITS, FusedCell
from tseval.models.cells.window import column_sums, read_window, tanh_, thinned

OPTIONS = {"srn": [{"activation": "relu"}], "drnn": [{"activation": "relu"}, {"alpha_bound": "none"}],
           "onlstm": [{"chunk": 5}], "eirnn": [{"sigma": 0.0}]}  # fmt: skip
KINDS = [(name, {}) for name in CELLS if name != "urn"] + [
    (name, options) for name, several in OPTIONS.items() for options in several
]


def made(name, options, kind=torch.float64):
    torch.manual_seed(0)
    cell = CELLS[name](5, 20, **options).to(kind)
    for parameter in cell.parameters():
        parameter.data.normal_(0, 0.3)
    x = torch.randn(7, 3, 5, dtype=kind, requires_grad=True)
    state = tuple(torch.rand_like(one).requires_grad_() for one in cell.initial_state(3))
    return cell, x, state


def gradients(outputs, after, wanted):
    """Derivatives of a sum of all that a window gives, each entry with a weight of its own."""
    torch.manual_seed(2)
    loss = sum((tensor * torch.randn_like(tensor)).sum() for tensor in (outputs, *after))
    return torch.autograd.grad(loss, wanted)


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_states_and_gradients_are_those_of_the_plain_loop(name, options):
    cell, x, state = made(name, options)
    wanted = x, *state, *cell.parameters()
    torch.manual_seed(1)  # the noise of the EIRNN
    outputs, after = [], state
    for word in cell.project(x):
        after = cell.step(word, after)
        outputs.append(after[0])
    plain = torch.stack(outputs), after
    torch.manual_seed(1)
    weight, bias = cell.recurrent() if isinstance(cell, FusedCell) else (cell.recurrent_weight(), None)
    ours = read_window(cell, cell.project(x), weight, bias, state)
    torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradients(*ours, wanted), gradients(*plain, wanted), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in CELLS if name != "urn"])
def test_under_autocast_a_large_layer_differs_from_float32_by_the_rounding_of_products(name):
    torch.manual_seed(0)
    cell = CELLS[name](30, 80).eval()  # without the noise of the EIRNN
    batch = LEAST_UNITS // 80 + 1
    x, state = torch.randn(9, batch, 30), cell.initial_state(batch)
    exact = gradients(*cell(x, state), list(cell.parameters()))
    with torch.autocast("cpu", torch.bfloat16):
        outputs, after = cell(x, state)
    assert all(tensor.dtype == torch.float32 for tensor in (outputs, *after))
    for rounded, one in zip(gradients(outputs, after, list(cell.parameters())), exact, strict=True):
        assert rounded.dtype == torch.float32
        assert 1e-5 < (rounded - one).norm() / one.norm() < 0.1


def test_no_gradient_is_carried_where_none_is_wanted():
    """Outside training the loop of every cell runs, in float32 where it is asked for."""
    cell, x, state = made("lstm", {}, torch.float32)
    with torch.no_grad():
        outputs, _ = cell(x, state)
    assert outputs.grad_fn is None


def test_dropout_drops_its_share_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.full((700, 301), 3.0, requires_grad=True)
    thin = thinned(x, 0.2)
    dropped = (thin == 0).float().mean().item()
    assert abs(dropped - 0.2) < 0.005  # five standard deviations of 210,700 draws
    assert abs(thin.mean().item() - 3) < 0.02
    assert thin.unique().tolist() == pytest.approx([0, 3 / 0.8], rel=1e-4)
    thin.sum().backward()
    torch.testing.assert_close(x.grad, thin.detach() / 3)


def test_dropped_entries_do_not_come_in_fours():
    torch.manual_seed(0)
    dropped = (thinned(torch.ones(100_000, 4), 0.5) == 0).float()
    together = F.one_hot(dropped.sum(1).long(), 5).float().mean(0)
    torch.testing.assert_close(together, torch.tensor([1, 4, 6, 4, 1]) / 16, rtol=0, atol=0.01)


def test_the_quick_tangent_is_exact_to_a_floats_rounding():
    x = torch.linspace(-12, 12, 10_001)
    torch.testing.assert_close(tanh_(x.clone()), x.double().tanh().float(), rtol=0, atol=2.5e-7)


def test_sums_of_narrow_columns_are_wide():
    matrix = torch.full((5000, 3), 1.0, dtype=torch.bfloat16)
    assert column_sums(matrix).tolist() == [4992.0] * 3  # 5,000 as bfloat16 has it; its own sums stop at 256
