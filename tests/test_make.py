"""Every target of the Makefile that calls programs under benchmarks/ runs, at its smallest."""

import pytest
from in_process import run_process
from rehearsals import ENVIRONMENT, MAKE, MARKS, TARGETS, furnish

pytestmark = MARKS


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("rehearsal"))


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_of_the_makefile_runs_in_its_smallest_form(target, place):
    done = run_process([*MAKE, *target.split()], cwd=place, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [what for what in TARGETS[target] if what not in done.stdout] == [], done.stdout
