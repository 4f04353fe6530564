"""A worker: does units of a sweep until none is left that it could do."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import TsevalError, shortened
from tseval.sweeps.keeping import end_process
from tseval.sweeps.place import SweepPlace, UnitRecord, n_saved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.sweeps.scoring import UnitScorer
    from tseval.sweeps.task import WorkerTask
    from tseval.sweeps.unit import SweepUnit

DEATHS = 3  # workers that a unit may cost without coming forward
LOOKS_AGAIN_SECONDS = 0.3


class Worker:
    """Does units, each of which one worker has at a time.

    Args:
        task: What is to be done.
        number: Which worker this is, from 0.
        of: How many there are.
    """

    def __init__(self, task: WorkerTask, number: int, of: int) -> None:
        self.place, self.number = SweepPlace(Path(task.place), Path(task.logs)), number
        # Each begins elsewhere: so a model's suites stay with one worker, until it helps others out.
        start = number * len(task.units) // of
        self.units = [*task.units[start:], *task.units[:start]]

    def work(self) -> None:
        """Do units until each has ended or is in the hands of another worker.

        Raises:
            OSError: Records cannot be written.
        """
        busy = self._go_through(self.units)
        time.sleep(LOOKS_AGAIN_SECONDS if busy else 0)  # somebody may only have looked whether it was held
        self._go_through(busy)

    def _go_through(self, units: Sequence[SweepUnit]) -> list[SweepUnit]:
        """Do what is free; give what another worker has."""
        busy = []
        for unit in units:
            if self.place.ended(unit):
                continue
            if (held := self.place.claim(unit)) is None:
                busy.append(unit)
                continue
            try:
                if not self.place.ended(unit):
                    self._do(unit, held)
            finally:
                self.place.release(unit, held)
        return busy

    def _do(self, unit: SweepUnit, held: int) -> None:
        """Do a unit, and write down how it ended."""
        before, saved = self.place.read(unit), n_saved(unit)
        deaths = before.deaths if saved == before.parts else 0
        with _speaking_to(self.place.log(unit)):
            print(f"{unit.model} on {unit.suite}: process {os.getpid()} of {platform.node()}", flush=True)
            if deaths >= DEATHS:
                where = f"at {before.done:,} of {before.of:,} sentences" if before.of else "before it scored"
                self._fail(unit, f"its worker was killed {deaths} times {where}: too little memory, perhaps")
                return
            begun = UnitRecord("scoring", deaths=deaths + 1, parts=saved)
            try:
                if unit.train:
                    self.place.write(unit, replace(begun, stage="training"))
                    _train(unit, held)
                self._scorer.score(unit, self.place.write(unit, begun))
            except TsevalError as error:
                self._fail(unit, str(error))
            except subprocess.CalledProcessError as error:
                ended = f"ended by {signal.Signals(-error.returncode).name}" if error.returncode < 0 else ""
                self._fail(unit, ended or self.place.complaint(unit))
            except SystemExit as error:
                self._fail(unit, f"it quits, with exit code {error.code}")
            except Exception as error:
                traceback.print_exc()
                self._fail(unit, self._scorer.explain(error))

    @cached_property
    def _scorer(self) -> UnitScorer:
        from tseval.sweeps.scoring import UnitScorer  # noqa: PLC0415 - brings torch, which a training has itself

        return UnitScorer(self.place, self.number)

    def _fail(self, unit: SweepUnit, why: str) -> None:
        print(f"tseval: {shortened(why)}", file=sys.stderr, flush=True)
        self.place.write(unit, replace(self.place.read(unit), stage="failed", said=shortened(why)))


def _train(unit: SweepUnit, held: int) -> None:
    """Make the model of a unit; where we are told to stop, so is the training, which saves what it has.

    The command inherits the unit's lock: should we be killed, nobody begins the unit while it goes on.

    Raises:
        CalledProcessError: It failed, and has said why.
    """
    command = [sys.executable, "-m", "tseval", *unit.train]
    with subprocess.Popen(  # noqa: S603 - our own command, no shell
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        pass_fds=[held] if os.name == "posix" else [],
    ) as process:  # fmt: skip
        try:
            code = process.wait()
        finally:
            end_process(process)
    if code:
        raise subprocess.CalledProcessError(code, command)


@contextmanager
def _speaking_to(log: Path) -> Iterator[None]:
    """Let all that this process says, libraries included, go to a log."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = [os.dup(number) for number in (1, 2)]
    with log.open("ab") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        for number, old in zip((1, 2), before, strict=True):
            os.dup2(old, number)
            os.close(old)
