"""Start a worker, start it again when it is killed, and end it in order."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from threading import Thread
from typing import TYPE_CHECKING

from tseval.errors import shortened
from tseval.processes import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    sets_threads = threads and "OMP_NUM_THREADS" not in os.environ
    environment = python_environment({"OMP_NUM_THREADS": str(threads)} if sets_threads else {})
    command = python_command("tseval.sweeps.worker", task, str(number), str(of))
    for _ in range(RESTARTS):
        # In a session of its own: Ctrl-C reaches us alone, and we end it in order.
        with subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment, start_new_session=True,
        ) as process:  # fmt: skip
            output: list[bytes] = []
            assert process.stderr is not None
            listener = Thread(target=output.extend, args=[process.stderr])
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
            return f"worker {number}: {_last_words(output)}"
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


def _last_words(output: Sequence[bytes]) -> str:
    lines = [line for line in b"".join(output).decode(errors="replace").splitlines() if line.strip()]
    return shortened(lines[-1] if lines else "ended without a message")


def n_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
