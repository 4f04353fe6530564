"""Models of transformers where there is no network: folders open, ids end in one message, nobody waits."""

import os
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # imports transformers in new processes

UNSHARE = shutil.which("unshare")
ALONE = ["unshare", "--map-root-user", "--net"]
# What is measured: from the moment that all is imported.
PROGRAM = """
import sys, time
import transformers, torch, huggingface_hub, tseval.adapters.hf, tseval.adapters.mlm
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel
from tseval.adapters import open_model
from tseval.errors import ModelError
start = time.monotonic()
try:
    print(open_model(sys.argv[1], device="cpu").card.name)
except ModelError as error:
    print(f"tseval: {error}", file=sys.stderr)
print(f"seconds: {time.monotonic() - start:.2f}")
"""


@pytest.fixture(scope="module")
def alone():
    """Run a program where there is no network, and nobody has told the libraries so."""
    if UNSHARE is None or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody cut a program off the network (unshare --net)")
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}

    def run(spec, cwd):
        return subprocess.run(
            [*ALONE, sys.executable, "-c", PROGRAM, spec], cwd=cwd, env=environment | {"HF_HOME": str(cwd)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def seconds(done):
    return float(re.search(r"seconds: ([\d.]+)", done.stdout)[1])


@pytest.mark.parametrize("scheme", ["hf", "mlm"])
def test_an_id_is_one_message_at_once(alone, tmp_path, scheme):
    pytest.importorskip("transformers")
    done = alone(f"{scheme}:some/model", tmp_path)
    assert done.stderr.startswith(
        f"tseval: {scheme}:some/model cannot be opened: it is no folder, and not in"
    )
    assert len(done.stderr) < 500
    assert len(done.stderr.splitlines()) == 2
    assert seconds(done) < 2


def test_a_folder_opens_and_asks_no_network(alone, tmp_path):
    pytest.importorskip("transformers")
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    save_causal(tmp_path / "gpt2", "gpt2")
    done = alone("hf:gpt2", tmp_path)
    assert (done.stderr, done.stdout.splitlines()[0]) == ("", "gpt2")
    assert seconds(done) < 10
