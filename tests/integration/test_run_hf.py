"""`tseval run --model hf:...` and `mlm:...`, as a user runs them, without a network."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from checkpoints import save_causal, save_masked

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError, RunError


def command(*arguments, cwd, **environment):
    return subprocess.run(
        ["tseval", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("model") / "tiny", n_positions=128)


@pytest.mark.slow
def test_a_folder_is_scored_and_the_run_says_how(gpt2, tmp_path):
    result = command("run", "--model", f"hf:{gpt2}", "--limit", 3, "--out", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "tiny on marvin_linzen" in result.stdout
    assert "|bos:<?endoftext?>|" in result.stderr  # a bar would end the part of the signature
    assert "|first_token:scored|" in result.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["model"]["details"]["method"] == "packed tree, tiled head"
    (warning,) = manifest["warnings"]
    assert warning.startswith(
        "sentences are read as people write them, 'Most authors have ever been famous.'"
    )
    assert manifest["counts"]["items"] == 66
    # A run with another start symbol is another run.
    other, suite = open_model(f"hf:{gpt2}", {"bos": "false"}), tseval.load_suite("marvin_linzen", limit=3)
    with pytest.raises(RunError, match="first_token: scored, not unscored"):
        tseval.evaluate(other, suite, out=tmp_path / "run", resume=True)


def test_a_model_that_cannot_be_packed_says_so_in_the_manifest(tmp_path):
    model = open_model(f"hf:{save_causal(tmp_path / 'tiny', 'bloom')}")
    run = tseval.evaluate(model, tseval.load_suite("marvin_linzen", limit=1), out=tmp_path / "run")
    _, warning = run.manifest.warnings
    assert warning.startswith("scored by rows of equal length, tiled head: packed tree")


KILLED = """if True:
    import os, signal, sys, tseval
    from tseval.scoring import engine
    engine.SHARD = 40
    model, suite = tseval.load_model(sys.argv[1]), tseval.load_suite("marvin_linzen", limit=8)
    tseval.evaluate(
        model, suite, out="run",
        progress=lambda done, total: os.kill(os.getpid(), signal.SIGKILL) if done >= 120 else None,
    )
"""


@pytest.mark.slow
def test_a_killed_run_resumes_with_a_copy_of_the_model(gpt2, tmp_path, monkeypatch):
    killed = subprocess.run([sys.executable, "-c", KILLED, f"hf:{gpt2}"], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    shutil.copytree(gpt2, tmp_path / "copy")
    monkeypatch.setattr("tseval.scoring.engine.SHARD", 40)
    model = open_model(f"hf:{tmp_path / 'copy'}")
    suite = tseval.load_suite("marvin_linzen", limit=8)
    run = tseval.evaluate(model, suite, out=tmp_path / "run", resume=True)
    assert run.manifest.counts.resumed_sentences == 120
    monkeypatch.undo()
    whole = tseval.evaluate(model, suite)
    sums = pd.read_parquet(tmp_path / "run" / "sentences.parquet")["logprob"]
    assert len(sums) == whole.manifest.counts.sentences
    np.testing.assert_allclose(run.verdicts["better_score"], whole.verdicts["better_score"], atol=1e-4)


def test_a_masked_model_is_scored_and_the_variant_is_in_the_signature(tmp_path):
    model = open_model(f"mlm:{save_masked(tmp_path / 'tiny', max_position_embeddings=128)}")
    run = tseval.evaluate(model, tseval.load_suite("marvin_linzen", limit=1), out=tmp_path / "run")
    assert "|pll:within_word_l2r|" in run.manifest.signature
    assert "tiny on marvin_linzen" in (tmp_path / "run" / "table.md").read_text()


@pytest.mark.parametrize("scheme", ["hf", "mlm"])
def test_without_transformers_the_extra_is_named(monkeypatch, scheme):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelError, match=scheme + r': needs transformers.\n  pip install "tseval\[hf\]"'):
        open_model(f"{scheme}:some-model")
