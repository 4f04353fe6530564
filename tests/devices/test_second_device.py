"""The second device in software refuses what a GPU would refuse, and tseval detects it like a GPU."""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from in_process import run_process
from second_device import NAME, REAL

from tseval.errors import ModelError
from tseval.scoring.devices import accelerator, pick_device

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_auto_takes_any_accelerator_that_torch_reports(machine):
    assert accelerator().type == NAME
    assert pick_device("auto").type == pick_device(f"{NAME}:0").type == NAME
    assert pick_device("cpu").type == "cpu"
    with pytest.raises(
        ModelError,
        match=(
            r"'abacus' is not available on this machine. Choose an available --device: auto, cpu, "
            r"software\.$"
        ),
    ):
        pick_device("abacus")


@pytest.mark.skipif(REAL is not None, reason="this machine has an accelerator")
def test_unplugged_it_is_no_device(machine):
    machine.there = False
    assert accelerator() is None
    assert pick_device("auto").type == "cpu"
    for name in (NAME, "cuda", "meta"):
        with pytest.raises(
            ModelError,
            match=(
                f"device '{name}' is not available on this machine. Choose an available --device: auto, "
                "cpu\\.$"
            ),
        ):
            pick_device(name)


@pytest.fixture
def gpu_check(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("gpu_check")


@pytest.mark.skipif(REAL is not None, reason="this machine has an accelerator")
def test_without_an_accelerator_gpu_check_says_so_in_one_line(gpu_check, machine, capsys):
    machine.there = False
    with pytest.raises(SystemExit, match="2"):
        gpu_check.main([])
    said = "gpu-check: torch reports no accelerator on this machine; nothing was checked\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.slowest
def test_the_check_of_a_gpu_is_rehearsed_on_a_cpu(tmp_path):
    program = BENCHMARKS / "gpu_check.py"
    result = run_process(["python", program, "--device", "cpu", "--small", "--out", tmp_path])
    assert result.returncode == 0, result.stdout + result.stderr
    page, found = (tmp_path / "check.md").read_text(), json.loads((tmp_path / "check.json").read_text())
    assert page == result.stdout.removesuffix("\n")
    assert "Everything holds." in page
    assert "This is a rehearsal with tiny models and few sentences" in page
    assert "The check ran on a CPU, so its speeds say nothing about a GPU." in page
    assert found["failures"] == []
    assert {*found["parts"]} == {"scores", "output", "speed", "training", "commands"}
    against_others = [row["what"] for row in found["parts"]["scores"] if "against" in row["what"]]
    assert len(against_others) == len([name for name in ("lm_eval", "minicons") if find_spec(name)])


def test_the_check_of_a_gpu_ends_with_the_lines_that_fail(gpu_check, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_check, "log_normaliser", lambda hidden, *_: hidden.sum(1))
    with pytest.raises(SystemExit, match="1"):
        gpu_check.main(["--device", "cpu", "--small", "--only", "output", "--out", str(tmp_path)])
    assert "output: log-normaliser, bfloat16 differs by" in capsys.readouterr().err.splitlines()[-1]
    assert "- **output: log-normaliser" in (tmp_path / "check.md").read_text()
