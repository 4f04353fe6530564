"""Transformers models without a network: folders open, ids end in one message, nothing waits."""

import json
import os
import shutil
import sys

import pytest
from in_process import run_process

pytestmark = pytest.mark.slow  # imports transformers in a new process

ALONE = ["unshare", "--map-root-user", "--net"]
# Measure only the time after all imports.
PROGRAM = """
import json, sys, time
import transformers, torch, huggingface_hub, tseval.adapters.hf, tseval.adapters.mlm
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel
from tseval.adapters import open_model
from tseval.errors import ModelError
found = []
for spec in sys.argv[1:]:
    start = time.monotonic()
    try:
        said = open_model(spec, device="cpu").card.name
    except ModelError as error:
        said = str(error)
    found.append((said, time.monotonic() - start))
print(json.dumps(found))
"""


def test_a_folder_opens_and_an_id_is_one_message_at_once(tmp_path):
    if shutil.which("unshare") is None or run_process([*ALONE, "true"]).returncode:
        pytest.skip("this system lets nobody cut a program off the network (unshare --net)")
    pytest.importorskip("transformers")
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    save_causal(tmp_path / "gpt2")
    # No setting says to the libraries that there is no network.
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    ids = "hf:some/model", "mlm:some/model"
    command = [*ALONE, sys.executable, "-c", PROGRAM, *ids, "hf:gpt2"]
    done = run_process(command, check=True, cwd=tmp_path, env=environment | {"HF_HOME": str(tmp_path)})
    *found, (name, seconds) = json.loads(done.stdout)
    assert (name, done.stderr) == ("gpt2", "")
    assert seconds < 10
    for spec, (said, seconds) in zip(ids, found, strict=True):
        assert said.startswith(f"{spec} cannot be opened: no folder has this name, and the local cache")
        assert len(said) < 500
        assert said.count("\n") == 1
        assert seconds < 2
