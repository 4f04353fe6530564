"""The second device in software refuses what a GPU would, and the package finds it as it finds a GPU."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from second_device import NAME, REAL

from tseval.errors import ModelError
from tseval.scoring.numerics import accelerator, empty_caches, pick_device, widest_float


def test_it_refuses_operands_on_two_devices(machine):
    there, here = torch.ones(3, device=NAME), torch.ones(3)
    with pytest.raises(RuntimeError, match="operands on two devices, software and cpu"):
        there + here
    with pytest.raises(RuntimeError, match="operands on two devices"):
        there[torch.tensor([0, 1])]
    assert (there + here.to(NAME)).tolist() == [2, 2, 2]
    assert (there + torch.tensor(1.0)).device.type == NAME


def test_it_gives_its_numbers_to_numpy_by_way_of_the_cpu_alone(machine):
    there = torch.arange(4, device=NAME)
    with pytest.raises(RuntimeError, match="numpy"):
        there.numpy()
    with pytest.raises((RuntimeError, TypeError)):
        np.asarray(there)
    assert there.cpu().numpy().tolist() == [0, 1, 2, 3]


def test_its_views_share_memory_and_its_gradients_are_there(machine):
    there = torch.zeros(2, 3, device=NAME)
    there[0].add_(1)
    assert there.sum().item() == 3
    layer = torch.nn.Linear(3, 1).to(NAME)
    layer(there).sum().backward()
    assert layer.weight.grad.device.type == NAME


def test_memory_runs_out_as_often_as_was_said(machine):
    machine.run_short(seed=0, times=2, apart=5)
    n_raised = 0
    for _ in range(20):
        try:
            torch.zeros(1, device=NAME)
        except torch.OutOfMemoryError:
            n_raised += 1
    assert n_raised == 2


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


def test_its_caches_are_emptied_where_it_is(machine):
    empty_caches()
    assert machine.n_emptied == 1
    machine.there = False
    empty_caches()
    assert machine.n_emptied == 1


def test_long_sums_have_the_widest_type_that_a_device_has(machine):
    assert widest_float(torch.device(NAME)) == torch.float64
    machine.doubles = False
    assert widest_float(torch.device(NAME)) == torch.float32
    assert widest_float(torch.device("cpu")) == torch.float64


@pytest.mark.skipif(REAL is not None, reason="this machine has an accelerator")
def test_without_an_accelerator_gpu_check_says_so_in_one_line():
    program = Path(__file__).parents[2] / "benchmarks" / "gpu_check.py"
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "gpu-check: torch reports no accelerator on this machine; nothing was checked\n"
