"""Transformers in bfloat16 on a CPU: logits have float32's digits, whichever head gives them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from checkpoints import TEXT, save_causal, save_masked

from tseval.adapters import open_model
from tseval.scoring import numerics
from tseval.scoring.numerics import NOTHING_GAINED, has_fast_products
from tseval.scoring.scorers import scorer_for
from tseval.scoring.trie import build_trie

SENTENCES = pa.array(sorted(TEXT))
DTYPE = {"dtype": "bfloat16"}


@pytest.fixture(params=["fast", "plain"])
def manner(request, monkeypatch):
    """With the processor's instructions and without them."""
    if request.param == "plain":
        monkeypatch.setattr(numerics, "_library", lambda: None)
    elif not has_fast_products(torch.device("cpu")):
        pytest.skip("this processor has no bfloat16 products")
    return request.param


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("gpt2", "packed tree, tiled head"),
        ("cohere", "packed tree, own head"),
        ("gemma2", "packed tree, own head"),
    ],
)
def test_tokens_that_bfloat16_cannot_tell_apart_do_not_tie(tmp_path, manner, kind, method):
    model: Any = open_model(f"hf:{save_causal(tmp_path, kind)}", DTYPE, "cpu")
    assert model.method.name.endswith(method)
    assert model.card.protocol["dtype"] == "bfloat16"
    assert (NOTHING_GAINED in model.warnings) == (manner == "plain")
    n = len(model.tokenizer)
    trie = build_trie(np.array([(7, token) for token in range(n)]).ravel(), np.full(n, 2))
    logprobs = model.logprobs_by(model.method, trie, 1024)[1:]
    assert len(np.unique(logprobs)) > 0.98 * n
    assert np.exp(logprobs.astype(float)).sum() == pytest.approx(1, abs=1e-5)
    # Rounded, as the model gives them itself, a good part are the same.
    with torch.inference_mode():
        rounded = model.model(torch.tensor([[model.start, 7]])).logits[0, 1]
    assert rounded.dtype == torch.bfloat16
    assert len(rounded.unique()) < 0.9 * n


def test_logits_are_products_of_the_last_hidden_states_in_float32(tmp_path, manner):
    model: Any = open_model(f"hf:{save_causal(tmp_path)}", DTYPE, "cpu")
    ids = torch.tensor([[model.start, 7, 5, 9, 11]])
    with torch.inference_mode():
        hidden = model.model.base_model(ids)[0][0, :-1].double()
        logits = hidden @ model.model.lm_head.weight.double().t()
    expected = logits.log_softmax(1)[torch.arange(4), ids[0, 1:]]
    trie = build_trie(ids[0, 1:].numpy(), np.array([4]))
    found = model.logprobs_by(model.method, trie, 1024)[trie.paths]
    # The hidden states are bfloat16 in both; attention adds in another order, which may move one of them.
    assert np.abs(found - expected.numpy()).max() < 0.02
    with torch.inference_mode(), model._products.rerouted():
        own = model.model.lm_head(hidden.bfloat16())
    assert own.dtype == torch.float32
    torch.testing.assert_close(own.double(), logits, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_masked_model_gets_float32_logits_too(tmp_path, manner, kind):
    folder = save_masked(tmp_path, kind)
    model: Any = open_model(f"mlm:{folder}", DTYPE, "cpu")
    assert (NOTHING_GAINED in model.warnings) == (manner == "plain")
    copies = np.array([[8, 9, model.mask, 7]])
    logits = model._logits(copies, np.array([2]))
    assert len(logits.unique()) > 0.98 * logits.numel()
    wide: Any = open_model(f"mlm:{folder}", {}, "cpu")
    one, other = (scorer_for(m).score(SENTENCES)["logprob"].to_numpy() for m in (model, wide))
    assert 0 < np.abs(one - other).max() < 0.5


def test_only_who_asks_for_bfloat16_is_told_that_nothing_is_gained(tmp_path, monkeypatch):
    monkeypatch.setattr(numerics, "_library", lambda: None)
    saved: Any = open_model(f"hf:{save_causal(tmp_path, dtype=torch.bfloat16)}", {}, "cpu")
    assert saved.card.protocol["dtype"] == "bfloat16"
    assert saved.warnings == []
