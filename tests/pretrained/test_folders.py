"""Model folders from training programs: names changed by wrappers, and several opened in parallel."""

import threading

import pyarrow as pa
import pytest
import torch
from checkpoints import TEXT, bpe_tokenizer, save_causal, save_masked
from safetensors.torch import load_file, save_file
from torch import nn
from transformers.activations import FastGELUActivation, NewGELUActivation

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.pretrained.activations import fuse_activations
from tseval.scoring.scorers import scorer_for

SENTENCES = sorted(TEXT)[:3]


def rename(folder, change):
    """Rename every tensor of a saved model."""
    file = folder / "model.safetensors"
    save_file({change(name): tensor for name, tensor in load_file(file).items()}, file, {"format": "pt"})


def sums(model):
    return scorer_for(open_model(model)).score(pa.array(SENTENCES))["logprob"].to_pylist()


WRAPPED = {
    "compiled": lambda name: f"_orig_mod.{name}",
    "distributed": lambda name: f"module.{name}",
    "both": lambda name: f"module._orig_mod.{name}",
    "compiled layers": lambda name: name.replace("layers.0.", "layers.0._orig_mod."),
    "sharded": lambda name: f"_fsdp_wrapped_module.{name.replace('mlp.', '_fsdp_wrapped_module.mlp.')}",
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_names_of_wrapped_models_are_read_without_the_wrapper(tmp_path, kind):
    save_causal(tmp_path / "model", "llama")
    expected = sums(f"hf:{tmp_path / 'model'}")
    rename(tmp_path / "model", WRAPPED[kind])
    assert sums(f"hf:{tmp_path / 'model'}") == expected


def test_a_masked_model_that_was_compiled_is_opened_too(tmp_path):
    save_masked(tmp_path / "model")
    expected = sums(f"mlm:{tmp_path / 'model'}")
    rename(tmp_path / "model", WRAPPED["compiled"])
    assert sums(f"mlm:{tmp_path / 'model'}") == expected


def test_names_of_another_program_are_shown(tmp_path):
    save_causal(tmp_path / "model", "llama")
    rename(tmp_path / "model", lambda name: f"student.{name}")
    with pytest.raises(
        ModelError, match=r"The weight files have other names instead \(student\..*\n  Save the model itself"
    ):
        open_model(f"hf:{tmp_path / 'model'}")


def test_a_lacking_head_is_still_called_that(tmp_path):
    save_causal(tmp_path / "model", "llama")
    file = tmp_path / "model/model.safetensors"
    save_file({k: v for k, v in load_file(file).items() if "lm_head" not in k}, file, {"format": "pt"})
    with pytest.raises(ModelError, match="Save the model with its language-model head"):
        open_model(f"hf:{tmp_path / 'model'}")


@pytest.mark.slow
def test_four_threads_open_a_tied_model_and_so_does_the_next(tmp_path):
    save_causal(tmp_path / "tied", "llama", bpe_tokenizer(), tie_word_embeddings=True)
    errors = []

    def open_it():
        try:
            open_model(f"hf:{tmp_path / 'tied'}")
        except Exception as error:
            errors.append(error)

    for _ in range(4):  # without a lock, the first or second round fails, and all later ones
        threads = [threading.Thread(target=open_it) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert len(sums(f"hf:{tmp_path / 'tied'}")) == len(SENTENCES)


class Shifted(NewGELUActivation):
    """A form of GELU that a user changed without changing its name."""

    def forward(self, input):
        return super().forward(input) + 0.01


def test_only_activations_of_the_same_numbers_are_fused():
    model = nn.Sequential(NewGELUActivation(), FastGELUActivation(), Shifted())
    inputs = torch.linspace(-5, 5, 101)
    expected = [part(inputs) for part in model]
    fuse_activations(model)
    assert [type(part) for part in model] == [nn.GELU, nn.GELU, Shifted]
    for part, values in zip(model, expected, strict=True):
        torch.testing.assert_close(part(inputs), values, rtol=1e-5, atol=1e-5)
