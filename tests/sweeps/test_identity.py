"""Results have the same bytes for all engines, numbers of workers and kills; nothing saved is repeated.

`TSEVAL_SWEEPS=all` tries every engine with 1, 2 and 7 workers, each with and without kills.
"""

import os
from itertools import product

import pytest
from in_process import succeed
from killing import different
from sweeping import Sweeps, results_of, skip_unless_ray_starts
from systems import needs_posix

from tseval.scoring import engine

pytestmark = [needs_posix, pytest.mark.slowest]

# Engine, workers, kills.
SOME = [("local", 2, 2), ("slurm", 2, 1), ("ray", 2, 1)]
ALL = list(product(("local", "slurm", "ray"), (1, 2, 7), (0, 4)))
CHOSEN = ALL if os.environ.get("TSEVAL_SWEEPS") == "all" else SOME


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return the results of `tseval run`, one run after the other, and their folder."""
    sweeps = Sweeps(tmp_path_factory.mktemp("sweeps"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SHARD", 3)
        for i, suite in product((0, 5, 10), ("one", "two")):
            out = f"plain/step{i}-{suite}"
            succeed(
                "run", "--model", f"ckpt/step{i}.pt", "--suite", f"./{suite}", "--out", out, cwd=sweeps.place
            )
    return sweeps, results_of(sweeps.place / "plain")


@pytest.mark.parametrize(("engine_name", "workers", "kills"), CHOSEN)
def test_a_sweep_under_fire_gives_the_bytes_of_single_runs(plain, engine_name, workers, kills):
    sweeps, whole = plain
    out = f"{engine_name}-{workers}-{kills}"
    arguments = "plan.yaml", "--engine", engine_name, "--workers", workers, "-o", out
    try:
        killed = sweeps.sweep_under_fire(arguments, kills, parents=engine_name != "local")
    except AssertionError:
        if engine_name == "ray":
            skip_unless_ray_starts()
        raise
    twice = sweeps.saved_twice()
    print(f"{out}: killed {killed}, {len(sweeps.saved())} shards saved, {twice} sentences scored twice")
    assert different(whole, results_of(sweeps.place / out)) == []
    assert len(whole) == 6 * 6
    assert killed == kills
    assert twice == 0
    assert "6 of them finished earlier" in sweeps.sweep("plan.yaml", "-o", out)
    assert len(sweeps.saved()) == 3 * (6 + 4), "a shard for every three of 18 and 10 sentences"
