"""The job for which an engine starts workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tseval.formats import Json

    # Runs workers for a job, calls the other argument several times a second, and returns the reasons for
    # which workers stopped early.
    Engine = Callable[["Job", Callable[[], None]], list[str]]


@dataclass(frozen=True, slots=True)
class Job:
    """The job for which an engine starts workers."""

    task: str  # file with the workers' task, on a disk that all workers can read
    n_units: int  # number of units, so also the largest useful number of workers
    workers: int | None  # None: the engine chooses
    settings: Mapping[str, Json]  # the plan's settings for the engine
    folder: Path  # folder for the engine's files
