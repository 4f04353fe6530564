"""Sweeps: many models on many suites, by workers that may be started, killed and started again.

A plan names units of work (`plan`), each of which gives one run directory. What is known of a unit lies on
disk (`place`), and so does the lock of whoever works on it. A worker is a program that does units until none
is left (`worker`); an engine only starts workers and waits (`engines`). A run does not know that a sweep made
it.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tseval.errors import RunError
from tseval.files import write_whole
from tseval.sweeps.engines import POLL_SECONDS, Job
from tseval.sweeps.units import ENDED, WorkerTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.formats import Json
    from tseval.sweeps.engines import Engine
    from tseval.sweeps.units import Records, SweepUnit, UnitRecord


STATE = "sweep"  # folder of records, beside the runs
LOOK_SECONDS = 0.5  # between looks at the records


@dataclass(frozen=True, slots=True)
class UnitState:
    """How far a unit is."""

    unit: SweepUnit
    record: UnitRecord
    was_done: bool = False  # before this sweep


class Watcher(Protocol):
    """Hears how the work goes, several times a second."""

    def __call__(self, states: Sequence[UnitState]) -> None:
        """Hear how far each unit is."""


@dataclass(frozen=True, slots=True)
class Workforce:
    """Who does the work."""

    engine: Engine
    workers: int | None = None  # None for what suits
    settings: Mapping[str, Json] | None = None  # what the plan says to the engine


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How a sweep ended."""

    states: list[UnitState]  # in order of the units
    complaints: list[str]  # why workers could not go on


def sweep(units: Sequence[SweepUnit], place: Records, force: Workforce, watch: Watcher) -> SweepResult:
    """Do all units that are not done, given model by model; one that fails stops no other.

    Other sweeps may work in the same place: no unit is done twice.
    """
    with _writable(place.folder):
        left = place.open_again(units)
        task = _write_task(place, left) if left else None
    before = {unit.name for unit in units} - {unit.name for unit in left}
    looked = _Looked(units, place, before)

    def look() -> None:
        watch(looked.states())

    complaints: list[str] = []
    while task is not None:
        settings = force.settings or {}
        job = Job(str(task), len(left), force.workers, settings, place.folder / "engine")
        complaints = force.engine(job, look)
        left = [unit for unit in left if not place.ended(unit)]
        held = [unit for unit in left if place.is_held(unit)]
        if not held:  # each worker stops where nothing is free; what another sweep held may be free again
            break
        while any(place.is_held(unit) for unit in held):
            look()
            time.sleep(POLL_SECONDS)
    ended = [replace(state, was_done=state.unit.name in before) for state in states_of(units, place)]
    watch(ended)
    return SweepResult(ended, complaints)


class _Looked:
    """The states of units; what has ended is not looked at again."""

    def __init__(self, units: Sequence[SweepUnit], place: Records, before: set[str]) -> None:
        self.place = place
        self.known = {unit.name: UnitState(unit, place.read(unit), unit.name in before) for unit in units}
        self.at = 0.0

    def states(self) -> list[UnitState]:
        if time.monotonic() - self.at > LOOK_SECONDS:
            for name, state in self.known.items():
                if state.record.stage not in ENDED:
                    record = self.place.read(state.unit)
                    if record.stage == "training":  # which says itself how far it is
                        record = replace(record, said=self.place.last_line(state.unit))
                    self.known[name] = UnitState(state.unit, record, state.was_done)
            self.at = time.monotonic()
        return list(self.known.values())


def states_of(units: Sequence[SweepUnit], place: Records) -> list[UnitState]:
    """Give how far units are, without doing anything; what a killed worker left waits again."""
    found = []
    for unit in units:
        record = place.read(unit)
        done = place.is_done(unit)
        if (record.stage == "done" and not done) or (
            record.stage not in (*ENDED, "waiting") and not place.is_held(unit)
        ):
            record = replace(record, stage="waiting")
        found.append(UnitState(unit, record, done))
    return found


def _write_task(place: Records, units: Sequence[SweepUnit]) -> Path:
    """Write what workers are to do; its name is that of its content, so that two sweeps never share one."""
    task = WorkerTask(tuple(units), str(Path.cwd()), str(place.folder.resolve()), str(place.logs.resolve()))
    content = json.dumps(asdict(task)).encode()
    path = place.folder.resolve() / f"task-{hashlib.sha256(content).hexdigest()[:16]}"
    write_whole(path, content, shared=True)
    return path


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"{error.filename or folder} cannot be written: {error.strerror or error}.") from None
