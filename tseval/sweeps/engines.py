"""Engines by name. An engine starts workers, restarts those that were killed, and waits for their end."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.sweeps.local import run_local
from tseval.sweeps.ray_engine import run_ray

if TYPE_CHECKING:
    from tseval.sweeps.job import Engine


# The package that each engine needs. The extra of tseval has the engine's name.
ENGINES: dict[str, str | None] = {"local": None, "slurm": "submitit", "ray": "ray"}


def find_engine(name: str) -> Engine:
    """Return an engine by its name."""
    package = ENGINES[name]
    if package and find_spec(package) is None:
        raise RunError(
            f"--engine {name} needs the Python package {package}, which is not installed.\n"
            f'  To install it: pip install "tseval[{name}]"'
        )
    if name == "slurm":
        from tseval.sweeps.slurm import run_slurm  # noqa: PLC0415 - imports what is an extra

        return run_slurm
    return {"local": run_local, "ray": run_ray}[name]
