"""The check at opening accepts noise up to the model's own, and refuses planted faults."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import bpe_tokenizer, save_causal
from supplied import needs_real, real_weights

from tseval.adapters import open_model
from tseval.adapters.hf import CausalModel
from tseval.errors import ModelError
from tseval.pretrained.activations import fuse_activations
from tseval.pretrained.opened import Pretrained
from tseval.pretrained.scoring_methods import ALL_METHODS, LENGTH, choose_method
from tseval.scoring.bfloat16 import NarrowMatrix

DTYPES = ("float32", "bfloat16", "float16")
OVERFLOWS = ("gemma3", "float16")
# Sizes of published models, with random weights as before training.
REAL_SIZES: dict[str, Any] = {
    "gpt2": transformers.GPT2Config(
        vocab_size=50_257, n_layer=12, n_embd=768, n_head=12, bos_token_id=0, eos_token_id=0
    ),
    "llama": transformers.LlamaConfig(
        vocab_size=32_000, hidden_size=576, num_hidden_layers=12, num_attention_heads=9,
        num_key_value_heads=3, intermediate_size=1536, bos_token_id=0,
        eos_token_id=0, max_position_embeddings=512
    ),
}  # fmt: skip


class Planted(CausalModel):
    """A model with a planted fault in its packed rows."""

    def _inputs(self, contexts, batch, packed):
        inputs = super()._inputs(contexts, batch, packed)
        if packed:
            self.spoil(inputs, torch.from_numpy(batch.contexts))
        return inputs

    def spoil(self, inputs, numbers):
        raise NotImplementedError

    @staticmethod
    def let(inputs, places):
        """Allow attention to these positions."""
        inputs["attention_mask"] = inputs["attention_mask"].masked_fill(places, 0)


class NoMask(Planted):
    def spoil(self, inputs, numbers):
        self.let(inputs, torch.ones(inputs["attention_mask"].shape[-2:], dtype=torch.bool).tril())


class PositionsOffByOne(Planted):
    def spoil(self, inputs, numbers):
        inputs["position_ids"] = inputs["position_ids"] + (inputs["position_ids"] > 0)


class WrongStart(Planted):
    def spoil(self, inputs, numbers):
        inputs["input_ids"] = torch.where(numbers == 0, 7, inputs["input_ids"])


class PathOfTheNeighbour(Planted):
    def spoil(self, inputs, numbers):
        mask = inputs["attention_mask"].clone()
        mask[:, :, 1:] = inputs["attention_mask"][:, :, :-1]
        inputs["attention_mask"] = mask
        self.let(inputs, torch.eye(mask.shape[-1], dtype=torch.bool))


class LeakedFuture(Planted):
    def spoil(self, inputs, numbers):
        self.let(inputs, torch.eye(numbers.shape[1] + 1, dtype=torch.bool)[:-1, 1:])
        self.let(inputs, torch.eye(numbers.shape[1], dtype=torch.bool).roll(1, 1).triu())


class PaddingAttended(Planted):
    def spoil(self, inputs, numbers):
        self.let(inputs, (numbers < 0)[:, None, None])


class LastTokenDropped(CausalModel):
    def score_by(self, method, tokens, counts, batch_tokens):
        found, n_contexts = super().score_by(method, tokens, counts, batch_tokens)
        found[np.cumsum(counts) - 1] = 0
        return found, n_contexts


class WrongTile(CausalModel):
    """A model whose output matrix has the second tile of words instead of the first."""

    def head(self, hidden, rows, targets, parts):
        layer: Any = self.model.get_output_embeddings()
        whole, matrix = layer.weight, self._products._matrix
        moved = torch.cat((whole[4096:8192], whole[4096:]))
        layer.weight = torch.nn.Parameter(moved, requires_grad=False)
        self._products._matrix = None if matrix is None else NarrowMatrix(moved)
        try:
            return super().head(hidden, rows, targets, parts)
        finally:
            layer.weight, self._products._matrix = whole, matrix


FAULTS = (
    NoMask, PositionsOffByOne, WrongStart, PathOfTheNeighbour,
    LeakedFuture, PaddingAttended, LastTokenDropped, WrongTile,
)  # fmt: skip


def assert_faults_are_refused(model: Any):
    """Check the fastest scoring method: without a fault it is accepted, with each fault it is refused."""
    fastest = ALL_METHODS[:1]
    assert choose_method(model, fastest, LENGTH, 1024)[0] == fastest[0]
    for fault in FAULTS:
        model.__class__ = fault
        with pytest.raises(ModelError, match="are not reliable: packed tree, tiled head"):
            choose_method(model, fastest, LENGTH, 1024)


@pytest.mark.slowest
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        pytest.param("llama", "bfloat16", marks=pytest.mark.slow),
        *(pytest.param(*one, marks=pytest.mark.real) for one in
          (("llama", "float32"), ("llama", "float16"), ("gpt2", "float32"), ("gpt2", "bfloat16"))),
    ],
)  # fmt: skip
def test_planted_faults_are_refused_with_random_weights_of_real_size(kind, dtype):
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(REAL_SIZES[kind]).to(getattr(torch, dtype)).eval()
    fuse_activations(model)
    opened = Pretrained(kind, model, bpe_tokenizer(), "0" * 64, {})
    assert_faults_are_refused(CausalModel(opened, "auto", False, "pieces"))


# Gemma's activations exceed the range of float16.
REAL = [(name, dtype) for name in ("smollm2", "gemma3") for dtype in DTYPES if (name, dtype) != OVERFLOWS]


@pytest.mark.real
@needs_real
@pytest.mark.parametrize(("name", "dtype"), REAL)
def test_planted_faults_are_refused_with_real_weights(name, dtype):
    assert_faults_are_refused(open_model(f"hf:{real_weights(name)}", {"dtype": dtype}, "cpu"))


HONEST = [
    ("gpt2", "auto", "bfloat16"), ("gpt2", "none", "float16"), ("llama", "<pad>", "bfloat16"),
    ("llama", "auto", "float16"), ("opt", "auto", "float16"), ("mamba", "auto", "bfloat16"),
    ("bloom", "none", "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "bos", "dtype"), HONEST)
def test_what_is_no_noisier_than_the_model_is_scored_as_fast_as_it_can_be(tmp_path, kind, bos, dtype):
    model: Any = open_model(f"hf:{save_causal(tmp_path, kind)}", {"dtype": dtype, "bos": bos}, "cpu")
    assert model.method == ALL_METHODS[2 if kind in {"mamba", "bloom"} else 0]


@pytest.mark.real
@needs_real
@pytest.mark.parametrize(
    ("name", "dtype", "bos"),
    [(*one, bos) for one in REAL for bos in ("auto", "none")] + [("smollm2", "bfloat16", "<|im_start|>")],
)
def test_real_weights_are_scored_the_fastest_way(name, dtype, bos):
    model: Any = open_model(f"hf:{real_weights(name)}", {"dtype": dtype, "bos": bos}, "cpu")
    assert model.method == ALL_METHODS[0]


@pytest.mark.real
@needs_real
def test_a_type_that_overflows_is_named():
    with pytest.raises(ModelError, match=r"not finite in float16.\n.*dtype=float32"):
        open_model(f"hf:{real_weights('gemma3')}", {"dtype": "float16"}, "cpu")


def test_weights_that_are_not_numbers_are_named(tmp_path):
    """A failed training can leave such weights."""
    model = transformers.AutoModelForCausalLM.from_pretrained(save_causal(tmp_path))
    with torch.no_grad():
        model.transformer.h[1].mlp.c_fc.weight[0, 0] = float("nan")
    model.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="computes numbers that are not finite in float32"):
        open_model(f"hf:{tmp_path}")
