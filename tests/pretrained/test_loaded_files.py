"""The fingerprint of a folder covers the files that are loaded, and these must be inside the folder."""

import json
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import save_causal, spread
from hostile_pickles import Payload
from safetensors.torch import load_file, save_file

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.pretrained.folders import fingerprint_of


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("loaded") / "model", "gpt2")


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "model")
    return tmp_path / "model"


def indexed(folder, names, index="model.safetensors.index.json"):
    """Split the weights of a folder into files with these names, and write an index."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    weight_map = {name: names[i % len(names)] for i, name in enumerate(sorted(weights))}
    for part in names:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        own = {name: weights[name] for name in weight_map if weight_map[name] == part}
        save_file(own, folder / part, {"format": "pt"})
    (folder / index).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def other_weights(folder, names):
    """Change the numbers in files of weights."""
    for name in names:
        weights = load_file(folder / name)
        changed = {key: value + 0.1 * torch.randn_like(value) for key, value in weights.items()}
        save_file(changed, folder / name, {"format": "pt"})


def score(folder):
    model: Any = open_model(f"hf:{folder}")
    encoded = model.encode(pa.array(["the author laughs ."]))
    return model.card.fingerprint, float(np.sum(model.token_logprobs(encoded, 64)[0]))


def test_parts_in_a_folder_within_are_a_part_of_the_fingerprint(folder):
    whole = score(folder)
    names = "w/a.safetensors", "w/b.safetensors"
    indexed(folder, names)
    first = score(folder)
    assert first[1] == pytest.approx(whole[1], abs=1e-5)
    other_weights(folder, names[1:])
    second = score(folder)
    assert second[1] != pytest.approx(first[1], abs=1e-3)
    assert second[0] != first[0]


def test_files_that_are_not_loaded_are_no_part_of_it(folder):
    indexed(folder, ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"))
    before = fingerprint_of(folder)
    save_file({"x": torch.zeros(2)}, folder / "consolidated.safetensors")
    (folder / "training_args.bin").write_bytes(b"x")
    assert fingerprint_of(folder) == before
    content = json.loads((folder / "model.safetensors.index.json").read_text())
    content["weight_map"]["x"] = "consolidated.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(content))
    assert fingerprint_of(folder) != before


@pytest.mark.parametrize(
    "name", ["../outside.safetensors", "/etc/passwd", "w/../../outside.safetensors", 7, ""]
)
@pytest.mark.parametrize("where", ["index", "configuration"])
def test_files_outside_the_folder_are_refused(where, name, folder):
    shutil.copy(folder / "model.safetensors", folder.parent / "outside.safetensors")
    if where == "index":
        indexed(folder, ("part.safetensors",))
        file = folder / "model.safetensors.index.json"
        content = json.loads(file.read_text())
        content["weight_map"] = dict.fromkeys(content["weight_map"], name)
    else:
        file = folder / "config.json"
        content = json.loads(file.read_text()) | {"transformers_weights": name}
    file.write_text(json.dumps(content))
    with pytest.raises(ModelError, match="not a file inside the folder"):
        open_model(f"hf:{folder}")


def test_the_weights_that_a_configuration_names_are_those_of_the_fingerprint(folder):
    before = score(folder)
    shutil.copy(folder / "model.safetensors", folder / "named.safetensors")
    other_weights(folder, ["named.safetensors"])
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {"transformers_weights": "named.safetensors"}))
    first = score(folder)
    assert first[1] != pytest.approx(before[1], abs=1e-3)
    other_weights(folder, ["named.safetensors"])
    second = score(folder)
    assert (first[0] == second[0], first[1] == second[1]) == (False, False)


def test_a_variant_is_read_and_fingerprinted_by_its_own_name(folder):
    shutil.copy(folder / "model.safetensors", folder / "model.other.safetensors")
    before = fingerprint_of(folder), fingerprint_of(folder, "other")
    other_weights(folder, ["model.other.safetensors"])
    assert fingerprint_of(folder) == before[0]
    assert fingerprint_of(folder, "other") != before[1]


def test_a_pickle_that_an_index_names_is_looked_through_whatever_it_is_called(folder):
    (folder / "model.safetensors").unlink()
    (folder / "w").mkdir()
    torch.save(Payload(folder.parent / "EXECUTED"), folder / "w/part.pt")
    index = {"metadata": {}, "weight_map": {"transformer.wte.weight": "w/part.pt"}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"part\.pt"):
        open_model(f"hf:{folder}")
    assert not (folder.parent / "EXECUTED").exists()


def test_a_change_of_a_change_is_refused(folder):
    pytest.importorskip("peft")
    settings = {"base_model_name_or_path": str(folder), "peft_type": "LORA"}
    (folder.parent / "change").mkdir()
    (folder.parent / "change/adapter_config.json").write_text(json.dumps(settings))
    shutil.copytree(folder, folder.parent / "base")
    (folder / "adapter_config.json").write_text(
        json.dumps(settings | {"base_model_name_or_path": str(folder.parent / "base")})
    )
    with pytest.raises(ModelError, match="the base model of an adapter must be a whole model"):
        open_model(f"hf:{folder.parent / 'change'}")


def test_what_transformers_loads_is_what_is_hashed(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    spread(model, by=0.2)
    model.save_pretrained(folder, max_shard_size="5KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    parts = sorted(path.name for path in folder.glob("model-*.safetensors"))
    assert len(parts) > 1
    before = score(folder)
    for part in parts:
        content = (folder / part).read_bytes()
        other_weights(folder, [part])
        assert fingerprint_of(folder) != before[0]
        (folder / part).write_bytes(content)
    assert score(folder) == before
