"""Engines start workers, here or elsewhere, keep them at work, and wait for them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING

from tseval.errors import RunError, shortened
from tseval.processes import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json

    # Lets workers do a job, calls the other several times a second, and says why workers could not go on.
    Engine = Callable[["Job", Callable[[], None]], list[str]]


POLL_SECONDS = 0.2
GRACE_SECONDS = 20  # for a training that was told to stop, to save what it has
WORKER_GRACE_SECONDS = 25  # for a worker, which may have such a training to end
RESTARTS = 100  # of a worker; units give up long before
GAVE_UP = 3  # exit code of a worker that cannot go on, and has said why


def supervise(
    task: str, number: int, of: int, threads: int | None = None, stopped: Callable[[], bool] = lambda: False
) -> str | None:
    """Run a worker, one `of` so many, until nothing is left that it could do; again whenever it is killed.

    All engines do this, each in its own way of having it done somewhere. The worker ends when we do, however
    we end: it reads from a pipe that we hold. It computes with so many `threads`, unless OMP_NUM_THREADS says
    how many. Gives why it could not go on; None where it found nothing more to do.
    """
    own = threads and "OMP_NUM_THREADS" not in os.environ
    environment = python_environment({"OMP_NUM_THREADS": str(threads)} if own else {})
    command = python_command("tseval.sweeps.worker", task, str(number), str(of))
    for _ in range(RESTARTS):
        # In a session of its own: Ctrl-C reaches us alone, and we end it in order.
        with subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment, start_new_session=True,
        ) as process:  # fmt: skip
            said: list[bytes] = []
            assert process.stderr is not None
            listener = Thread(target=said.extend, args=[process.stderr])
            listener.start()
            try:
                while not stopped() and not wait_for(process, POLL_SECONDS):
                    pass
            finally:
                end_process(process, WORKER_GRACE_SECONDS)
            listener.join()
        if stopped() or process.returncode == 0:
            return None
        if process.returncode == GAVE_UP:
            return f"worker {number}: {_last_words(said)}"
    return f"worker {number} was killed {RESTARTS:,} times"


def end_process(process: subprocess.Popen[bytes], grace: float = GRACE_SECONDS) -> None:
    """Tell a process to stop, and end it for good if it has not some seconds later; nothing if it had ended.

    By SIGTERM, not by what Ctrl-C sends: programs that a script starts in the background ignore that. (On
    Windows this ends it at once; what was saved so far stays.)
    """
    if process.poll() is None:
        process.terminate()
        if not wait_for(process, grace):
            process.kill()
            process.wait()


def end_in_order() -> None:
    """Have SIGTERM end this process as Ctrl-C would, and send it when the process that started us has gone.

    Standard input is a pipe that the other holds. Nothing else would end what nobody waits for.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    os.read(0, 1)  # not through `sys.stdin`, whose lock would be held when Python quits
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(WORKER_GRACE_SECONDS)
    os._exit(130)


def wait_for(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process, no longer than some seconds, and tell whether it came."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _last_words(said: Sequence[bytes]) -> str:
    lines = [line for line in b"".join(said).decode(errors="replace").splitlines() if line.strip()]
    return shortened(lines[-1] if lines else "ended without a message")


def run_local(job: Job, watch: Callable[[], None]) -> list[str]:
    """Keep workers at work, a thread for each; they are stopped in order when we are."""
    workers = min(job.workers or _default_workers(), job.n_units)
    threads = max(1, n_cores() // workers)
    stopped = Event()
    with ThreadPoolExecutor(workers) as pool:
        try:
            kept = [
                pool.submit(supervise, job.task, number, workers, threads, stopped.is_set)
                for number in range(workers)
            ]
            while wait(kept, POLL_SECONDS).not_done:
                watch()
        except BaseException:
            stopped.set()
            raise
    return [said for one in kept if (said := one.result())]


def n_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _default_workers() -> int:
    """Return one worker for each GPU, or to each core of a machine without any."""
    import torch  # noqa: PLC0415 - slow to import, and not needed where the user says how many

    from tseval.scoring.devices import accelerator  # noqa: PLC0415 - brings torch along

    return torch.accelerator.device_count() if accelerator() is not None else n_cores()


def run_ray(job: Job, watch: Callable[[], None]) -> list[str]:
    """Start the driver and wait for its end."""
    job.folder.mkdir(parents=True, exist_ok=True)
    log = job.folder / "ray.log"
    given = json.dumps([os.path.abspath(job.task), job.workers, job.n_units, job.settings])
    command = python_command("tseval.sweeps.ray_driver", given)
    # In an empty folder: Ray puts the current one on the path of modules of all its workers.
    with tempfile.TemporaryFile() as said, log.open("ab") as errors, tempfile.TemporaryDirectory() as empty:
        with subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, stdin=subprocess.PIPE, stdout=said, stderr=errors, start_new_session=True, cwd=empty,
            env=python_environment(),
        ) as process:  # fmt: skip
            try:
                while not wait_for(process, POLL_SECONDS):
                    watch()
            finally:
                end_process(process, WORKER_GRACE_SECONDS)
        said.seek(0)
        lines = said.read().decode().splitlines()
    if process.returncode == 0 and lines:
        return list(json.loads(lines[-1]))
    address = os.environ.get("RAY_ADDRESS")
    where = f"the Ray cluster at {address}" if address else "Ray on this machine"
    return [f"{where} cannot be reached.\n  Log: {log}."]


# Name of each engine to the package that it needs; the extra has the engine's name.
ENGINES: dict[str, str | None] = {"local": None, "slurm": "submitit", "ray": "ray"}


@dataclass(frozen=True, slots=True)
class Job:
    """What an engine is to start workers for."""

    task: str  # file that workers are given, on a disk that all of them see
    n_units: int  # to do; more workers than that are of no use
    workers: int | None  # None for what suits
    settings: Mapping[str, Json]  # what the plan says to the engine
    folder: Path  # for files of the engine's own


def find_engine(name: str) -> Engine:
    """Return an engine by its name."""
    package = ENGINES[name]
    if package and find_spec(package) is None:
        raise RunError(
            f"--engine {name} needs the Python package {package}, which is not installed.\n"
            f'  To install it: pip install "tseval[{name}]"'
        )
    if name == "slurm":
        from tseval.sweeps.slurm import run_slurm  # noqa: PLC0415 - imports what is an extra

        return run_slurm
    return {"local": run_local, "ray": run_ray}[name]
