"""A sweep in a folder with a Python file for every imported module's name: none of these files runs."""

import os
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from in_process import run_process
from sweeping import Sweeps, skip_unless_ray_starts
from systems import needs_posix

from tseval.processes import find_program, python_command

pytestmark = needs_posix
BIN = Path(sys.executable).parent
HOSTILE = "with open({mark!r}, 'a') as file:\n    file.write(__name__ + '\\n')\nraise SystemExit(9)\n"


@cache
def names():
    """Return the names of all modules that could be imported here."""
    found = {*sys.stdlib_module_names, *packages_distributions(), "tseval", "sitecustomize", "usercustomize"}
    return sorted(name for name in found if name.isidentifier())


@pytest.fixture
def place(tmp_path):
    sweeps = Sweeps(tmp_path / "sent", models=1)
    for name in names():
        (sweeps.place / f"{name}.py").write_text(HOSTILE.format(mark=str(tmp_path / "EXECUTED")))
    return sweeps.place


def test_the_files_are_executed_where_python_looks_for_them_first(place):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [sys.executable, "-m", "tseval.sweeps.worker"]
    run_process(command, cwd=place, env=environment)
    assert (place.parent / "EXECUTED").exists()


ENGINES = ["local", *(pytest.param(engine, marks=pytest.mark.slowest) for engine in ("slurm", "ray"))]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_sweep_imports_nothing_from_the_folder_that_it_is_given_in(engine, place):
    if engine == "ray":
        pytest.importorskip("ray")
    if engine == "slurm":
        pytest.importorskip("submitit")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    environment |= {"XDG_CACHE_HOME": str(place.parent / "cache")}
    environment.pop("RAY_ADDRESS", None)
    words = [BIN / "tseval", "sweep", "plan.yaml", "--engine", engine, "--workers", "1", "-o", "out"]
    done = run_process(words, cwd=place, env=environment)
    mark = place.parent / "EXECUTED"
    assert not mark.exists(), mark.read_text()
    if engine == "ray" and done.returncode:
        skip_unless_ray_starts()
    assert done.returncode == 0, done.stderr
    assert (place / "out/step0-one/manifest.json").exists()


def test_a_program_in_the_current_folder_is_none_of_the_path(tmp_path, monkeypatch):
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    assert find_program("git") is None


def test_a_module_of_ours_runs_as_ever():
    done = run_process([*python_command("tseval"), "--version"])
    assert done.returncode == 0, done.stderr
