"""`tseval run --model hf:...` and `mlm:...`, as a user runs them, without a network."""

import json
import sys

import pytest
from checkpoints import save_causal
from in_process import installed, succeeded

from tseval.adapters import open_model
from tseval.errors import ModelError


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("model") / "tiny", n_positions=128)


@pytest.mark.slow
def test_a_folder_is_scored_and_the_run_says_how(gpt2, tmp_path):
    result = succeeded(installed("run", "--model", f"hf:{gpt2}", "--limit", 3, "--out", "run", cwd=tmp_path))
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


@pytest.mark.parametrize("scheme", ["hf", "mlm"])
def test_without_transformers_the_extra_is_named(monkeypatch, scheme):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelError, match=scheme + r': needs transformers.\n  pip install "tseval\[hf\]"'):
        open_model(f"{scheme}:some-model")
