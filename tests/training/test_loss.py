"""The tiled cross-entropy against torch's own."""

import pytest
import torch
from torch.nn import functional as F

from tseval.training import loop as loss_room
from tseval.training.loop import LEAST_TILE_ROWS, LOSS_TILE_LOGITS, ROW_MULTIPLE, cross_entropy

WORDS = 50
assert WORDS % ROW_MULTIPLE, "words of probability 0 are added"
TILE = LOSS_TILE_LOGITS["cpu"] // (-(-WORDS // ROW_MULTIPLE) * ROW_MULTIPLE)  # rows of a tile


def problem(rows, words=WORDS):
    torch.manual_seed(0)
    shapes = (rows, 16), (words, 16), (words,)
    return *(torch.randn(shape, requires_grad=True) for shape in shapes), torch.randint(0, words, (rows,))


@pytest.mark.parametrize("onednn_is_faster", [False, True], ids=["MKL", "oneDNN"])
@pytest.mark.parametrize("words", [WORDS, 3 * ROW_MULTIPLE])
@pytest.mark.parametrize("rows", [1, TILE - 1, TILE, 2 * TILE + 3])
def test_loss_and_gradients_are_torchs(rows, words, onednn_is_faster, monkeypatch):
    monkeypatch.setattr(loss_room, "ONEDNN_IS_FASTER", onednn_is_faster)
    hidden, weight, bias, targets = problem(rows, words)
    ours = cross_entropy(hidden, weight, bias, targets)
    torchs = F.cross_entropy(F.linear(hidden, weight, bias), targets)
    torch.testing.assert_close(ours, torchs)
    assert TILE > LEAST_TILE_ROWS
    inputs = hidden, weight, bias
    pairs = zip(torch.autograd.grad(ours * 3, inputs), torch.autograd.grad(torchs * 3, inputs), strict=True)
    for ours_grad, torchs_grad in pairs:
        torch.testing.assert_close(ours_grad, torchs_grad)


def test_bfloat16_products_stay_close():
    hidden, weight, bias, targets = problem(700)
    exact = cross_entropy(hidden, weight, bias, targets)
    rounded = cross_entropy(hidden, weight, bias, targets, torch.bfloat16)
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, exact, rtol=5e-3, atol=0)
    assert rounded != exact
    inputs = hidden, weight, bias
    pairs = zip(torch.autograd.grad(rounded, inputs), torch.autograd.grad(exact, inputs), strict=True)
    for rounded_grad, exact_grad in pairs:
        assert rounded_grad.dtype == torch.float32
        assert (rounded_grad - exact_grad).norm() < 0.01 * exact_grad.norm()


def test_under_bfloat16_the_loss_is_a_logarithm_in_float32():
    for row in range(20):
        hidden, weight, bias, targets = problem(20)
        loss = cross_entropy(hidden[row : row + 1], weight, bias, targets[:1], torch.bfloat16)
        # The probability is a number of bfloat16, its logarithm is not rounded to one.
        probability = torch.exp(-loss.detach())
        torch.testing.assert_close(probability.bfloat16().float(), probability, rtol=1e-5, atol=0)
        torch.testing.assert_close(loss, -probability.bfloat16().float().log(), rtol=1e-6, atol=1e-7)
