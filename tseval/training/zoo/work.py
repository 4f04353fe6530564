"""Make the models of a zoo: a few commands at a time, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from tseval.errors import TrainingError
from tseval.files import take_lock
from tseval.training.zoo.plan import ZOO_LOCK, read_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.training.zoo.plan import Corpus, Stage, ZooModel

POLL_SECONDS = 0.2
GRACE_SECONDS = 20  # for a command that was told to stop, to save what it has
TAIL_BYTES = 4096


@dataclass(slots=True)
class Progress:
    """How far a model is.

    Attributes:
        entry: The model.
        stage: What is being done.
        said: The last line it said; of a model that failed, the error.
        process: The command at work.
        ahead: Stages to come, with their commands.
    """

    entry: ZooModel
    stage: Stage | Literal["waiting", "done", "failed"] = "waiting"
    said: str = ""
    process: subprocess.Popen[bytes] | None = None
    ahead: list[tuple[Stage, list[str]]] = field(default_factory=list)


class Watcher(Protocol):
    """Hears how the work goes, several times a second."""

    def __call__(self, models: Sequence[Progress]) -> None:
        """Hear how far each model is."""


@contextmanager
def alone(zoo: Path) -> Iterator[int]:
    """Hold a zoo's folder: no two commands work in it at once.

    The lock is handed down to the commands that are started, so it is also held by one that outlives us.

    Raises:
        TrainingError: Another process works there, or the folder is no zoo.
    """
    read_record(zoo)
    zoo.mkdir(parents=True, exist_ok=True)
    held = take_lock(zoo / ZOO_LOCK)
    if held is None:
        raise TrainingError(
            f"{zoo} is being worked on by another tseval, or by a model that it left in training.\n"
            "  Wait for it to end, end it, or choose another --out."
        )
    try:
        yield held
    finally:
        os.close(held)


def make(entries: Sequence[ZooModel], corpus: Corpus, jobs: int, lock: int, watch: Watcher) -> list[Progress]:
    """Train and score models, `jobs` at a time; one that fails does not stop the others.

    Args:
        entries: The models; those that are finished are left alone.
        corpus: What to train on.
        jobs: Commands at a time; each gets its share of the cores, unless OMP_NUM_THREADS says how many.
        lock: File descriptor of the folder's lock.
        watch: Hears of the progress.

    Returns:
        Every model, `done` or `failed`.
    """
    models = [Progress(entry) for entry in entries]
    for model in models:
        _finish(model)
    threads = max(1, (os.cpu_count() or 1) // jobs)
    environment = {"OMP_NUM_THREADS": str(threads)} | os.environ
    try:
        while unfinished := [model for model in models if model.stage not in ("done", "failed")]:
            for model in unfinished:
                if model.stage == "waiting" and sum(m.process is not None for m in models) < jobs:
                    model.ahead = model.entry.stages(corpus)
                    _begin_stage(model, environment, lock)
                _look_after(model, environment, lock)
            watch(models)
            time.sleep(POLL_SECONDS)
    finally:
        _stop([model.process for model in models if model.process is not None])
    watch(models)
    return models


def _begin_stage(model: Progress, environment: dict[str, str], lock: int) -> None:
    """Start the next command of a model; what it says goes to the model's log."""
    model.stage, command = model.ahead.pop(0)
    with model.entry.log.open("ab") as log:
        # In a session of its own: Ctrl-C reaches us alone, and we end the commands in order.
        model.process = subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
            env=environment, pass_fds=[lock] if os.name == "posix" else [], start_new_session=True,
        )  # fmt: skip


def _look_after(model: Progress, environment: dict[str, str], lock: int) -> None:
    """Hear what a model's command says; when it has ended, go on with the next, or give the model up."""
    if model.process is None:
        return
    code = model.process.poll()
    model.said = last_line(model.entry.log)
    if code is None:
        return
    model.process = None
    if code:
        model.stage = "failed"
        model.said = complaint(model.entry.log) if code > 0 else f"ended by {signal.Signals(-code).name}"
    elif model.ahead:
        _begin_stage(model, environment, lock)
    else:
        _finish(model)
        assert model.stage == "done", "a command that scores leaves a run"


def _finish(model: Progress) -> None:
    """Mark a model as done if its run is there."""
    if run := model.entry.finished():
        model.stage = "done"
        model.said = f"validation perplexity {run.manifest.model.details['validation_perplexity']:.2f}"


def last_line(log: Path) -> str:
    """Give the last line of a log that says something."""
    return (_tail(log) or [""])[-1].strip()


def complaint(log: Path) -> str:
    """Give the last error in a log: from the last line in which tseval speaks up, or the last line alone."""
    lines = _tail(log)
    starts = [i for i, line in enumerate(lines) if line.startswith("tseval: ")]
    return "\n".join(lines[starts[-1] :]).removeprefix("tseval: ") if starts else last_line(log)


def _tail(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    return [line for line in lines if line.strip()]


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End commands as Ctrl-C would, and for good if they do not listen."""
    for process in processes:
        if os.name == "posix":
            process.send_signal(signal.SIGINT)
        else:
            process.terminate()  # Windows sends no Ctrl-C to one process; what was saved so far stays
    deadline = time.monotonic() + GRACE_SECONDS
    for process in processes:
        try:
            process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
