"""Checkpoints: saved content is read back; damaged, foreign or hostile files are refused."""

import gzip
import math
import os
import pickle
import shutil
import zlib
from typing import Any

import numpy as np
import pytest
import torch
from hostile_pickles import Payload, in_zip
from in_process import refuse, succeed
from safetensors.torch import load_file, save_file
from small_training import rewrite
from supplied import TEXT_SAMPLE
from systems import needs_posix

import tseval
from tseval.errors import ModelError
from tseval.models import BUNDLED_CHECKPOINTS, Vocabulary
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint, read_vocabulary, save_checkpoint
from tseval.models.int8_weights import STEPS, dequantise, quantise
from tseval.models.network import Classifier, LanguageModel, Sizes
from tseval.training.corpus import Columns, columns, encode_text
from tseval.training.validation import mean_loss
from tseval.verdicts import sentences_of

WORDS = Vocabulary(("<eos>", "<unk>", "the", "author", "laughs", "."), lowercase=True)


def write(path, arch="lstm", dtype="float32", **sizes):
    torch.manual_seed(0)
    shape = {"vocabulary": len(WORDS), "embedding": 4, "hidden": 4, "layers": 2, **sizes}
    model = LanguageModel(Sizes(arch, **shape)).eval()
    training = {"command": "tseval train lm"}
    save_checkpoint(path, model, WORDS, training=training, validation_perplexity=12.5, dtype=dtype)
    return model


@pytest.fixture
def checkpoint(tmp_path):
    write(tmp_path / "model.pt")
    return tmp_path / "model.pt"


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("arch", sorted(CELLS))
def test_a_saved_model_comes_back(tmp_path, arch, tied, suffix):
    path = tmp_path / f"model{suffix}"
    model = write(path, arch, tied=tied)
    loaded = load_checkpoint(path)
    assert loaded.vocabulary == WORDS
    assert loaded.validation_perplexity == 12.5
    assert loaded.training["command"] == "tseval train lm"
    words = torch.tensor([[2], [3], [4]])
    before, _ = model(words, model.initial_state(1))
    after, _ = loaded.model(words, loaded.model.initial_state(1))
    assert torch.equal(model.logits(before), loaded.model.logits(after))
    assert read_vocabulary(path) == WORDS


def test_half_precision_storage_halves_the_file_and_rounds(tmp_path):
    model = write(tmp_path / "full.pt", hidden=300)
    write(tmp_path / "half.pt", dtype="float16", hidden=300)
    full, half = ((tmp_path / name).stat().st_size for name in ("full.pt", "half.pt"))
    assert half < 0.51 * full
    loaded = load_checkpoint(tmp_path / "half.pt").model
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor.half().float()), name


def test_the_fingerprint_depends_on_contents_not_on_the_name(tmp_path, checkpoint):
    shutil.copy(checkpoint, tmp_path / "other.pt")
    write(tmp_path / "half.pt", dtype="float16")
    names = "model.pt", "other.pt", "half.pt"
    first, same, different = (load_checkpoint(tmp_path / name).fingerprint for name in names)
    assert first == same != different


@pytest.mark.parametrize("protocol", range(6))
def test_a_bare_pickle_is_refused_and_not_run(tmp_path, protocol):
    trace = tmp_path / "executed"
    hostile = tmp_path / "hostile.pt"
    hostile.write_bytes(pickle.dumps({"weights": [Payload(trace)]}, protocol))
    with pytest.raises(
        ModelError,
        match="tseval refuses this file: a plain Python pickle" if protocol > 1 else "a text file|not a chec",
    ):
        load_checkpoint(hostile)
    assert not trace.exists()


def test_the_content_decides_and_not_the_suffix(tmp_path, checkpoint):
    shutil.copy(checkpoint, tmp_path / "renamed.safetensors")
    assert load_checkpoint(tmp_path / "renamed.safetensors").vocabulary == WORDS
    write(tmp_path / "model.safetensors")
    shutil.copy(tmp_path / "model.safetensors", tmp_path / "renamed.pt")
    assert load_checkpoint(tmp_path / "renamed.pt").vocabulary == WORDS


@needs_posix
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.pt")
    with pytest.raises(ModelError, match="not a regular file"):
        load_checkpoint(tmp_path / "pipe.pt")


