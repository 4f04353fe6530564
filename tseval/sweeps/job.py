"""What an engine is to start workers for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tseval.formats import Json

    # Lets workers do a job, calls the other several times a second, and says why workers could not go on.
    Engine = Callable[["Job", Callable[[], None]], list[str]]


@dataclass(frozen=True, slots=True)
class Job:
    """What an engine is to start workers for."""

    task: str  # file that workers are given, on a disk that all of them see
    n_units: int  # to do; more workers than that are of no use
    workers: int | None  # None for what suits
    settings: Mapping[str, Json]  # what the plan says to the engine
    folder: Path  # for files of the engine's own
