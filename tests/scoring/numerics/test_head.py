"""The tiled log-sum-exp against torch's."""

import pytest
import torch

from tseval.scoring import numerics
from tseval.scoring.numerics import best_words, chosen_logits, log_normaliser, pair_logits


@pytest.mark.parametrize("tile", [1, 7, 50, 10**6])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_tiles_give_the_log_softmax_without_overflow(monkeypatch, tile, scale):
    monkeypatch.setattr(numerics, "TILE_LOGITS", {"cpu": tile})
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(6, 8) * scale, torch.randn(40, 8), torch.randn(40)
    words = torch.randint(0, 40, (6,))
    expected = (hidden.double() @ weight.double().t() + bias.double()).log_softmax(1)[range(6), words]
    ours = chosen_logits(hidden, weight, bias, words) - log_normaliser(hidden, weight, bias)
    torch.testing.assert_close(ours.double(), expected, atol=1e-4 * scale, rtol=1e-5)


@pytest.mark.parametrize("tile", [1, 50, 10**6])
def test_the_best_word_is_the_first_of_equals_in_whatever_tile_it_stands(monkeypatch, tile):
    monkeypatch.setattr(numerics, "TILE_LOGITS", {"cpu": tile})
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
