"""A worker scores units, one after another, each into its run directory. This module imports torch.

Its program is `python -m tseval.sweeps.worker TASK NUMBER OF`, started by `tseval.sweeps.engines`.
"""

from __future__ import annotations

import gc
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

import torch

from tseval.adapters import open_model
from tseval.errors import TsevalError, first_line, reason, shortened
from tseval.evaluation import evaluate, refuse_other_clusters, refuse_too_long
from tseval.formats import ContentError, checked, read_json
from tseval.processes import python_command, python_environment
from tseval.report import Table
from tseval.runs.opened import how_opened
from tseval.scoring.devices import accelerator, empty_caches, out_of_memory
from tseval.suites import load_suite
from tseval.suites.context import in_context
from tseval.suites.data.critical import cluster_data, with_critical
from tseval.suites.scores import chosen_score
from tseval.sweeps.supervision import GAVE_UP, end_in_order, end_process
from tseval.sweeps.units import Records, UnitRecord, WorkerTask, n_saved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.items import Suite
    from tseval.runs import Run
    from tseval.scoring.protocol import Model
    from tseval.sweeps.units import SweepUnit


DEATHS = 3  # workers that may be killed by a unit without progress
LOOKS_AGAIN_SECONDS = 0.3


class Worker:
    """Worker `number` (from 0) of `of`. Only one worker at a time has a unit."""

    def __init__(self, task: WorkerTask, number: int, of: int) -> None:
        self.place, self.number = Records(Path(task.place), Path(task.logs)), number
        # Each worker begins at another unit, so all suites of a model are scored by one worker at first.
        start = number * len(task.units) // of
        self.units = [*task.units[start:], *task.units[:start]]

    def work(self) -> None:
        """Score units until each has ended or is locked by another worker."""
        busy = self._go_through(self.units)
        time.sleep(LOOKS_AGAIN_SECONDS if busy else 0)  # perhaps a process only tested the lock
        self._go_through(busy)

    def _go_through(self, units: Sequence[SweepUnit]) -> list[SweepUnit]:
        busy = []
        for unit in units:
            if self.place.ended(unit):
                continue
            if (lock := self.place.claim(unit)) is None:
                busy.append(unit)
                continue
            try:
                if not self.place.ended(unit):
                    self._do(unit, lock)
            finally:
                self.place.release(unit, lock)
        return busy

    def _do(self, unit: SweepUnit, held: int) -> None:
        before, saved = self.place.read(unit), n_saved(unit)
        deaths = before.deaths if saved == before.parts else 0
        with _speaking_to(self.place.log(unit)):
            print(f"{unit.model} on {unit.suite}: process {os.getpid()} of {platform.node()}", flush=True)
            if deaths >= DEATHS:
                where = f"at {before.done:,} of {before.of:,} sentences" if before.of else "before it scored"
                self._fail(
                    unit,
                    f"the scoring process was killed {deaths} times {where}, perhaps because the "
                    "machine has too little memory",
                )
                return
            record = UnitRecord("scoring", deaths=deaths + 1, parts=saved)
            try:
                if unit.train:
                    self.place.write(unit, replace(record, stage="training"))
                    _train(unit, held)
                self._scorer.score(unit, self.place.write(unit, record))
            except TsevalError as error:
                if error.__cause__ is not None:  # an error in a model's code: its author needs the traceback
                    traceback.print_exception(error.__cause__)
                self._fail(unit, str(error))
            except subprocess.CalledProcessError as error:
                message = f"ended by {signal.Signals(-error.returncode).name}" if error.returncode < 0 else ""
                self._fail(unit, message or self.place.complaint(unit))
            except SystemExit as error:
                self._fail(unit, f"the scoring process stopped with exit code {error.code}")
            except Exception as error:
                traceback.print_exc()
                self._fail(unit, self._scorer.explain(error))

    @cached_property
    def _scorer(self) -> UnitScorer:
        return UnitScorer(self.place, self.number)

    def _fail(self, unit: SweepUnit, why: str) -> None:
        print(f"tseval: {shortened(why)}", file=sys.stderr, flush=True)
        self.place.write(unit, replace(self.place.read(unit), stage="failed", said=shortened(why)))


def _train(unit: SweepUnit, held: int) -> None:
    """Train the model of a unit. If this process is stopped, the training saves its state and stops.

    The command inherits the unit's lock: if this process is killed, no other worker begins the unit while
    the training runs.
    """
    command = python_command("tseval", *unit.train)
    with subprocess.Popen(  # noqa: S603 - our own command, no shell
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        pass_fds=[held] if os.name == "posix" else [], env=python_environment(),
    ) as process:  # fmt: skip
        try:
            code = process.wait()
        finally:
            end_process(process)
    if code:
        raise subprocess.CalledProcessError(code, command)


@contextmanager
def _speaking_to(log: Path) -> Iterator[None]:
    """Write all output of this process into a log, including the output of libraries."""
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


SAYS_SECONDS = 1.0  # seconds between records of a unit's progress
KEPT_ITEMS = 500_000  # items of suites that stay in memory for the next model, about 130 MB


