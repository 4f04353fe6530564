"""Engines: each starts workers somewhere, and waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tseval.formats import Json

# Name of each engine to the package that it needs; the extra has the engine's name.
ENGINES: dict[str, str | None] = {"local": None, "slurm": "submitit", "ray": "ray"}


@dataclass(frozen=True, slots=True)
class Job:
    """What an engine is to start workers for.

    Attributes:
        task: File that workers are given, on a disk that all of them see.
        n_units: To do; more workers than that are of no use.
        workers: How many; None for what suits.
        settings: What the plan says to the engine.
        folder: For files of the engine's own.
    """

    task: str
    n_units: int
    workers: int | None
    settings: Mapping[str, Json]
    folder: Path


class Engine(Protocol):
    """Starts workers and waits for their end."""

    def __call__(self, job: Job, watch: Callable[[], None]) -> list[str]:
        """Let workers do a job, and call `watch` several times a second.

        Returns:
            Why workers could not go on, of those that could not.

        Raises:
            RunError: No worker can be started, or all are lost.
        """


def find_engine(name: str) -> Engine:
    """Give an engine by its name.

    Raises:
        RunError: What it needs is not installed.
    """
    package = ENGINES[name]
    if package and find_spec(package) is None:
        raise RunError(
            f'--engine {name} needs {package}, which is not installed.\n  pip install "tseval[{name}]"'
        )
    engine: Engine = getattr(import_module(f"tseval.sweeps.engines.{name}"), f"run_{name}")
    return engine