@pytest.mark.parametrize("metadata", ["[1]", '"abc"', "null", "[" * 100_000, "{"])
def test_a_hostile_safetensors_header_is_refused(tmp_path, metadata):
    save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"tseval": metadata})
    with pytest.raises(ModelError, match=r"model.safetensors"):
        load_checkpoint(tmp_path / "model.safetensors")


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_weights_that_only_pretend_to_have_a_shape_are_refused(checkpoint, device):
    weights = torch.load(checkpoint, weights_only=True)["weights"]
    shape = weights["output.weight"].shape
    weights["output.weight"] = torch.zeros(1, device=device).expand(shape)
    rewrite(checkpoint, lambda content: content.update(weights=weights))
    with pytest.raises(ModelError, match="a shape but no numbers"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize("perplexity", [float("nan"), float("inf"), 10**400, "low"])
def test_a_perplexity_that_is_no_number_is_unknown(checkpoint, perplexity):
    rewrite(checkpoint, lambda content: content.update(validation_perplexity=perplexity))
    assert load_checkpoint(checkpoint).validation_perplexity is None


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95, 0.999])
def test_a_truncated_checkpoint_is_refused(checkpoint, share):
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match=r"model.pt: truncated or damaged checkpoint"):
        load_checkpoint(checkpoint)


def test_one_flipped_bit_in_the_weights_is_found(checkpoint):
    # torch itself ignores the checksums of its zip files.
    weights = torch.load(checkpoint, weights_only=True)["weights"]["embedding.weight"]
    content = bytearray(checkpoint.read_bytes())
    place = content.index(weights.numpy().tobytes())
    content[place + 5] ^= 1
    checkpoint.write_bytes(content)
    assert not torch.equal(torch.load(checkpoint, weights_only=True)["weights"]["embedding.weight"], weights)
    with pytest.raises(ModelError, match="wrong checksum"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize(
    ("number", "message"),
    [(1e3, "does not match its stored checksum"), (math.nan, r"'output.bias' has NaN")],
)
def test_edited_weights_do_not_match_the_fingerprint_and_nan_is_named(checkpoint, number, message):
    rewrite(checkpoint, lambda content: content["weights"]["output.bias"][2].fill_(number))
    with pytest.raises(ModelError, match=message):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": ["<eos>", "<unk>", "the"]}, "vocabulary of the checkpoint has 3 words, but the "
                                                    "weights are for 6"),
        ({"vocabulary": ["<eos>", "the", "a", "b", "c", "d"]}, "vocabulary has no word <unk>"),
        ({"vocabulary": ["<eos>", "<unk>", "a", "b", "a", "c"]}, "holds 'a' 2 times"),
        ({"vocabulary": "the author"}, "vocabulary: should be a list"),
        ({"lowercase": None}, "lowercase: should be true or false"),
        ({"version": 99}, "checkpoint has format 99, but this tseval reads 1"),
        ({"format": "other"}, "not a tseval checkpoint"),
        ({"weights": [1, 2]}, "weights of the checkpoint are not a dictionary of tensors"),
        ({"weights": {"embedding.weight": torch.zeros(6, 4)}}, "should have 2 layers, but has only 1"),
        ({"sizes": None}, "sizes: should be a mapping"),
        ({"sizes": {"arch": "lstm"}}, "sizes of the model are not valid"),
        ({"sizes": {"arch": "lstn", "vocabulary": 6, "embedding": 4, "hidden": 4, "layers": 2}},
         "Did you mean 'lstm'?"),
        ({"sizes": {"arch": "lstm", "vocabulary": 6, "embedding": 4, "hidden": 5, "layers": 2}},
         r"has the shape \(.*\), but the sizes of the model need"),
        ({"sizes": {"arch": "srn", "vocabulary": 6, "embedding": 4, "hidden": 10**9, "layers": 2}},
         r"has the shape \(.*\), but the sizes of the model need"),
        ({"sizes": {"arch": "gru", "vocabulary": 6, "embedding": 4, "hidden": 4, "layers": 1}},
         "do not fit a gru of 1 layers"),
    ],
)  # fmt: skip
def test_contents_that_do_not_fit_are_refused(checkpoint, changes, message):
    rewrite(checkpoint, lambda content: content.update(changes))
    with pytest.raises(ModelError, match=message) as error:
        load_checkpoint(checkpoint)
    assert str(checkpoint) in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the author laughs .\n", "a text file, not a checkpoint"),
        (b"", "the file is empty"),
        (b"\x00\x01\x02\xff" * 8, "not a checkpoint"),
        (b"PK\x03\x04 nothing else", "truncated or damaged"),
        (in_zip(b""), "truncated or damaged pickle"),
    ],
)
def test_files_of_another_kind_are_named(tmp_path, content, message):
    path = tmp_path / "thing.pt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        load_checkpoint(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"absent.pt: file not found"):
        load_checkpoint(tmp_path / "absent.pt")
    with pytest.raises(
        ModelError, match=r"is a folder, not a checkpoint.\n  For a transformers model, write --model hf:"
    ):
        load_checkpoint(tmp_path)


