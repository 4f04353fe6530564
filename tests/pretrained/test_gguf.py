"""GGUF models: transformers' reading of the file is scored, and a damaged file is named."""

import struct
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import TEXT, save_gguf
from in_process import refuse

from tseval import load_model
from tseval.errors import ModelError
from tseval.pretrained.gguf_files import opened_gguf
from tseval.scoring.surprisal import surprisals


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return save_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def plain_surprisals(path):
    """Return nats per token of each text, by transformers alone."""
    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
    model = transformers.AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    found = []
    for text in TEXT:
        ids = torch.tensor([[0, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.no_grad():
            logs = model(ids).logits[0].log_softmax(-1)
        found.append(-logs[:-1].gather(1, ids[0, 1:, None])[:, 0])
    return found


def test_scores_are_those_of_transformers_on_the_dequantised_weights(written):
    model: Any = load_model(written, device="cpu")
    for one, expected in zip(surprisals(model, TEXT), plain_surprisals(written), strict=True):
        assert np.allclose([token.surprisal for token in one], expected.numpy(), atol=1e-4)
    assert model.card.protocol["quantisation"] == "Q8_0,dequantised"
    assert any("dequantised; llama.cpp" in warning for warning in model.warnings)


def test_a_folder_with_one_inside_and_one_in_parts_are_the_same_model(written, tmp_path):
    whole = written.read_bytes()
    for number, start in enumerate(range(0, len(whole), len(whole) // 11 + 1), 1):
        (tmp_path / f"tiny.gguf.part{number}").write_bytes(whole[start : start + len(whole) // 11 + 1])
    assert len([*tmp_path.iterdir()]) == 11
    models = [load_model(spec, device="cpu") for spec in (written, f"hf:{written.parent}", f"hf:{tmp_path}")]
    assert len({model.card.fingerprint for model in models}) == 1


def packed(magic=b"GGUF", version=3, tensors=0, entries=0, rest=b""):
    return magic + struct.pack("<IQQ", version, tensors, entries) + rest


def entry(name, kind, value):
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(b"GGML"), "does not begin with GGUF"),
        (packed(version=1), "the GGUF version is 1, but tseval reads only 2 and 3"),
        (packed(tensors=2**60), "announces 1,152,921,504,606,846,976 entries"),
        (packed(entries=1), "the file ends inside its header"),
        (packed(entries=1, rest=struct.pack("<Q", 3_000_000_000)), "a text of 3,000,000,000 bytes"),
        (packed(entries=1, rest=entry(b"a", 8, struct.pack("<Q", 2**40))), "a text of 1,099,511"),
        (packed(entries=1, rest=entry(b"a", 9, struct.pack("<IQ", 4, 2**40))), "a list of 1,099,511"),
        (packed(entries=1, rest=entry(b"a", 77, b"")), "a value of the unknown type 77"),
        (packed(entries=1, rest=entry(b"split.count", 2, struct.pack("<H", 3))), "the file is only one of "
                                                                                 "3 parts of a model. "
                                                                                 "Join the parts"),
        (packed(tensors=1, rest=struct.pack("<Q", 1) + b"w" + struct.pack("<I", 9)), "w has 9 dimensions"),
        (packed(tensors=1, rest=struct.pack("<Q1sIQIQ", 1, b"w", 1, 8, 250, 0)), "w has an unknown number f"),
        (packed(tensors=1, rest=struct.pack("<Q1sIQIQ", 1, b"w", 1, 2**30, 0, 0)), "the weights end at byte"),
        (packed(rest=bytes(8)), "holds no weights"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_message(tmp_path, content, message):
    (tmp_path / "bad.gguf").write_bytes(content)
    done = refuse("pair", "a b", "b a", "--model", "bad.gguf", cwd=tmp_path)
    assert message in done.stderr


def test_of_several_one_has_to_be_named(written, tmp_path):
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(written.read_bytes())
    with (
        pytest.raises(ModelError, match=r"holds several models \(a.gguf, b.gguf\)"),
        opened_gguf("hf:x", str(tmp_path)),
    ):
        pass


def test_arguments_that_a_gguf_does_not_take_are_refused(written):
    with pytest.raises(
        ModelError, match=r"GGUF models have no argument with this name.\n  Use only dtype, attn_"
    ):
        load_model(written, {"revision": "main"})
