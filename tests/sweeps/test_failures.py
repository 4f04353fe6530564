"""Failures in a sweep: the other runs finish, failed ones are named, and the same command continues."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from in_process import call, refuse
from submitit.slurm.slurm import SlurmJob
from sweeping import Sweeps, results_of
from systems import needs_linux, needs_posix

from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.runs import read_run
from tseval.sweeps.units import Records, SweepPlan, UnitRecord, WorkerTask, plan_units
from tseval.sweeps.worker import DEATHS, UnitScorer, Worker

pytestmark = needs_posix  # kills, and messages with paths


@pytest.fixture
def sweeps(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Sweeps(tmp_path)


def planned(out="out", models=("ckpt/step*.pt",), suites=("./one", "./two")):
    units = plan_units(SweepPlan(models, suites, out=out))
    place = Records(Path(out) / "sweep")
    place.open_again(units)
    return units, place


def work(units, place, number=0, of=1):
    """Act as a worker, which writes to the files that are open as 1 and 2."""
    task = WorkerTask(tuple(units), ".", str(place.folder), str(place.logs))
    with (
        open(1, "w", closefd=False) as out, redirect_stdout(out),
        open(2, "w", closefd=False) as err, redirect_stderr(err),
    ):  # fmt: skip
        Worker(task, number, of).work()


def test_each_worker_begins_with_models_of_its_own_and_helps_out(sweeps):
    units, place = planned()
    orders = [Worker(WorkerTask(tuple(units), ".", "out/sweep", "out/sweep"), i, 3).units for i in range(3)]
    assert [order[0].model for order in orders] == [f"ckpt/step{5 * i}.pt" for i in range(3)]
    assert all(sorted(order, key=units.index) == units for order in orders)
    work(units[:3], place)
    assert [place.read(unit).stage for unit in units] == ["done"] * 3 + ["waiting"] * 3


@pytest.mark.slow
def test_what_fails_stops_no_other_and_is_tried_again_by_the_next_sweep(sweeps):
    (sweeps.place / "ckpt/step3.pt").write_bytes(b"no checkpoint")
    models = ("ckpt/step*.pt", "absent.pt")
    units, place = planned(models=models)
    work(units, place)
    stages = {unit.name: place.read(unit) for unit in units}
    failed = {name: record.said for name, record in stages.items() if record.stage == "failed"}
    assert failed.keys() == {f"{model}-{suite}" for model in ("step3", "absent") for suite in ("one", "two")}
    assert failed["absent-one"].startswith("absent.pt: file not found.")
    assert f"tseval: {failed['step3-one']}" in (place.folder / "step3-one.log").read_text()
    assert sum(record.stage == "done" for record in stages.values()) == 6

    shutil.copy("ckpt/step5.pt", "absent.pt")
    (sweeps.place / "ckpt/step3.pt").unlink()
    units, place = planned(models=models)
    left = [unit.name for unit in units if place.read(unit).stage != "done"]
    assert left == ["absent-one", "absent-two"]
    work(units, place)
    assert {place.read(unit).stage for unit in units} == {"done"}


def test_a_checkpoint_that_changed_is_not_taken_for_the_one_that_was_scored(sweeps):
    units, place = planned(suites=("./two",))
    work(units, place)
    shutil.copy("ckpt/step5.pt", "ckpt/step0.pt")
    assert [unit.name for unit in place.open_again(units)] == ["step0-two"]
    work(units, place)
    assert "out/step0-two has a run with other settings" in place.read(units[0]).said


def test_models_and_suites_that_change_while_a_worker_goes_on_are_read_anew(sweeps):
    units, place = planned()
    scorer = UnitScorer(place, 0)
    scorer.score(units[0], UnitRecord())
    shutil.copy("ckpt/step5.pt", "ckpt/step0.pt")
    scorer.score(units[1], UnitRecord())
    lexicon = Path("one/lexicon.yaml")
    lexicon.write_text(lexicon.read_text().replace("judge", "nurse, judge"))
    scorer.score(units[2], UnitRecord())
    old, changed, other = (read_run(unit.run).manifest for unit in units[:3])
    assert old.key.fingerprint != changed.key.fingerprint == other.key.fingerprint
    assert (old.counts.items, other.counts.items) == (8, 9)


def test_a_unit_that_kills_its_workers_is_given_up_unless_it_comes_forward(sweeps):
    units, place = planned(suites=("./two",))
    place.write(units[0], UnitRecord("scoring", done=6, of=10, deaths=DEATHS))
    place.write(units[1], UnitRecord("scoring", deaths=DEATHS, parts=1))  # parts changed since then
    work(units, place)
    first, *others = (place.read(unit) for unit in units)
    assert first.stage == "failed"
    assert first.said.startswith(
        "the scoring process was killed 3 times at 6 of 10 sentences, perhaps because"
    )
    assert {record.stage for record in others} == {"done"}


def test_a_fault_of_a_model_leaves_its_traceback_in_the_log(sweeps, monkeypatch):
    def advance(*_):
        raise ZeroDivisionError("no state")

    monkeypatch.setattr("tseval.adapters.native.NativeModel.advance", advance)
    units, place = planned(suites=("./two",))
    work(units, place)
    for unit in units:
        said = place.read(unit).said
        assert re.match(
            r"step\d+ raised a Python error while tseval scored the sentence '.*' and 9 others:\n", said
        )
        assert "\n  ZeroDivisionError: no state (" in said
    assert "Traceback" in place.log(units[0]).read_text()


def test_units_in_the_hands_of_another_are_left_to_it(sweeps):
    units, place = planned(suites=("./two",))
    held = place.claim(units[1])
    work(units, place)
    assert [place.read(unit).stage for unit in units] == ["done", "waiting", "done"]
    assert place.is_held(units[1])
    place.release(units[1], held)
    assert not place.is_held(units[1])


def test_a_folder_that_cannot_be_written_is_one_message(sweeps):
    Path("out").write_text("a file")
    done = call("sweep", "plan.yaml", "-o", "out")
    wrong = (
        "tseval: out/sweep: tseval cannot write into this folder (Not a directory).\n  Name another "
        "folder with --out.\n"
    )
    assert (done.returncode, done.stderr) == (2, wrong)


@pytest.mark.slowest
def test_two_sweeps_on_one_folder_and_the_death_of_one_share_the_work(sweeps):
    arguments = "plan.yaml", "--workers", 1, "-o", "out"
    with sweeps.start(*arguments) as one, sweeps.start(*arguments) as other:
        while len({process for process, *_ in sweeps.saved()}) < 2:
            time.sleep(0.02)
            assert one.poll() is None
        os.kill(one.pid, signal.SIGKILL)
        _, errors = other.communicate(timeout=60)
        one.communicate()
    assert other.returncode == 0, errors
    assert sweeps.saved_twice() == 0
    assert len(sweeps.saved()) + sweeps.saved_unsaid() == 30
    units, place = planned()
    assert {place.read(unit).stage for unit in units} == {"done"}


@needs_linux
@pytest.mark.slowest
def test_a_full_disk_is_said_and_the_same_command_goes_on(sweeps):
    disk = sweeps.place / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "none", disk]
    if os.getuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system of its own")
    try:
        said = sweeps.sweep("plan.yaml", "--workers", 1, "-o", disk, code=1)
        assert "No space left on device" in said
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        sweeps.sweep("plan.yaml", "--workers", 1, "-o", disk)
        assert sweeps.saved_twice() == 0
        assert len(results_of(disk)) == 6 * 6
    finally:
        subprocess.run(["umount", disk], check=True)


@needs_linux
@pytest.mark.slowest
def test_a_model_that_is_too_large_for_memory_stops_no_other_and_is_tried_again(sweeps):
    words = load_checkpoint(Path("ckpt/step0.pt")).vocabulary
    large = LanguageModel(Sizes("srn", len(words), 3, 6000, 1))  # 144 MB of weights
    save_checkpoint(Path("ckpt/step7.pt"), large, words, training={}, validation_perplexity=None)
    command = "--model", "ckpt/step*.pt", "--suite", "./two", "--workers", 1, "-o", "out"
    said = sweeps.sweep(*command, code=1, SPARE=str(100 * 2**20))
    why = "ckpt/step7.pt: the file does not fit into memory. Free memory, or use a larger machine"
    failed = f"tseval: step7-two failed: {why}\n  Log: out/sweep/step7-two.log\n"
    assert said.endswith(f"4 units: 3 done, 1 failed\n{failed}")
    assert f"tseval: {why}\n" in Path("out/sweep/step7-two.log").read_text()
    assert "4 units: 4 done (3 of them finished earlier)" in sweeps.sweep(*command)
    assert sweeps.saved_twice() == 0
    assert len(sweeps.saved()) == 4 * 4


# A queue that keeps the script and reports its jobs as failed.
QUEUE = {
    "sbatch": '#!/bin/sh\ncp "$1" "$QUEUED"\necho "Submitted batch job 77"\n',
    "srun": "#!/bin/sh\n",
    "sacct": "#!/bin/sh\nprintf 'JobID|State|NodeList\\n77_0|FAILED|a\\n77_1|NODE_FAIL|b\\n'\n",
}


def test_slurm_gets_one_array_job_with_the_settings_of_the_plan(sweeps, monkeypatch):
    (sweeps.place / "bin").mkdir()
    for name, text in QUEUE.items():
        (sweeps.place / "bin" / name).write_text(text)
        (sweeps.place / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{sweeps.place / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("QUEUED", str(sweeps.place / "queued.sh"))
    monkeypatch.setattr(SlurmJob.watcher, "_delay_s", 0.1)  # between requests to the queue
    plan = json.loads(Path("plan.yaml").read_text())
    plan["slurm"] = {"timeout_min": 90, "slurm_partition": "gpu", "gpus_per_node": 1, "cpus_per_task": 4}
    Path("plan.yaml").write_text(json.dumps(plan))
    done = call("sweep", "plan.yaml", "--engine", "slurm", "--workers", 2, "-o", "out")
    script = Path("queued.sh").read_text()
    flags = dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", script, re.MULTILINE))
    expected = {
        "array": "0-1%2", "time": "90", "partition": "gpu", "gpus-per-node": "1", "cpus-per-task": "4",
    }  # fmt: skip
    assert flags.items() >= (expected | {"job-name": "tseval", "open-mode": "append"}).items()
    assert re.search(r"^srun .* -m submitit.core._submit \S*out/sweep/engine$", script, re.MULTILINE)
    assert done.returncode == 1
    assert "tseval: job 77_0 was lost (FAILED).\n  Log: " in done.stderr
    assert (
        "tseval: 6 units not finished, such as step0-one.\n  To continue, repeat the same command."
        in done.stderr
    )


def test_a_machine_without_slurm_and_a_wrong_setting_are_one_message(sweeps):
    plan = json.loads(Path("plan.yaml").read_text())
    for slurm, said in (
        ({}, 'Could not detect "srun"'),
        ({"cluster": "local", "tim": 3}, "Parameter 'tim' need"),
    ):
        Path("plan.yaml").write_text(json.dumps(plan | {"slurm": slurm}))
        done = refuse("sweep", "plan.yaml", "--engine", "slurm", "-o", "other")
        assert done.stderr.startswith("tseval: SLURM did not accept the jobs of the sweep: ")
        assert said in done.stderr
        assert "Traceback" not in done.stderr