def test_something_else_saved_by_torch_is_named(tmp_path):
    for content, said in (([1, 2], "a list"), ({"state_dict": {}}, "'state_dict'"), ({}, "nothing")):
        torch.save(content, tmp_path / "other.pt")
        with pytest.raises(ModelError, match=f"it holds {said}"):
            load_checkpoint(tmp_path / "other.pt")
    save_file({"wte.weight": torch.zeros(2), "wpe.weight": torch.zeros(3)}, tmp_path / "foreign.safetensors")
    with pytest.raises(ModelError, match=r"it holds 'wpe.weight', 'wte.weight'\).\n  For a transf"):
        load_checkpoint(tmp_path / "foreign.safetensors")


def test_foreign_and_damaged_safetensors_are_named(tmp_path):
    path = tmp_path / "model.safetensors"
    write(path)
    tensors = load_file(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ModelError, match="damaged safetensors file"):
        load_checkpoint(path)
    save_file(tensors, path)
    with pytest.raises(ModelError, match="not a tseval checkpoint"):
        load_checkpoint(path)


# Weights in about five bits: their error, their size, and messages about damaged files.
WORDS_OF_QUANTISED = Vocabulary(("<eos>", "<unk>", "the", "author", "authors", "laughs", "laugh", "."), True)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return LanguageModel(Sizes("lstm", len(WORDS_OF_QUANTISED), 6, 10, 2)).eval()


def save(path, model, perplexity=3.0, dtype="int8", **training):
    save_checkpoint(
        path, model, WORDS_OF_QUANTISED, training=training, validation_perplexity=perplexity, dtype=dtype
    )
    return path


def test_noise_and_size_are_those_of_a_uniform_step():
    torch.manual_seed(1)
    matrix = torch.randn(200, 400) * torch.logspace(-3, 2, 200).unsqueeze(1)
    stored, columns = quantise({"m": matrix})
    back = dequantise(stored, columns)["m"]
    noise = ((back - matrix).square().mean(1) / matrix.square().mean(1)).mean().item()
    assert noise == pytest.approx(1 / (12 * STEPS**2), rel=0.02)  # step²/12, the error of a uniform quantiser
    entropy = 0.5 * math.log2(2 * math.pi * math.e) + math.log2(STEPS)  # of normal numbers in small steps
    bits = 8 * len(stored["m"]) / matrix.numel()
    assert entropy < bits < entropy + 0.1


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


def replace_numbers(content, plain):
    packed = np.frombuffer(zlib.compress(plain), np.uint8).copy()
    content["weights"]["output.weight"] = torch.from_numpy(packed)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda c: c.update(quantised=5), "quantised: should be a mapping"),
        (lambda c: c["weights"].pop("output.weight.scale"), "its numbers or its scales are missing"),
        (lambda c: c["quantised"].pop("output.weight"), "check 'output.weight.scale'"),
        (lambda c: c["quantised"].update({"output.weight": 11}), "is not its rows times its columns"),
        (lambda c: c["quantised"].update({"output.weight": -1}), "too short for its rows"),
        (lambda c: c["quantised"].update({"output.weight": 10**12}), "too short for its rows"),
        (lambda c: c["quantised"].update({"output.weight": "10"}), "should be a whole number"),
        (lambda c: c["quantised"].update({"output.bias": 1}), "its numbers or its scales are missing"),
        (lambda c: c["weights"].update({"output.weight": torch.ones(80)}), "not as bytes with a float16"),
        (lambda c: c["weights"]["output.weight"].fill_(7), "its numbers cannot be decompressed"),
        (lambda c: replace_numbers(c, bytes(79) + b"x"), "does not match its stored checksum"),
        (lambda c: replace_numbers(c, bytes(range(81))), "is not its rows times its columns"),
        (lambda c: replace_numbers(c, bytes(10**6)), "is not its rows times its columns"),
        (lambda c: c["weights"]["output.weight.scale"].fill_(torch.nan), "NaN or infinite"),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(tmp_path, model, edit, said):
    path = save(tmp_path / "small.pt", model)
    rewrite(path, edit)
    with pytest.raises(ModelError) as error:
        load_checkpoint(path)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{path}: ")


