"""Products in bfloat16 against double precision, with the processor's instructions and without."""

import pytest
import torch
from torch import nn

from tseval.scoring import numerics
from tseval.scoring.numerics import (
    BLOCK,
    FEW,
    ROWS,
    Bfloat16Matrix,
    bfloat16_logprobs,
    has_fast_products,
    log_normaliser,
)

CPU = torch.device("cpu")
needs_instructions = pytest.mark.skipif(
    not has_fast_products(CPU), reason="this processor has no bfloat16 products"
)


@pytest.fixture(params=["fast", "plain"], autouse=True)
def manner(request, monkeypatch):
    """Everything holds with the processor's instructions and without them."""
    if request.param == "plain":
        monkeypatch.setattr(numerics, "_library", lambda: None)
    elif not has_fast_products(CPU):
        pytest.skip("this processor has no bfloat16 products")
    return request.param


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def of_rounded(inputs, weight):
    return inputs.bfloat16().double() @ weight.bfloat16().double().t()


@pytest.mark.parametrize("rows", [0, 1, FEW - 1, FEW, FEW + 1, 3 * FEW + 5, ROWS, ROWS + 7])
@pytest.mark.parametrize(("outputs", "columns"), [(BLOCK, 2), (3, 1), (BLOCK + 1, 33), (5 * BLOCK - 1, 200)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_product_is_the_float32_sum_over_rounded_operands(manner, rows, outputs, columns, biased):
    inputs, weight, bias = draw(rows, columns), draw(outputs, columns), draw(outputs) if biased else None
    matrix = Bfloat16Matrix(weight)
    found = matrix.product(inputs, bias)
    assert matrix.is_fast == (manner == "fast")
    assert found.dtype == torch.float32
    expected = of_rounded(inputs, weight) + (0 if bias is None else bias.double())
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=3e-5)
    assert torch.equal(matrix.product(inputs.bfloat16(), bias), found)


@needs_instructions
def test_threads_change_no_digit():
    inputs, matrix, before = draw(77, 64), Bfloat16Matrix(draw(9 * BLOCK, 64)), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = matrix.product(inputs)
        torch.set_num_threads(4)
        assert torch.equal(matrix.product(inputs), alone)
    finally:
        torch.set_num_threads(before)


def test_the_normaliser_is_that_of_rounded_operands():
    hidden, weight, bias = draw(50, 65), draw(1_000, 65) / 3, draw(1_000)
    expected = (of_rounded(hidden, weight) + bias).logsumexp(1)
    found = log_normaliser(hidden, Bfloat16Matrix(weight), bias)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=1e-5)
    # Far from what is not rounded: the comparison can fail.
    assert (log_normaliser(hidden, weight, bias) - expected).abs().max() > 1e-3


def output_layer(weight, bias):
    layer = nn.Linear(weight.shape[1], len(weight))
    layer.weight.data, layer.bias.data = weight, bias
    return layer


@pytest.mark.parametrize("scale", [0.1, 1, 30])
def test_a_words_own_logit_is_exact_and_so_is_its_part_of_the_normaliser(scale):
    hidden, weight, bias = draw(50, 65) * scale, draw(300, 65), draw(300)
    rows, words = torch.arange(50).repeat_interleave(300), torch.arange(300).repeat(50)
    layer = output_layer(weight, bias)
    with torch.inference_mode():
        found = bfloat16_logprobs(hidden, layer, Bfloat16Matrix(weight), rows, words).view(50, 300)
    exact, nearby = hidden.double() @ weight.double().t() + bias, of_rounded(hidden, weight) + bias
    expected = torch.empty(50, 300, dtype=torch.float64)
    for word in range(300):
        mixed = nearby.clone()
        mixed[:, word] = exact[:, word]
        expected[:, word] = mixed.log_softmax(1)[:, word]
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-5 * (1 + scale))
    assert (found <= 0).all()


def test_words_that_bfloat16_cannot_tell_apart_do_not_tie():
    """The logits 10 and 10.001 are the same in bfloat16, and so are the rows of the matrix."""
    weight = torch.eye(4)[[0, 0, 1, 2]].clone()
    weight[1, 0] = 1.0001
    assert torch.equal(weight[0].bfloat16(), weight[1].bfloat16())
    hidden = torch.tensor([[10.0, 0, 0, 0]])
    layer, pair = output_layer(weight, torch.zeros(4)), torch.tensor([0, 0])
    with torch.inference_mode():
        first, second = bfloat16_logprobs(hidden, layer, Bfloat16Matrix(weight), pair, torch.tensor([0, 1]))
    # Each stands in its normaliser exactly, the other rounded: half of the difference and the other half.
    assert second - first == pytest.approx(1e-3 / 2, rel=0.01)


@pytest.mark.parametrize("top", [20.0, 90.0, 1e4])
def test_a_word_that_is_certain_has_a_probability_of_one_at_most(top):
    weight = torch.tensor([[top, 0.3], [0.001, 0.7], [0.2, 0.1]])
    layer, hidden = output_layer(weight, torch.zeros(3)), torch.tensor([[1.003, 0.5]])
    with torch.inference_mode():
        found = bfloat16_logprobs(hidden, layer, Bfloat16Matrix(weight), torch.tensor([0]), torch.tensor([0]))
    assert -1e-8 < found.item() <= 0
