"""Do all units of a sweep, and say how far each is."""

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


STATE = "sweep"  # folder of records, beside the runs
LOOK_SECONDS = 0.5  # between looks at the records


@dataclass(frozen=True, slots=True)
class UnitState:
    """How far a unit is."""

    unit: SweepUnit
    record: UnitRecord
    was_done: bool = False  # before this sweep


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


# Hears several times a second how far each unit is.
Watcher = Callable[[Sequence[UnitState]], None]


def sweep(units: Sequence[SweepUnit], records: Records, force: Workforce, watch: Watcher) -> SweepResult:
    """Do all units that are not done, given model by model; one that fails stops no other.

    Other sweeps may work in the same place: no unit is done twice.
    """
    try:
        left = records.open_again(units)
        task = _write_task(records, left) if left else None
    except OSError as error:
        where = error.filename or records.folder
        why = error.strerror or error
        raise RunError(
            f"{where}: tseval cannot write into this folder ({why}).\n  Name another folder with --out."
        ) from None
    before = {unit.name for unit in units} - {unit.name for unit in left}
    known = {unit.name: UnitState(unit, records.read(unit), unit.name in before) for unit in units}
    looked_at = 0.0

    def look() -> None:
        nonlocal looked_at
        if time.monotonic() - looked_at > LOOK_SECONDS:
            for name, state in known.items():
                if state.record.stage not in ENDED:  # what has ended is not looked at again
                    record = records.read(state.unit)
                    if record.stage == "training":  # which says itself how far it is
                        record = replace(record, said=records.last_line(state.unit))
                    known[name] = replace(state, record=record)
            looked_at = time.monotonic()
        watch(list(known.values()))

    complaints: list[str] = []
    while task is not None:
        settings = force.settings or {}
        job = Job(str(task), len(left), force.workers, settings, records.folder / "engine")
        complaints = force.engine(job, look)
        left = [unit for unit in left if not records.ended(unit)]
        held = [unit for unit in left if records.is_held(unit)]
        if not held:  # each worker stops where nothing is free; what another sweep held may be free again
            break
        while any(records.is_held(unit) for unit in held):
            look()
            time.sleep(POLL_SECONDS)
    ended = [replace(state, was_done=state.unit.name in before) for state in states_of(units, records)]
    watch(ended)
    return SweepResult(ended, complaints)


def states_of(units: Sequence[SweepUnit], records: Records) -> list[UnitState]:
    """Return how far units are, without doing anything; what a killed worker left waits again."""
    states = []
    for unit in units:
        record, done = records.read(unit), records.is_done(unit)
        begun = record.stage not in (*ENDED, "waiting")
        if (record.stage == "done" and not done) or (begun and not records.is_held(unit)):
            record = replace(record, stage="waiting")
        states.append(UnitState(unit, record, done))
    return states


def _write_task(records: Records, units: Sequence[SweepUnit]) -> Path:
    """Write what workers are to do; its name is that of its content, so that two sweeps never share one."""
    task = WorkerTask(
        tuple(units), str(Path.cwd()), str(records.folder.resolve()), str(records.logs.resolve())
    )
    content = json.dumps(asdict(task)).encode()
    path = records.folder.resolve() / f"task-{hashlib.sha256(content).hexdigest()[:16]}"
    write_whole(path, content, shared=True)
    return path
