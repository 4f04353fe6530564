"""Workers on this machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING

from tseval.sweeps.supervision import POLL_SECONDS, n_cores, supervise

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.sweeps.job import Job


def run_local(job: Job, watch: Callable[[], None]) -> list[str]:
    """Run workers, each supervised by a thread. If this process is stopped, it stops the workers."""
    workers = min(job.workers or _default_workers(), job.n_units)
    threads = max(1, n_cores() // workers)
    stopped = Event()
    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = [
                pool.submit(supervise, job.task, number, workers, threads, stopped.is_set)
                for number in range(workers)
            ]
            while wait(futures, POLL_SECONDS).not_done:
                watch()
        except BaseException:
            stopped.set()
            raise
    return [complaint for future in futures if (complaint := future.result())]


def _default_workers() -> int:
    """Return the default number of workers: the number of GPUs or, without a GPU, of cores."""
    import torch  # noqa: PLC0415 - slow to import, and not needed where the user says how many

    from tseval.scoring.devices import accelerator  # noqa: PLC0415 - brings torch along

    return torch.accelerator.device_count() if accelerator() is not None else n_cores()
