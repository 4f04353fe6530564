"""Every Makefile target that calls programs under benchmarks/ runs at minimal size."""

import pytest
from rehearsals import BENCHMARKS, MAKE, NEEDED, TARGETS, furnish, rehearse

pytestmark = [pytest.mark.slowest, *NEEDED]
AGREEMENT = next(target for target in TARGETS if target.startswith("agreement "))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a function that gives the output of a target, and the folder in which all targets run."""
    place, printed = furnish(tmp_path_factory.mktemp("rehearsal")), {}

    def call(target):
        if target not in printed:
            done = rehearse([*MAKE, *target.split()], place)
            assert done.returncode == 0, done.stdout + done.stderr
            printed[target] = done.stdout
        return printed[target], place

    return call


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_of_the_makefile_runs_in_its_smallest_form(target, made):
    printed, _ = made(target)
    assert [what for what in TARGETS[target] if what not in printed] == [], printed


def test_the_models_of_the_target_agreement_are_asked_about_constructed_sentences(made):
    _, place = made(AGREEMENT)
    options = "--models agreement --seeds 1 --arch lstm --sample 20 --out constructed"
    done = rehearse(["python", BENCHMARKS / "agreement_constructed.py", *options.split()], place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [*place.rglob("profile.svg")], done.stdout + done.stderr
