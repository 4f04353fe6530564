"""Weights in about five bits: how close, how small, and what a damaged file says."""

import math
import zlib
from typing import Any

import numpy as np
import pytest
import torch
from in_process import call

from tseval.errors import ModelError
from tseval.models import Vocabulary
from tseval.models.checkpoint import STEPS, dequantise, load_checkpoint, quantise, save_checkpoint
from tseval.models.network import Classifier, LanguageModel, Sizes

WORDS = Vocabulary(("<eos>", "<unk>", "the", "author", "authors", "laughs", "laugh", "."), True)


def normal(rows=200, columns=400):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(rows, columns, generator=generator) * torch.logspace(-3, 2, rows).unsqueeze(1)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return LanguageModel(Sizes("lstm", len(WORDS), 6, 10, 2)).eval()


def save(path, model):
    save_checkpoint(path, model, WORDS, training={}, validation_perplexity=3.0, dtype="int8")
    return path


def test_noise_and_size_are_those_of_a_uniform_step():
    matrix = normal()
    stored, columns = quantise({"m": matrix})
    back = dequantise(stored, columns)["m"]
    noise = ((back - matrix).square().mean(1) / matrix.square().mean(1)).mean().item()
    assert noise == pytest.approx(1 / (12 * STEPS**2), rel=0.02)  # step²/12, the error of a uniform quantiser
    entropy = 0.5 * math.log2(2 * math.pi * math.e) + math.log2(STEPS)  # of normal numbers in small steps
    bits = 8 * len(stored["m"]) / matrix.numel()
    assert entropy < bits < entropy + 0.1


def test_numbers_are_those_that_another_decompressor_reads():
    matrix = normal(3, 5)
    stored, columns = quantise({"m": matrix})
    numbers = np.frombuffer(zlib.decompress(stored["m"].numpy().tobytes()), np.int8).reshape(3, 5)
    expected = numbers * stored["m.scale"].numpy().astype(np.float64)[:, None]
    assert (dequantise(stored, columns)["m"].numpy() == expected).all()  # exact in float32


def test_rows_without_weights_and_with_a_large_one_are_kept():
    matrix = torch.zeros(2, 400)
    matrix[1, 7] = 1000.0
    back = dequantise(*quantise({"m": matrix}))["m"]
    assert (back[0] == 0).all()
    assert back[1, 7] == pytest.approx(1000.0, rel=1e-3)


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
def test_a_checkpoint_scores_as_its_fingerprint_says(tmp_path, model, ending):
    read = load_checkpoint(save(tmp_path / f"small{ending}", model))
    exact = {name: tensor for name, tensor in model.state_dict().items() if tensor.dim() == 1}
    for name, tensor in read.model.state_dict().items():
        if name in exact:
            assert torch.equal(tensor, exact[name].half().float())
        else:
            assert torch.equal(tensor, dequantise(*quantise({name: model.state_dict()[name]}))[name])
    again = load_checkpoint(save(tmp_path / f"again{ending}", model))
    assert again.fingerprint == read.fingerprint


def edited(path, edit):
    """Change what a checkpoint holds, as one who has the file can."""
    content = torch.load(path, weights_only=True)
    edit(content)
    torch.save(content, path)
    with pytest.raises(ModelError) as error:
        load_checkpoint(path)
    return str(error.value)


def replace_numbers(content, plain):
    packed = np.frombuffer(zlib.compress(plain), np.uint8).copy()
    content["weights"]["output.weight"] = torch.from_numpy(packed)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda c: c.update(quantised=5), "does not give the columns of matrices by name"),
        (lambda c: c["weights"].pop("output.weight.scale"), "its numbers or its scales are not there"),
        (lambda c: c["quantised"].pop("output.weight"), "check 'output.weight.scale'"),
        (lambda c: c["quantised"].update({"output.weight": 11}), "as many numbers as its rows"),
        (lambda c: c["quantised"].update({"output.weight": -1}), "too short for its rows"),
        (lambda c: c["quantised"].update({"output.weight": 10**12}), "too short for its rows"),
        (lambda c: c["quantised"].update({"output.weight": "10"}), "too short for its rows"),
        (lambda c: c["quantised"].update({"output.bias": 1}), "its numbers or its scales are not there"),
        (lambda c: c["weights"].update({"output.weight": torch.ones(80)}), "not as bytes with a float16"),
        (lambda c: c["weights"]["output.weight"].fill_(7), "its numbers cannot be decompressed"),
        (lambda c: replace_numbers(c, bytes(79) + b"x"), "the checkpoint's fingerprint"),
        (lambda c: replace_numbers(c, bytes(range(81))), "as many numbers as its rows"),
        (lambda c: replace_numbers(c, bytes(10**6)), "as many numbers as its rows"),
        (lambda c: c["weights"]["output.weight.scale"].fill_(torch.nan), "NaN or infinite"),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(tmp_path, model, edit, said):
    message = edited(save(tmp_path / "small.pt", model), edit)
    assert said in message
    assert message.startswith(f"{tmp_path / 'small.pt'}: ")


def test_convert_makes_a_checkpoint_small_and_measures_it(tmp_path, model):
    save_checkpoint(tmp_path / "large.pt", model, WORDS, training={"seed": 1}, validation_perplexity=9.0)
    (tmp_path / "valid.txt").write_text("the author laughs .\nthe authors laugh .\n" * 40)
    done = call(
        "convert", "large.pt", "-o", "small.pt", "--stored", "int8", "--valid", "valid.txt", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    small = load_checkpoint(tmp_path / "small.pt")
    measured = f"validation perplexity {small.validation_perplexity:.2f}"
    assert done.stderr == f"small.pt: lstm, 2 layers of 10, 8 words, {measured}\n"
    training: Any = small.training
    assert (training["seed"], training["source"]["file"]) == (1, "large.pt")
    assert small.validation_perplexity == pytest.approx(8, rel=0.2)  # hardly trained, on 8 words
    assert small.validation_perplexity != 9.0


def test_convert_keeps_a_perplexity_as_long_as_the_numbers_stay(tmp_path, model):
    save_checkpoint(
        tmp_path / "old.pt", model, WORDS, training={}, validation_perplexity=9.0, dtype="float16"
    )
    for stored, perplexity, said in (("float16", 9.0, ", validation perplexity 9.00"), ("int8", None, "")):
        done = call("convert", "old.pt", "-o", f"{stored}.pt", "--stored", stored, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, f"{stored}.pt: lstm, 2 layers of 10, 8 words{said}\n")
        assert load_checkpoint(tmp_path / f"{stored}.pt").validation_perplexity == perplexity


def test_a_classifier_has_no_perplexity(tmp_path):
    model = Classifier(Sizes("drnn", len(WORDS), 4, 5, 1, task="number")).eval()
    save_checkpoint(tmp_path / "number.pt", model, WORDS, training={}, validation_perplexity=None)
    (tmp_path / "valid.txt").write_text("the author laughs .\n")
    done = call("convert", "number.pt", "-o", "x.pt", "--valid", "valid.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "tseval: --valid valid.txt: a classifier has no perplexity; leave it out\n"
    assert not (tmp_path / "x.pt").exists()
