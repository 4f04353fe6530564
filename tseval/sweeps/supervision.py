"""Start a worker, restart it if it is killed, and stop it in an orderly way."""

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
GRACE_SECONDS = 20  # seconds in which a stopped training saves its state
WORKER_GRACE_SECONDS = 25  # seconds for a worker, which may have to stop a training
RESTARTS = 100  # restarts of a worker; a unit fails after far fewer
GAVE_UP = 3  # exit code of a worker that cannot continue and has printed the reason


def supervise(
    task: str, number: int, of: int, threads: int | None = None, stopped: Callable[[], bool] = lambda: False
) -> str | None:
    """Run worker `number` of `of` until no unit is left, and start it again if it is killed.

    All engines call this function on the machine of the worker. The worker ends with this process, because
    it reads from a pipe that this process holds. It uses `threads` threads, unless OMP_NUM_THREADS is set.
    Returns why the worker stopped early, or None if no unit was left.
    """
    sets_threads = threads and "OMP_NUM_THREADS" not in os.environ
    environment = python_environment({"OMP_NUM_THREADS": str(threads)} if sets_threads else {})
    command = python_command("tseval.sweeps.worker", task, str(number), str(of))
    for _ in range(RESTARTS):
        # In a new session, so that Ctrl-C reaches only this process, which then stops the worker.
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
    """Stop a process with SIGTERM, and kill it if it still runs after `grace` seconds.

    SIGINT would not do: programs that a script starts in the background ignore it. (On Windows, the process
    ends at once, and its saved files stay.)
    """
    if process.poll() is None:
        process.terminate()
        if not wait_for(process, grace):
            process.kill()
            process.wait()


def end_in_order() -> None:
    """Make SIGTERM end this process as Ctrl-C does, and end it if its parent process is gone.

    Standard input is a pipe that the parent holds, so its end shows that the parent is gone.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    os.read(0, 1)  # not `sys.stdin`: its lock would be held when Python exits
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(WORKER_GRACE_SECONDS)
    os._exit(130)


def wait_for(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait at most `seconds` for the end of a process, and return whether it ended."""
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
