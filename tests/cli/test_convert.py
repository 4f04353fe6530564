"""Published pickles, as users meet them: `tseval run` and `tseval convert`."""

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
from hostile_pickles import Payload
from in_process import installed, run_process, succeed, succeeded

from tseval.cli.convert import convert_command as convert
from tseval.errors import ModelError
from tseval.models import bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint

WRITE = Path(__file__).parents[1] / "models" / "published" / "write.py"
SELECTION = ["--case", "simple_agrmt", "--notes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("published")
    run_process(["python", WRITE, made], check=True)
    return made


def run(folder, name, model, *more):
    result = succeed("run", "--model", model, *more, *SELECTION, "--out", name, cwd=folder)
    scores = pd.read_parquet(folder / name / "sentences.parquet")
    manifest = json.loads((folder / name / "manifest.json").read_text())
    assert [result.stderr.count(f"warning: {warning}\n") for warning in manifest["warnings"]] == [1] * len(
        manifest["warnings"]
    )
    return result.stdout, scores, manifest


@pytest.mark.slow
def test_a_converted_pickle_scores_bit_for_bit_as_the_pickle(folder):
    (folder / "new").mkdir()
    converted = succeeded(
        installed("convert", "gpu.pt", "-o", "new/gpu.pt", "--vocab", "vocab.txt", cwd=folder)
    )
    assert converted.stderr == "new/gpu.pt: lstm, 2 layers of 6, 8 words\n"
    table, scores, manifest = run(folder, "old", "gpu.pt", "--model-args", "vocab=vocab.txt")
    others = [warning for warning in manifest["warnings"] if "without checksums" not in warning]
    assert len(others) == len(manifest["warnings"]) - 1
    same_table, same_scores, same_manifest = run(folder, "new-run", "new/gpu.pt")
    kept = [line for line in table.splitlines() if "without checksums" not in line]  # the warning, as a note
    assert kept == same_table.splitlines()
    assert len(kept) == len(table.splitlines()) - 1
    assert scores["logprob"].nunique() > 1
    pd.testing.assert_frame_equal(scores, same_scores, check_exact=True)
    assert manifest["signature"] == same_manifest["signature"]
    assert same_manifest["warnings"] == others
    told = load_checkpoint(folder / "new" / "gpu.pt").training
    digest = hashlib.sha256((folder / "gpu.pt").read_bytes()).hexdigest()
    assert told["source"] == {"file": "gpu.pt", "sha256": digest}
    assert told["published"] == {"class": "model.RNNModel", "format": "old"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["gpu.pt", "-o", "x.bin", "--vocab", "vocab.txt"],
            "x.bin: a checkpoint cannot have this name. Choose a name that ends in .pt or",
        ),
        (["gpu.pt", "-o", "gru-zip.pt", "--vocab", "vocab.txt"], "gru-zip.pt: this file exists."),
        (
            ["zip.pt", "-o", "x.pt", "--vocab", "vocab.txt"],
            "zip.pt: tseval refuses this file and ran none of its code: its Python pickle",
        ),
        (
            ["own.pt", "-o", "x.pt", "--vocab", "vocab.txt"],
            "own.pt: this file is already a tseval checkpoint",
        ),
    ],
)
def test_what_cannot_be_converted_is_named(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    shutil.copy(bundled_checkpoints()["lstm"], folder / "own.pt")
    torch.save(Payload(folder / "executed"), folder / "zip.pt")
    with pytest.raises(ModelError, match=message):
        convert(arguments, standalone_mode=False)
    assert not list(folder.glob("x.*"))
    assert not (folder / "executed").exists()
