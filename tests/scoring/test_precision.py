"""Numbers have the precision of the weights' own type with all settings of torch."""

from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from checkpoints import bpe_tokenizer, save_causal, save_masked, spread
from small import make_case, make_suite
from torch_modules import BatchFirst, made
from transformers import LlamaConfig, LlamaForCausalLM

import tseval
from tseval.callbacks import as_causal, evaluate_during
from tseval.scoring.surprisal import surprisals

WORDS = ["<eos>", "<unk>", "the", "author", "pilots", "laughs", "laugh", "."]
SUITE = make_suite(
    make_case("a", [("the author laughs", "the author laugh"), ("the pilots laugh", "the pilots laughs")])
)


@contextmanager
def default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


SURROUNDINGS: dict[str, Any] = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "bfloat16 by default": lambda: default_dtype(torch.bfloat16),
    "float16 by default": lambda: default_dtype(torch.float16),
    "meta by default": lambda: torch.device("meta"),
}


def scores(run):
    return run.load_sentences()["logprob"].to_pylist()


def said(tokens):
    return [one.surprisal for one in tokens]


def llama():
    torch.manual_seed(0)
    tokenizer = bpe_tokenizer()
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
    spread(model)
    return model, tokenizer


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Open models of every way of computing, from files and in memory."""
    folder = tmp_path_factory.mktemp("models")
    save_causal(folder / "llama", "llama")
    save_masked(folder / "bert")
    module = made(BatchFirst, len(WORDS))
    causal, tokenizer = llama()
    return {
        "native": "bundled:lstm",
        "hf": f"hf:{folder / 'llama'}",
        "mlm": f"mlm:{folder / 'bert'}",
        "module": (module, WORDS),
        "live": (causal, tokenizer),
    }


@pytest.fixture(scope="module")
def expected(models):
    """Return the numbers of each model without other settings."""

    @cache
    def of(name):
        model = tseval.load_model(models[name])
        return scores(tseval.evaluate(model, SUITE)), said(surprisals(model, ["the author laughs ."])[0])

    return of


@pytest.mark.slow
@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("name", ["native", "hf", "mlm", "module", "live"])
def test_opening_and_scoring_do_not_depend_on_what_surrounds_them(models, expected, name, around):
    before = expected(name)
    with SURROUNDINGS[around]():
        run = tseval.evaluate(models[name], SUITE)
        tokens = surprisals(tseval.load_model(models[name]), ["the author laughs ."])[0]
    assert (scores(run), said(tokens)) == before


def test_a_callback_within_mixed_precision_gets_the_numbers_of_the_weights():
    model, tokenizer = llama()
    expected = scores(tseval.evaluate((model, tokenizer), SUITE))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert scores(evaluate_during(as_causal(model, tokenizer, "mine"), SUITE, None, 0)) == expected
        assert torch.is_autocast_enabled("cpu")  # the training keeps its setting


def test_settings_of_torch_are_afterwards_as_they_were(models):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with default_dtype(torch.bfloat16):
            tseval.evaluate("bundled:lstm", SUITE)
            assert torch.get_default_dtype() == torch.bfloat16
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
