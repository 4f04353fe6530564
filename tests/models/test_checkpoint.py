"""Checkpoints: what is written comes back; what is damaged, foreign or hostile is refused."""

import os
import pickle
import shutil
import zipfile

import pytest
import torch
from safetensors.torch import load_file, save_file
from systems import needs_posix

from tseval.errors import ModelError
from tseval.models import Vocabulary
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint, read_vocabulary, save_checkpoint
from tseval.models.network import LanguageModel, Sizes

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


def edit(path, **changes):
    """Rewrite a checkpoint with some entries changed."""
    content = torch.load(path, weights_only=True)
    torch.save({**content, **changes}, path)


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
    first, same, different = (
        load_checkpoint(tmp_path / name).fingerprint for name in ("model.pt", "other.pt", "half.pt")
    )
    assert first == same != different


class Payload:
    """Unpickling this creates a file."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_code_in_a_checkpoint_is_refused_and_not_run(tmp_path, protocol):
    trace = tmp_path / "executed"
    hostile = tmp_path / "hostile.pt"
    torch.save({"format": "tseval-checkpoint", "weights": Payload(trace)}, hostile, pickle_protocol=protocol)
    with pytest.raises(ModelError, match=r"hostile.pt: refused, because reading it would execute code"):
        load_checkpoint(hostile)
    assert not trace.exists()


def test_the_refusal_names_what_would_have_been_called(tmp_path):
    torch.save({"weights": Payload(tmp_path / "executed")}, tmp_path / "hostile.pt")
    with pytest.raises(ModelError, match=rf"would execute code \({os.mkdir.__module__}.mkdir\)"):
        load_checkpoint(tmp_path / "hostile.pt")


@pytest.mark.parametrize("protocol", range(6))
def test_a_bare_pickle_is_refused_and_not_run(tmp_path, protocol):
    trace = tmp_path / "executed"
    hostile = tmp_path / "hostile.pt"
    hostile.write_bytes(pickle.dumps({"weights": [Payload(trace)]}, protocol))
    with pytest.raises(ModelError, match=rf"bare pickle, refused .*{os.mkdir.__module__}.mkdir"):
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


def test_an_empty_pickle_in_a_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "empty.pt", "w") as archive:
        archive.writestr("empty/data.pkl", b"")
        archive.writestr("empty/version", b"3")
    with pytest.raises(ModelError, match="not a readable checkpoint"):
        load_checkpoint(tmp_path / "empty.pt")


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_weights_that_only_pretend_to_have_a_shape_are_refused(checkpoint, device):
    weights = torch.load(checkpoint, weights_only=True)["weights"]
    shape = weights["output.weight"].shape
    weights["output.weight"] = torch.zeros(1, device=device).expand(shape)
    edit(checkpoint, weights=weights)
    with pytest.raises(ModelError, match="no numbers of its own"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize("perplexity", [float("nan"), float("inf"), 10**400, "low"])
def test_a_perplexity_that_is_no_number_is_unknown(checkpoint, perplexity):
    edit(checkpoint, validation_perplexity=perplexity)
    assert load_checkpoint(checkpoint).validation_perplexity is None


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95, 0.999])
def test_a_truncated_checkpoint_is_refused(checkpoint, share):
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match=r"model.pt: truncated or damaged checkpoint"):
        load_checkpoint(checkpoint)


def test_one_flipped_bit_in_the_weights_is_found(checkpoint):
    # torch itself does not look at the checksums of its zip files.
    weights = torch.load(checkpoint, weights_only=True)["weights"]["embedding.weight"]
    content = bytearray(checkpoint.read_bytes())
    place = content.index(weights.numpy().tobytes())
    content[place + 5] ^= 1
    checkpoint.write_bytes(content)
    assert not torch.equal(torch.load(checkpoint, weights_only=True)["weights"]["embedding.weight"], weights)
    with pytest.raises(ModelError, match="wrong checksum"):
        load_checkpoint(checkpoint)


def test_edited_weights_do_not_match_the_fingerprint(checkpoint):
    weights = torch.load(checkpoint, weights_only=True)["weights"]
    weights["output.bias"] += 1
    edit(checkpoint, weights=weights)
    with pytest.raises(ModelError, match="do not match the checkpoint's fingerprint"):
        load_checkpoint(checkpoint)


def test_nan_weights_are_named(checkpoint):
    weights = torch.load(checkpoint, weights_only=True)["weights"]
    weights["output.bias"][2] = float("nan")
    edit(checkpoint, weights=weights)
    with pytest.raises(ModelError, match=r"'output.bias' holds NaN"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": ["<eos>", "<unk>", "the"]}, "vocabulary has 3 words but the weights are for 6"),
        ({"vocabulary": ["<eos>", "the", "a", "b", "c", "d"]}, "vocabulary has no <unk>"),
        ({"vocabulary": ["<eos>", "<unk>", "a", "b", "a", "c"]}, "holds 'a' 2 times"),
        ({"vocabulary": "the author"}, "vocabulary is not a list of words"),
        ({"lowercase": None}, "does not say whether its text was lower-cased"),
        ({"version": 99}, "checkpoint format 99, but this tseval reads 1"),
        ({"format": "other"}, "not a tseval checkpoint"),
        ({"weights": [1, 2]}, "weights are not a dictionary of tensors"),
        ({"weights": {"embedding.weight": torch.zeros(6, 4)}}, "2 layers are announced but there are only 1"),
        ({"sizes": None}, "does not hold the sizes"),
        ({"sizes": {"arch": "lstm"}}, "sizes are not usable"),
        (
            {"sizes": {"arch": "lstn", "vocabulary": 6, "embedding": 4, "hidden": 4, "layers": 2}},
            "Did you mean 'lstm'?",
        ),
        (
            {"sizes": {"arch": "lstm", "vocabulary": 6, "embedding": 4, "hidden": 5, "layers": 2}},
            r"has shape \(.*\); the sizes demand",
        ),
        (
            {"sizes": {"arch": "srn", "vocabulary": 6, "embedding": 4, "hidden": 10**9, "layers": 2}},
            r"has shape \(.*\); the sizes demand",
        ),
        (
            {"sizes": {"arch": "gru", "vocabulary": 6, "embedding": 4, "hidden": 4, "layers": 1}},
            "do not fit a gru of 1 layers",
        ),
    ],
)
def test_contents_that_do_not_fit_are_refused(checkpoint, changes, message):
    edit(checkpoint, **changes)
    with pytest.raises(ModelError, match=message) as error:
        load_checkpoint(checkpoint)
    assert str(checkpoint) in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the author laughs .\n", "a text file"),
        (b"", "an empty file"),
        (b"\x00\x01\x02\xff" * 8, "not a checkpoint"),
        (b"PK\x03\x04 nothing else", "truncated or damaged"),
    ],
)
def test_files_of_another_kind_are_named(tmp_path, content, message):
    path = tmp_path / "thing.pt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        load_checkpoint(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"absent.pt: no such checkpoint"):
        load_checkpoint(tmp_path / "absent.pt")
    with pytest.raises(ModelError, match="is a folder"):
        load_checkpoint(tmp_path)


def test_something_else_saved_by_torch_is_named(tmp_path):
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(ModelError, match="it holds a list"):
        load_checkpoint(tmp_path / "list.pt")
    torch.save({"state_dict": {}}, tmp_path / "dict.pt")
    with pytest.raises(ModelError, match="it holds 'state_dict'"):
        load_checkpoint(tmp_path / "dict.pt")
    torch.save({}, tmp_path / "empty.pt")
    with pytest.raises(ModelError, match="it holds nothing"):
        load_checkpoint(tmp_path / "empty.pt")
    save_file({"wte.weight": torch.zeros(2), "wpe.weight": torch.zeros(3)}, tmp_path / "foreign.safetensors")
    with pytest.raises(ModelError, match=r"it holds 'wpe.weight', 'wte.weight'\).\n  Name a model of transf"):
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


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "absent" / "model.pt")
    assert list(tmp_path.iterdir()) == []
