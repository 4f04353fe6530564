"""The tiled log-sum-exp against torch's."""

import pytest
import torch

from tseval.models import head
from tseval.models.head import chosen_logits, log_normaliser


@pytest.mark.parametrize("tile", [1, 7, 50, 10**6])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_tiles_give_the_log_softmax_without_overflow(monkeypatch, tile, scale):
    monkeypatch.setattr(head, "TILE_LOGITS", {"cpu": tile})
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(6, 8) * scale, torch.randn(40, 8), torch.randn(40)
    words = torch.randint(0, 40, (6,))
    expected = (hidden.double() @ weight.double().t() + bias.double()).log_softmax(1)[range(6), words]
    ours = chosen_logits(hidden, weight, bias, words) - log_normaliser(hidden, weight, bias)
    torch.testing.assert_close(ours.double(), expected, atol=1e-4 * scale, rtol=1e-5)
