"""Five minutes of attacks through repositories, modules, boards, models and servers of strangers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from systems import needs_linux

pytestmark = [pytest.mark.slowest, needs_linux]
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KINDS = (
    "hostile repositories",
    "hostile modules",
    "a line completed in a hostile folder",
    "kill a change of a board",
    "hostile fields of a board",
    "shared pickles",
    "odd numbers",
    "expressions of requests",
    "weights elsewhere",
    "claims of a folder",
    "wide tables",
    "slow and private servers",
)
MINUTES = os.environ.get("TSEVAL_CAMPAIGN_MINUTES", "5")


def test_five_minutes_of_attacks_are_survived(tmp_path):
    pytest.importorskip("transformers")
    only = [word for name in KINDS for word in ("--only", name)]
    command = [sys.executable, "campaign.py", "--size", "50", "--minutes", MINUTES, "--seed", "64", *only]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, cwd=BENCHMARKS, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    assert {name for name, tried, survived in rows if int(tried) and tried == survived} == {*KINDS}
