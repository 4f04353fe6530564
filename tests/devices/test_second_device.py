"""The second device in software refuses what a GPU would, and the package finds it as it finds a GPU."""

import subprocess
import sys
from pathlib import Path

import pytest
from second_device import NAME, REAL

from tseval.errors import ModelError
from tseval.scoring.numerics import accelerator, pick_device


def test_auto_takes_any_accelerator_that_torch_reports(machine):
    assert accelerator().type == NAME
    assert pick_device("auto").type == pick_device(f"{NAME}:0").type == NAME
    assert pick_device("cpu").type == "cpu"
    with pytest.raises(
        ModelError, match=r"device 'abacus' cannot be used here. Devices: auto, cpu, software\.$"
    ):
        pick_device("abacus")


@pytest.mark.skipif(REAL is not None, reason="this machine has an accelerator")
def test_unplugged_it_is_no_device(machine):
    machine.there = False
    assert accelerator() is None
    assert pick_device("auto").type == "cpu"
    for name in (NAME, "cuda", "meta"):
        with pytest.raises(ModelError, match=f"device '{name}' cannot be used here. Devices: auto, cpu\\.$"):
            pick_device(name)


@pytest.mark.skipif(REAL is not None, reason="this machine has an accelerator")
def test_without_an_accelerator_gpu_check_says_so_in_one_line():
    program = Path(__file__).parents[2] / "benchmarks" / "gpu_check.py"
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "gpu-check: torch reports no accelerator on this machine; nothing was checked\n"
