"""The campaign (`make campaign`) attacks, counts, and names the attacks that were not survived."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from systems import needs_linux

pytestmark = [pytest.mark.slowest, needs_linux]
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# The real campaign with two more attacks: one always succeeds, one is impossible on every machine.
CAMPAIGN = """
import campaign
from attacks.registry import NotHereError, attack

@attack("a sure blow")
def blow(draw, here):
    return None if (here / "model.pt").exists() and draw.random() > 1 else "broken"

@attack("magic")
def magic(draw, here):
    raise NotHereError("no magic")

campaign.command()
"""
SURVIVED = {"kill a run": 1, "a full disk": 1, "checkpoint.pt": 10, "hostile pickles, zip": 10}

# A check that each way of hiding a call in a pickle executes the call.
BELIEVED = """
import os, pickle, random, warnings
from attacks.pickles import EXECUTED, PLANTED, call, hidden
draw = random.Random(0)
done = 0
for _ in range(300):
    try:
        pickle.loads(hidden(draw, call(draw, EXECUTED)))
    except (TypeError, IndexError, pickle.UnpicklingError):
        pass  # after the call
    os.rmdir(PLANTED)  # raises where nothing was executed
    done += 1
print(done)
"""


def run(program, *arguments, cwd):
    paths = os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=cwd, env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_small_campaign_is_survived_but_for_the_attack_that_cannot_be(tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("kenlm")
    only = [word for name in (*SURVIVED, "magic", "a sure blow") for word in ("--only", name)]
    done = run(CAMPAIGN, "--size", "1", "--seed", "3", *only, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    tried = [[name, str(number), str(number)] for name, number in SURVIVED.items()]
    assert rows == [*tried, ["magic", "0", "not here: no magic"], ["a sure blow", "1", "0"]]
    assert done.stderr.endswith(
        "a sure blow, number 0: broken\n  Again: make campaign SEED=3 ONLY='a sure blow' NUMBER=0\n"
    )
    assert not list(tmp_path.iterdir())


def test_hostile_pickles_do_execute_when_they_are_believed(tmp_path):
    pytest.importorskip("transformers")
    done = run(BELIEVED, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200
