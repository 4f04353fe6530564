"""Score all units of a sweep, and report the progress of each."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.files import write_whole
from tseval.sweeps.job import Job
from tseval.sweeps.supervision import POLL_SECONDS
from tseval.sweeps.units import ENDED, WorkerTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.formats import Json
    from tseval.sweeps.job import Engine
    from tseval.sweeps.units import Records, SweepUnit, UnitRecord


STATE = "sweep"  # folder of records, next to the runs
LOOK_SECONDS = 0.5  # seconds between two readings of the records


@dataclass(frozen=True, slots=True)
class UnitState:
    """The progress of a unit."""

    unit: SweepUnit
    record: UnitRecord
    was_done: bool = False  # finished before this sweep


@dataclass(frozen=True, slots=True)
class Workforce:
    """The engine and the number of workers."""

    engine: Engine
    workers: int | None = None  # None: the engine chooses
    settings: Mapping[str, Json] | None = None  # the plan's settings for the engine


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep."""

    states: list[UnitState]  # in the order of the units
    complaints: list[str]  # why workers stopped early


# Is called several times a second with the progress of each unit.
Watcher = Callable[[Sequence[UnitState]], None]


def sweep(units: Sequence[SweepUnit], records: Records, force: Workforce, watch: Watcher) -> SweepResult:
    """Score all units that are not finished. The units of a model follow each other.

    A failed unit does not stop the others. Several sweeps may use the same folder: no unit is scored twice.
    """
    try:
        unfinished = records.open_again(units)
        task = _write_task(records, unfinished) if unfinished else None
    except OSError as error:
        location = error.filename or records.folder
        reason = error.strerror or error
        raise RunError(
            f"{location}: tseval cannot write into this folder ({reason}).\n  Name another folder with --out."
        ) from None
    before = {unit.name for unit in units} - {unit.name for unit in unfinished}
    states = {unit.name: UnitState(unit, records.read(unit), unit.name in before) for unit in units}
    looked_at = 0.0

    def look() -> None:
        nonlocal looked_at
        if time.monotonic() - looked_at > LOOK_SECONDS:
            for name, state in states.items():
                if state.record.stage not in ENDED:  # ended units are not read again
                    record = records.read(state.unit)
                    if record.stage == "training":  # the training's log states its progress
                        record = replace(record, said=records.last_line(state.unit))
                    states[name] = replace(state, record=record)
            looked_at = time.monotonic()
        watch(list(states.values()))

    complaints: list[str] = []
    while task is not None:
        settings = force.settings or {}
        job = Job(str(task), len(unfinished), force.workers, settings, records.folder / "engine")
        complaints = force.engine(job, look)
        unfinished = [unit for unit in unfinished if not records.ended(unit)]
        held_units = [unit for unit in unfinished if records.is_held(unit)]
        # A worker stops if no unit is free; later, units of another sweep may be free again.
        if not held_units:
            break
        while any(records.is_held(unit) for unit in held_units):
            look()
            time.sleep(POLL_SECONDS)
    final_states = [replace(state, was_done=state.unit.name in before) for state in states_of(units, records)]
    watch(final_states)
    return SweepResult(final_states, complaints)


def states_of(units: Sequence[SweepUnit], records: Records) -> list[UnitState]:
    """Return the progress of units, without scoring. A unit of a killed worker counts as waiting."""
    states = []
    for unit in units:
        record, done = records.read(unit), records.is_done(unit)
        is_begun = record.stage not in (*ENDED, "waiting")
        if (record.stage == "done" and not done) or (is_begun and not records.is_held(unit)):
            record = replace(record, stage="waiting")
        states.append(UnitState(unit, record, done))
    return states


def _write_task(records: Records, units: Sequence[SweepUnit]) -> Path:
    """Write the task of the workers. Its name is a digest of its content, so two sweeps never share it."""
    task = WorkerTask(
        tuple(units), str(Path.cwd()), str(records.folder.resolve()), str(records.logs.resolve())
    )
    content = json.dumps(asdict(task)).encode()
    path = records.folder.resolve() / f"task-{hashlib.sha256(content).hexdigest()[:16]}"
    write_whole(path, content, shared=True)
    return path
