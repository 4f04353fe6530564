"""Published pickles: read right, whatever wrote them; nothing in them runs; damage is named."""

import copyreg
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hostile_pickles import Payload
from in_process import succeed
from torch import nn

import tseval
from tseval.errors import ModelError
from tseval.models.pickles import MAX_INSTRUCTIONS
from tseval.models.states import open_state
from tseval.models.torch_files import MAX_PICKLE, OWN_LIMITS
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
    """Models that a process of its own has pickled, and what it computed with them."""
    made = tmp_path_factory.mktemp("published")
    subprocess.run([sys.executable, HERE / "published" / "write.py", made], check=True)
    return made


@pytest.fixture(scope="module")
def expected(folder):
    return json.loads((folder / "expected.json").read_text())


def open_published(folder, name):
    return tseval.load_model(folder / f"{name}.pt", {"vocab": str(folder / "vocab.txt")})


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
    warned = "torch's old format, which has no checksums"
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
        assert done.stderr.count("warning: the checkpoint is in torch's old format") == times
        assert done.stderr.count("`tseval convert`") == times


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_vocabulary_that_would_be_waited_for_is_refused(folder, tmp_path, kind):
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(ModelError) as error:
        open_state(folder / "gpu.pt", {"vocab": str(path)})
    assert str(error.value) == (f"{path}: the vocabulary cannot be read: It is a {kind}, not a regular file")


def test_case_is_kept(folder):
    native = open_published(folder, "gpu")
    encoded = native.encode(pa.array(["The author laughs .", "the Author laughs ."]))
    assert encoded.seen.to_pylist() == ["<unk> <unk> laughs .", "the Author laughs ."]


def refusal(path, folder):
    """Read a file that cannot be used, and give the message."""
    with pytest.raises(ModelError) as error:
        tseval.load_model(path, {"vocab": str(folder / "vocab.txt")})
    assert str(error.value).startswith(str(path))
    return str(error.value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: setattr(model.encoder, "max_norm", 1.0), "cut to a largest norm"),
        (lambda model: setattr(model.rnn, "mode", "RNN_EXP"),
         "of kind 'RNN_EXP'"),
        (lambda model: setattr(model.decoder, "bias", nn.Parameter(torch.zeros(8, dtype=torch.complex64))),
         "of a type that weights do not have, 'torch.ComplexFloatStorage'"),
        (lambda model: setattr(model, "extra", nn.LayerNorm(5)),
         "LayerNorm', which no word language model needs"),
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
        ("the <unk> <eos>", "the vocabulary has 3 words but the weights are for 8"),
        ("a b c d e f g h", "the vocabulary has no <eos>"),
        ("<eos> <unk> a b c d e a", "holds 'a' 2 times"),
        (b"\xff\xfe", "not a vocabulary: give UTF-8 text"),
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


# Hostile files. Each would make the folder `executed` if anything in it ran.