def test_convert_makes_a_checkpoint_small_and_measures_it(tmp_path, model):
    save(tmp_path / "large.pt", model, 9.0, "float32", seed=1)
    (tmp_path / "valid.txt").write_text("the author laughs .\nthe authors laugh .\n" * 40)
    to_int8 = "-o", "small.pt", "--stored", "int8", "--valid", "valid.txt"
    done = succeed("convert", "large.pt", *to_int8, cwd=tmp_path)
    small = load_checkpoint(tmp_path / "small.pt")
    assert small.fingerprint == load_checkpoint(save(tmp_path / "direct.pt", model)).fingerprint
    measured = f"validation perplexity {small.validation_perplexity:.2f}"
    assert done.stderr == f"small.pt: lstm, 2 layers of 10, 8 words, {measured}\n"
    training: Any = small.training
    assert (training["seed"], training["source"]["file"]) == (1, "large.pt")
    assert small.validation_perplexity == pytest.approx(8, rel=0.2)  # almost no training, on 8 words
    assert small.validation_perplexity != 9.0


def test_convert_keeps_a_perplexity_as_long_as_the_numbers_stay(tmp_path, model):
    save(tmp_path / "old.pt", model, 9.0, "float16")
    for stored, perplexity, said in (("float16", 9.0, ", validation perplexity 9.00"), ("int8", None, "")):
        done = succeed("convert", "old.pt", "-o", f"{stored}.pt", "--stored", stored, cwd=tmp_path)
        assert done.stderr == f"{stored}.pt: lstm, 2 layers of 10, 8 words{said}\n"
        assert load_checkpoint(tmp_path / f"{stored}.pt").validation_perplexity == perplexity


def test_a_classifier_has_no_perplexity(tmp_path):
    model = Classifier(Sizes("drnn", len(WORDS_OF_QUANTISED), 4, 5, 1, task="number")).eval()
    save(tmp_path / "number.pt", model, None, "float32")
    (tmp_path / "valid.txt").write_text("the author laughs .\n")
    done = refuse("convert", "number.pt", "-o", "x.pt", "--valid", "valid.txt", cwd=tmp_path)
    said = "tseval cannot compute a perplexity, because the model is a classifier. Leave out --valid."
    assert done.stderr == f"tseval: --valid valid.txt: {said}\n"
    assert not (tmp_path / "x.pt").exists()


# The bundled checkpoint: it is small, really trained, and has the accuracy that the README states.
@pytest.fixture(scope="module")
def bundled():
    return load_checkpoint(BUNDLED_CHECKPOINTS / "lstm.pt")


def test_it_is_small_enough_for_git():
    assert (BUNDLED_CHECKPOINTS / "lstm.pt").stat().st_size < 6_000_000


@pytest.mark.slow
def test_it_knows_every_word_of_marvin_and_linzen(bundled):
    sentences = sentences_of(tseval.load_suite("marvin_linzen")).to_pylist()
    words = {word for sentence in sentences for word in sentence.split()}
    assert words <= set(bundled.vocabulary.words)


@pytest.mark.slow
def test_its_perplexity_is_that_of_the_validation_text(bundled, tmp_path):
    # A slice of the shuffled text is a random sample; the recorded number is for the whole text.
    (tmp_path / "slice.txt").write_bytes(gzip.decompress(TEXT_SAMPLE.read_bytes()))
    text = columns(encode_text([tmp_path / "slice.txt"], bundled.vocabulary), 32)
    perplexity = math.exp(mean_loss(bundled.model, Columns(text, 35)))
    assert perplexity == pytest.approx(bundled.validation_perplexity, rel=0.05)


@pytest.mark.slow
def test_its_mean_over_a_sample_of_all_rows_is_that_of_the_readme():
    suite = tseval.load_suite("marvin_linzen", sample=50, seed=1)
    table = tseval.evaluate(tseval.load_model("bundled:lstm"), suite).table()
    assert len(table) == 19
    # 0.654 over all items; chance is 0.5, and the earlier, smaller LSTM had 0.581.
    assert 0.62 < table["accuracy"].mean() < 0.69, table