class UnitScorer:
    """Scores units one after another, and keeps the last model and some suites in memory."""

    def __init__(self, place: Records, number: int) -> None:
        self.place, self.number = place, number
        self._opened: tuple[tuple[object, ...], Model] | None = None
        self._suites: dict[tuple[object, ...], Suite] = {}

    def score(self, unit: SweepUnit, begun: UnitRecord) -> None:
        """Score a unit whose lock is held. Record its progress from time to time, and its end."""
        options, stamp, record, written = unit.options, unit.stamp(), begun, 0.0

        def progress(done: int, of: int) -> None:
            nonlocal record, written
            record = replace(record, done=done, of=of)
            if time.monotonic() - written > SAYS_SECONDS:
                self.place.write(unit, record)
                written = time.monotonic()

        suite, model = self._suite(unit), self._open(unit)
        if options.too_long == "refuse":
            refuse_too_long(model, suite)
        unigrams = None if options.unigrams is None else Path(options.unigrams)
        run = evaluate(
            model,
            suite,
            score=chosen_score(options.score, options.normalise, unigrams, [suite]),
            text=options.text,
            unknown=options.unknown,
            out=unit.run,
            resume=True,
            progress=progress,
            opened=how_opened(unit.model, unit.arguments),
        )
        refuse_other_clusters(run, Path(unit.run), suite)
        counts = run.manifest.counts
        print(f"{counts.sentences:,} sentences, {counts.resumed_sentences:,} of them saved earlier")
        print(run.manifest.signature)
        done = UnitRecord(
            "done",
            stamp,
            counts.sentences,
            counts.sentences,
            seconds=run.manifest.timings.scoring_seconds,
            scored=counts.sentences - counts.resumed_sentences,
            accuracy=_mean_accuracy(run),
            coverage=1 - counts.undecidable / counts.contrasts if counts.contrasts else None,
        )
        self.place.write(unit, done)

    def explain(self, error: Exception) -> str:
        """Describe an unexpected error in one line, and free the model and the suites."""
        self._opened = None
        self._suites.clear()
        if out_of_memory(error):
            empty_caches()
            return "the memory is not enough for this model"
        return f"{type(error).__name__}: {first_line(error)}"

    def _suite(self, unit: SweepUnit) -> Suite:
        """Load the suite of a unit, or take it from memory, and add its contexts."""
        plain_unit = replace(
            unit,
            options=replace(unit.options, context=None, context_words=None, context_seed=0, contexts=1),
        )
        suite = self._without_context(plain_unit)
        for request in unit.options.context_requests():  # at most one entry for each unit
            complete_suite = suite
            if request.needs_whole_suite and (suite.clusters or not suite.complete):
                options = replace(plain_unit.options, case=(), limit=None, sample=None, cluster=())
                complete_suite = with_critical(self._without_context(replace(plain_unit, options=options)))
            suite = in_context(with_critical(suite), request, complete_suite, tokenise=unit.options.tokenise)
        return suite

    def _without_context(self, unit: SweepUnit) -> Suite:
        options = unit.options
        columns = tuple((options.columns or {}).items())
        suite_options = replace(options, score=None, unknown="undecidable", device="", columns=None), columns
        cache_key = unit.suite, suite_options, unit.suite_files()
        suite = self._suites.pop(cache_key, None)
        if suite is None:
            suite = load_suite(
                unit.suite, cases=options.case, limit=options.limit, tokenise=options.tokenise,
                columns=options.columns, sample=options.sample, seed=options.seed, exclude=options.exclude,
                lexicon=options.lexicon,
            )  # fmt: skip
            suite = cluster_data(suite, options.cluster)
        self._suites[cache_key] = suite  # at the end, so that the least recently used suite comes first
        while len(self._suites) > 1 and sum(loaded.n_items for loaded in self._suites.values()) > KEPT_ITEMS:
            del self._suites[next(iter(self._suites))]
        return suite

    def _open(self, unit: SweepUnit) -> Model:
        model_key = unit.model, unit.model_files(), sorted(unit.arguments.items()), unit.options.device
        if self._opened is None or self._opened[0] != model_key:
            self._opened = None  # before the next model, so that two are never in memory
            device = _own_device(unit.options.device, self.number)
            self._opened = model_key, open_model(unit.model, unit.arguments, device)
        return self._opened[1]


def _mean_accuracy(run: Run) -> float | None:
    """Return the mean accuracy over the rows of a run."""
    mean = run.document.means[-1].accuracy[0] if isinstance(run.document, Table) else None
    return None if mean is None else float(mean)


def _own_device(device: str, number: int) -> str:
    """Assign each worker its own GPU, if the machine (or the scheduler's part of it) has several."""
    gpu = accelerator() if device in ("auto", "cuda") else None
    n_devices = torch.accelerator.device_count() if gpu else 1
    return device if gpu is None or n_devices == 1 else f"{gpu.type}:{number % n_devices}"


def run_worker(task: str, number: str, of: str) -> int:
    """Run the worker, and return the exit code: 0 if no unit is left."""
    end_in_order()
    try:
        work = checked(read_json(Path(task)), WorkerTask)
        os.chdir(work.cwd)
        Worker(work, int(number), int(of)).work()
    except KeyboardInterrupt:
        return 130
    except (OSError, TsevalError, ContentError) as error:
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        print(f"{where}{reason(error)}", file=sys.stderr)
        return GAVE_UP
    except Exception:
        traceback.print_exc()
        return GAVE_UP
    return 0


if __name__ == "__main__":
    _code = run_worker(*sys.argv[1:])
    gc.freeze()  # so that Python, at its exit, does not search all loaded objects for garbage
    sys.exit(_code)
