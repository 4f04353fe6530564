"""Products of inference: the same numbers as torch's own, from another library."""

import pytest
import torch
from torch.nn import functional as F

from tseval.scoring import products, softmax
from tseval.scoring.products import LEAST_ROWS, fast_products, linear
from tseval.scoring.softmax import best_words, chosen_logits, log_normaliser, pair_logits

CPU = torch.device("cpu")
COLUMNS, OUTPUTS = 300, 1_000


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(
    "inputs",
    [draw(LEAST_ROWS, COLUMNS), draw(3, 40, COLUMNS), draw(COLUMNS, 50).t(), draw(99, 2 * COLUMNS)[::2, ::2],
     draw(LEAST_ROWS - 1, COLUMNS), draw(COLUMNS), draw(0, COLUMNS)],
    ids=["rows", "batch of rows", "upright", "strided", "few rows", "one vector", "none"],
)  # fmt: skip
@pytest.mark.parametrize(
    "weight",
    [draw(OUTPUTS, COLUMNS), draw(COLUMNS, OUTPUTS).t(), draw(3 * OUTPUTS, COLUMNS)[7 : 7 + OUTPUTS]],
    ids=["flat", "upright", "tile"],
)
@pytest.mark.parametrize("bias", [None, draw(OUTPUTS)], ids=["no bias", "bias"])
def test_a_product_is_that_of_double_precision(inputs, weight, bias):
    expected = inputs.double() @ weight.double().t() + (0 if bias is None else bias.double())
    with torch.inference_mode():
        found = linear(inputs, weight, bias)
    assert found.shape == expected.shape
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-4)


def test_gradients_flow_where_they_are_recorded():
    weight = draw(OUTPUTS, COLUMNS).requires_grad_()
    linear(draw(50, COLUMNS), weight).sum().backward()
    torch.testing.assert_close(weight.grad, draw(50, COLUMNS).sum(0).expand(OUTPUTS, -1))


class Quantised(torch.Tensor):
    """Weights with their own multiplication, as in quantised models."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is F.linear:
            return torch.full((len(args[0]), len(args[1])), 7.0)
        return super().__torch_function__(func, types, args, kwargs)


def test_weights_with_products_of_their_own_keep_them():
    inputs, weight = draw(50, COLUMNS), draw(OUTPUTS, COLUMNS)
    with torch.inference_mode(), fast_products(CPU):
        assert (F.linear(inputs, weight.as_subclass(Quantised)) == 7).all()
        found = F.linear(inputs, weight.relu().to_sparse())
    torch.testing.assert_close(
        found.double(), inputs.double() @ weight.relu().double().t(), rtol=1e-5, atol=1e-4
    )


def test_without_onednn_scores_are_the_same(monkeypatch):
    inputs, weight = draw(50, COLUMNS), draw(OUTPUTS, COLUMNS)
    with torch.inference_mode():
        ours = linear(inputs, weight)
        monkeypatch.setattr(products, "HAS_ONEDNN", False)
        torch.testing.assert_close(linear(inputs, weight), ours, rtol=1e-5, atol=1e-4)
        with fast_products(CPU):
            assert torch.equal(F.linear(inputs, weight), linear(inputs, weight))


# The tiled log-sum-exp against torch's.
@pytest.mark.parametrize("tile", [1, 7, 50, 10**6])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_tiles_give_the_log_softmax_without_overflow(monkeypatch, tile, scale):
    monkeypatch.setattr(softmax, "TILE_LOGITS", {"cpu": tile})
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(6, 8) * scale, torch.randn(40, 8), torch.randn(40)
    words = torch.randint(0, 40, (6,))
    expected = (hidden.double() @ weight.double().t() + bias.double()).log_softmax(1)[range(6), words]
    ours = chosen_logits(hidden, weight, bias, words) - log_normaliser(hidden, weight, bias)
    torch.testing.assert_close(ours.double(), expected, atol=1e-4 * scale, rtol=1e-5)


@pytest.mark.parametrize("tile", [1, 50, 10**6])
def test_the_best_word_is_the_first_of_equals_in_whatever_tile_it_stands(monkeypatch, tile):
    monkeypatch.setattr(softmax, "TILE_LOGITS", {"cpu": tile})
    torch.manual_seed(0)
    # Whole numbers, so that equal logits are equal in every tile.
    hidden, weight, bias = (torch.randint(-9, 10, size).float() for size in ((6, 8), (40, 8), (40,)))
    weight[4] *= 3
    weight[35], bias[35] = weight[4], bias[4]
    hidden[0] = weight[4]
    logits = hidden.double() @ weight.double().t() + bias.double()
    found = best_words(hidden, weight, bias)
    assert found.tolist() == logits.argmax(1).tolist()
    assert found[0] == 4


@pytest.mark.parametrize("n_pairs", [1, 5, 200, 240])
@pytest.mark.parametrize("biased", [True, False])
def test_logits_of_few_and_of_many_pairs_are_the_same_numbers(n_pairs, biased):
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(6, 8), torch.randn(40, 8), torch.randn(40) if biased else None
    rows, words = torch.randint(0, 6, (n_pairs,)).sort().values, torch.randint(0, 40, (n_pairs,))
    expected = hidden.double() @ weight.double().t() + (0 if bias is None else bias.double())
    ours = pair_logits(hidden, weight, bias, rows, words)
    torch.testing.assert_close(ours.double(), expected[rows, words], atol=1e-5, rtol=1e-5)
