"""What is known of the units of a sweep: a record, a log and a lock for each, in one folder."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tseval.errors import LimitError
from tseval.files import remove_lock, take_lock, write_whole
from tseval.formats import ContentError, checked, read_json
from tseval.runs.directory import PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.sweeps.unit import SweepUnit

Stage = Literal["waiting", "training", "scoring", "done", "failed"]
ENDED: tuple[Stage, ...] = ("done", "failed")
TAIL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """What is known of a unit.

    Attributes:
        stage: What is being done, or was when its worker was killed.
        stamp: That of the unit which is done.
        done: Sentences scored and saved.
        of: Sentences to score; 0 until that is known.
        deaths: Workers that were killed at it since it last came forward.
        parts: Parts of the run that were saved when a worker took it last.
        said: Of a unit that failed, why; of one that is done, nothing.
    """

    stage: Stage = "waiting"
    stamp: str = ""
    done: int = 0
    of: int = 0
    deaths: int = 0
    parts: int = 0
    said: str = ""


class SweepPlace:
    """The folder of a sweep's records.

    Only who holds the lock of a unit writes its record, so that any number of workers go by what they read.

    Args:
        folder: For records and locks.
        logs: For logs, where that is another folder.
    """

    def __init__(self, folder: Path, logs: Path | None = None) -> None:
        self.folder, self.logs = folder, logs or folder

    def log(self, unit: SweepUnit) -> Path:
        """Name the file of what was said about a unit."""
        return self.logs / f"{unit.name}.log"

    def read(self, unit: SweepUnit) -> UnitRecord:
        """Give what is known of a unit; what cannot be read says nothing."""
        try:
            return checked(read_json(self._record(unit)), UnitRecord)
        except (OSError, ContentError, LimitError):
            return UnitRecord()

    def write(self, unit: SweepUnit, record: UnitRecord) -> UnitRecord:
        """Write down what is known of a unit whose lock is held.

        Raises:
            OSError: The disk is full, or the like.
        """
        write_whole(self._record(unit), json.dumps(asdict(record)).encode())
        return record

    def is_done(self, unit: SweepUnit) -> bool:
        """Tell whether the run of this very unit is there."""
        record = self.read(unit)
        return record.stage == "done" and _run_exists(unit) and record.stamp == unit.stamp()

    def ended(self, unit: SweepUnit) -> bool:
        """Tell whether a worker that was given a unit need not begin it."""
        stage = self.read(unit).stage
        return stage == "failed" or (stage == "done" and _run_exists(unit))

    def claim(self, unit: SweepUnit) -> int | None:
        """Lock a unit for this process, and those that inherit the open file; None where another has it."""
        return take_lock(self._lock(unit))

    def release(self, unit: SweepUnit, held: int) -> None:
        """Let go of a unit."""
        remove_lock(self._lock(unit), held)

    def is_held(self, unit: SweepUnit) -> bool:
        """Tell whether a process works on a unit."""
        with suppress(OSError):
            if not self._lock(unit).exists():
                return False
            if (held := self.claim(unit)) is None:
                return True
            self.release(unit, held)
        return False

    def open_again(self, units: Sequence[SweepUnit]) -> list[SweepUnit]:
        """Give the units that are not done; failures and deaths of an earlier sweep are forgotten.

        Those that another sweep works on are left to it, and given too.

        Raises:
            OSError: The folder cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        left = [unit for unit in units if not self.is_done(unit)]
        for unit in left:
            if self.read(unit) == UnitRecord() or (held := self.claim(unit)) is None:
                continue
            if not self.is_done(unit):
                self.write(unit, UnitRecord())
            self.release(unit, held)
        return left

    def last_line(self, unit: SweepUnit) -> str:
        """Give the last line of a unit's log that says something."""
        return (self._tail(unit) or [""])[-1].strip()

    def complaint(self, unit: SweepUnit) -> str:
        """Give the last error in a log: from the last line in which tseval speaks up, or the last line."""
        lines = self._tail(unit)
        starts = [i for i, line in enumerate(lines) if line.startswith("tseval: ")]
        return "\n".join(lines[starts[-1] :]).removeprefix("tseval: ") if starts else self.last_line(unit)

    def _tail(self, unit: SweepUnit) -> list[str]:
        with suppress(OSError), self.log(unit).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
            return [line for line in lines if line.strip()]
        return []

    def _record(self, unit: SweepUnit) -> Path:
        return self.folder / f"unit-{unit.name}.json"

    def _lock(self, unit: SweepUnit) -> Path:
        return self.folder / f"unit-{unit.name}.lock"


def _run_exists(unit: SweepUnit) -> bool:
    return (Path(unit.run) / "manifest.json").exists()


def n_saved(unit: SweepUnit) -> int:
    """Count the parts of a unit's run that are saved."""
    return len(list((Path(unit.run) / PARTS).glob("*.parquet")))