class Sleeper:
    """Unpickling this creates a folder when it is given its state."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __setstate__(self, state):
        os.mkdir(state["trace"])


class Argued:
    """Unpickling this creates a folder when it is made."""

    def __new__(cls, trace, *, named=False):
        if named:
            os.mkdir(trace)
        return super().__new__(cls)

    def __init__(self, trace):
        self.trace = trace

    def __getnewargs_ex__(self):
        return (self.trace,), {"named": True}


def text(value):
    return b"\x8c" + bytes([len(value)]) + value.encode()


def pickled(carrier, protocol):
    return lambda trace: pickle.dumps(carrier(trace.decode()), protocol)


CARRIERS = [(Payload, 2), (Sleeper, 1), (Sleeper, 2), (Argued, 2), (Argued, 4)]
MKDIR = {
    **{f"{carrier.__name__} {protocol}": pickled(carrier, protocol) for carrier, protocol in CARRIERS},
    "global": lambda trace: b"cos\nmkdir\n(V" + trace + b"\ntR.",
    "stack global": lambda trace: b"\x80\x04" + text("os") + text("mkdir") + b"\x93(V" + trace + b"\ntR.",
    "inst": lambda trace: b"(V" + trace + b"\nios\nmkdir\n.",
    "obj": lambda trace: b"(cos\nmkdir\nV" + trace + b"\no.",
    "eval": lambda trace: b"cbuiltins\neval\n(V__import__('os').mkdir('" + trace + b"')\ntR.",
    "extension": lambda trace: b"\x82\xf0(V" + trace + b"\ntR.",
    "extension 2": lambda trace: b"\x83\xf0\x00(V" + trace + b"\ntR.",
    "extension 4": lambda trace: b"\x84\xf0\x00\x00\x00(V" + trace + b"\ntR.",
    "in a key": lambda trace: b"(lp0\n(dcos\nmkdir\n(V" + trace + b"\ntRI1\nsa.",
    "popped": lambda trace: b"cos\nmkdir\n(V" + trace + b"\ntR0]0I1\n.",
    "getattr": lambda trace: b"cbuiltins\ngetattr\n(cos\npath\nVos\ntR0cos\nmkdir\n(V" + trace + b"\ntR.",
    "slots": lambda trace: b"ccollections\nOrderedDict\n)R(N}Vx\ncos\nmkdir\n(V" + trace + b"\ntRstb.",
}
INERT = {  # harmless by themselves, but nothing that torch writes
    "eval alone": b"cbuiltins\neval\n.",
    "eval in a list": b"]cbuiltins\neval\na.",
    "persistent text": b"Phello\n.",
    "persistent number": b"K\x07Q.",
    "persistent other": b"(Vmodule\nVmodel\ntQ.",
    "persistent eval": b"(Vstorage\ncbuiltins\neval\nV0\nVcpu\nK\x01tQ.",
    "state of a list": b"](Vx\nK\x01dN\x86b.",
    "state of a function": b"ctorch._utils\n_rebuild_tensor_v2\n}b.",
    "call of a list": b"])R.",
    "buffer": b"\x97.",
}


def wrap(pickled, form, keys=()):
    """Put a pickle where torch would look for it."""
    if form == "old":
        head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
        return b"".join(pickle.dumps(part, 2) for part in head) + pickled + pickle.dumps(list(keys), 2)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


@pytest.fixture
def extensions():
    copyreg.add_extension("os", "mkdir", 0xF0)
    yield
    copyreg.remove_extension("os", "mkdir", 0xF0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MKDIR)
def test_no_instruction_runs_code(folder, tmp_path, extensions, name, form):
    trace, path = tmp_path / "executed", tmp_path / "hostile.pt"
    pickled = MKDIR[name](str(trace).encode())
    path.write_bytes(wrap(pickled, form))
    assert "hostile.pt: refused" in refusal(path, folder)
    with pytest.raises(ModelError, match=r"hostile\.pt: refused"):
        tseval.load_model(path)
    assert not trace.exists()
    pickle.loads(pickled)  # noqa: S301 - to see what it would do
    assert trace.exists(), "the pickle is hostile indeed"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", INERT)
def test_what_torch_does_not_write_is_refused(folder, tmp_path, name, form):
    path = tmp_path / "odd.pt"
    path.write_bytes(wrap(INERT[name], form))
    assert any(
        word in refusal(path, folder) for word in ("refused", "damaged", "no such model", "weights do not")
    )


@pytest.mark.parametrize(
    "pickled",
    [b"\x80\x02" + b"]0" * MAX_INSTRUCTIONS + b"N.", b"N" * MAX_PICKLE + b"NNN."],
    ids=["long", "large"],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_pickle_cannot_take_memory_or_time(folder, tmp_path, pickled, form):
    path = tmp_path / "bomb.pt"
    path.write_bytes(wrap(pickled, form))
    assert len(refusal(path, folder)) < 400


def rewrite(path, name, change, **options):
    """Change one part of a zip file and give the whole sound checksums."""
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
        ("byteorder", lambda content: b"big", "another byte order"),
        ("data.pkl", lambda content: content + b" " * OWN_LIMITS.pickle, "more than 67,108,864 bytes"),
        # The offset, then the shape of the first tensor, 8 x 6.
        ("data.pkl", lambda content: content.replace(b"K\x00K\x08K\x06\x86", b"K\x01K\x08K\x06\x86", 1),
         "beyond"),
        ("data.pkl", lambda content: content.replace(b"K\x08K\x06\x86", b"K\x7fK\x06\x86", 1), "beyond"),
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
    assert "its parts claim to be larger than the file" in refusal(path, folder)
