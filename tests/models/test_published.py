"""Published pickles of all writers are read correctly; damaged files are named."""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from in_process import run_process, succeed
from torch import nn

import tseval
from tseval.errors import ModelError
from tseval.models.states import open_state
from tseval.models.torch_files import OWN_LIMITS
from tseval.scoring.scorers import scorer_for

HERE = Path(__file__).parent
FORMS = ["old", "zip"]
READABLE = [
    f"{kind}-{form}{tied}"
    for kind in ("lstm", "gru", "srn", "relu")
    for form in FORMS
    for tied in ("", "-tied")
]
READABLE += [f"protocol{number}-{form}" for number in (1, 3, 4, 5) for form in FORMS]
READABLE += ["flat-old", "flat-zip", "parallel-old", "parallel-zip", "gpu", "half", "2017", "2017-tied"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pickle models in a separate process, with the numbers that it computed with them."""
    made = tmp_path_factory.mktemp("published")
    run_process(["python", HERE / "published" / "write.py", made], check=True)
    return made


@pytest.fixture(scope="module")
def expected(folder):
    return json.loads((folder / "expected.json").read_text())


def open_published(folder, name):
    return tseval.load_model(folder / f"{name}.pt", {"vocab": str(folder / "vocab.txt")})


@pytest.mark.slow
@pytest.mark.parametrize("name", READABLE)
def test_a_pickle_scores_as_its_own_module_does(folder, expected, name):
    assert "model" not in sys.modules, "the class is unknown here"
    native = open_published(folder, name)
    sentences = ["guard laughs . .", "the Author laughs .", "the guard near the Author laughs ."]
    ours = scorer_for(native).score(pa.array(sentences))["words"].to_pylist()
    of_first, of_second, of_third = expected[name]
    for got, wanted in zip(ours, (of_third, of_first, of_second), strict=True):
        np.testing.assert_allclose(got, wanted, atol=5e-6)
    assert native.model.sizes.tied == (name.endswith("-tied") or name == "gpu" or name.startswith("protocol"))


def test_the_files_are_what_their_names_say(folder):
    assert b"ctorch.cuda\nFloatStorage\n" in (folder / "gpu.pt").read_bytes()
    assert b"cuda:0" in (folder / "gpu.pt").read_bytes()
    with pytest.raises(ModuleNotFoundError, match="model"):
        torch.load(folder / "2017.pt", weights_only=False)
    for name in READABLE:
        start = (folder / f"{name}.pt").read_bytes()[:2]
        assert (start == b"PK") == (name == "half" or "zip" in name)


def test_form_and_protocol_leave_no_trace_in_the_fingerprint(folder):
    for n_models, names in ((1, "lstm-old lstm-zip parallel-old"), (2, "gpu lstm-old-tied gru-old")):
        found = {open_published(folder, name).card.fingerprint for name in names.split()}
        assert len(found) == n_models


def test_the_old_format_warns_that_it_has_no_checksums_and_nothing_else_does(folder):
    warned = "torch's old format without checksums"
    for name in ("lstm-old", "2017", "gpu"):
        (warning,) = scorer_for(open_published(folder, name)).warnings
        assert warned in warning
        assert "tseval convert" in warning
    assert scorer_for(open_published(folder, "lstm-zip")).warnings == []
    assert scorer_for(tseval.load_model("bundled:lstm")).warnings == []


@pytest.mark.parametrize("command", [["pair", "the guard", "near guard"], ["surprisal", "text"]])
def test_commands_without_a_manifest_say_once_that_the_old_format_has_no_checksums(folder, tmp_path, command):
    (tmp_path / "text").write_text("the guard\nnear guard\n")
    for name, times in (("lstm-old", 1), ("lstm-zip", 0)):
        words = "--model-args", f"vocab={folder / 'vocab.txt'}"
        done = succeed(*command, "--model", folder / f"{name}.pt", *words, cwd=tmp_path)
        assert done.stderr.count("warning: the checkpoint has torch's old format") == times
        assert done.stderr.count("`tseval convert`") == times


def test_case_is_kept(folder):
    native = open_published(folder, "gpu")
    encoded = native.encode(pa.array(["The author laughs .", "the Author laughs ."]))
    assert encoded.seen.to_pylist() == ["<unk> <unk> laughs .", "the Author laughs ."]


def refusal(path, folder):
    """Read an unusable file, and return the message."""
    with pytest.raises(ModelError) as error:
        tseval.load_model(path, {"vocab": str(folder / "vocab.txt")})
    assert str(error.value).startswith(str(path))
    return str(error.value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: setattr(model.encoder, "max_norm", 1.0), "the embedding limits the norm of its "
                                                                "word vectors (max_norm)"),
        (lambda model: setattr(model.rnn, "mode", "RNN_EXP"), "the unknown type 'RNN_EXP'"),
        (lambda model: setattr(model.decoder, "bias", nn.Parameter(torch.zeros(8, dtype=torch.complex64))),
         "'torch.ComplexFloatStorage', which is not a type of weights"),
        (lambda model: setattr(model, "extra", nn.LayerNorm(5)),
         "LayerNorm', but a word-level language model never needs that"),
        (lambda model: setattr(model, "table", np.zeros(3)), "multiarray._reconstruct'"),
    ],
)  # fmt: skip
def test_a_model_that_computes_something_else_is_refused(folder, tmp_path, form, change, message):
    model = nn.Module()
    model.encoder, model.rnn, model.decoder = nn.Embedding(8, 4), nn.LSTM(4, 5), nn.Linear(5, 8)
    change(model)
    torch.save(model, tmp_path / "model.pt", _use_new_zipfile_serialization=form == "zip")
    assert message in refusal(tmp_path / "model.pt", folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the <unk> <eos>", "has 3 words, but the weights are for 8"),
        ("a b c d e f g h", "the vocabulary has no <eos>"),
        ("<eos> <unk> a b c d e a", "holds 'a' 2 times"),
        (b"\xff\xfe", "the vocabulary is not UTF-8 text"),
        (None, "the vocabulary cannot be read: No such file or directory"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(folder, tmp_path, content, message):
    path = tmp_path / "vocab.txt"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ModelError, match=message) as error:
        open_state(folder / "gpu.pt", {"vocab": str(path)})
    assert str(error.value).startswith((str(path), str(folder)))


def rewrite(path, name, change, **options):
    """Change one part of a zip file, and write correct checksums."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    (key,) = (part for part in parts if part.endswith(f"/{name}"))
    parts[key] = change(parts[key])
    with zipfile.ZipFile(path, "w", **options) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("data/0", lambda content: content[:-4], "a storage has another length"),
        ("data/1", lambda content: content * 2, "a storage has another length"),
        ("byteorder", lambda content: b"big", "the byte order of another machine"),
        ("data.pkl", lambda content: content + b" " * OWN_LIMITS.pickle, "more than 67,108,864 bytes"),
        # The offset, then the shape of the first tensor, 8 x 6.
        ("data.pkl", lambda content: content.replace(b"K\x00K\x08K\x06\x86", b"K\x01K\x08K\x06\x86", 1),
         "fewer numbers than the size"),
        ("data.pkl", lambda content: content.replace(b"K\x08K\x06\x86", b"K\x7fK\x06\x86", 1),
         "fewer numbers than the size"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_named(folder, tmp_path, name, change, message):
    path = tmp_path / "edited.pt"
    path.write_bytes((folder / "lstm-zip.pt").read_bytes())
    rewrite(path, name, change)
    assert message in refusal(path, folder)


def test_a_zip_that_expands_is_refused(folder, tmp_path):
    path = tmp_path / "bomb.pt"
    path.write_bytes((folder / "lstm-zip.pt").read_bytes())
    rewrite(path, "data/0", lambda content: b"\0" * 10**7, compression=zipfile.ZIP_DEFLATED)
    assert "its parts are larger than the file" in refusal(path, folder)
