"""Workers as processes of this machine."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING

from tseval.sweeps.keeping import POLL_SECONDS, keep_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.sweeps.engines import Job


def run_local(job: Job, watch: Callable[[], None]) -> list[str]:
    """Keep workers at work, a thread for each; they are stopped in order when we are."""
    workers = min(job.workers or _default_workers(), job.n_units)
    threads = max(1, n_cores() // workers)
    stopped = Event()
    with ThreadPoolExecutor(workers) as pool:
        try:
            kept = [
                pool.submit(keep_worker, job.task, number, workers, threads, stopped.is_set)
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
    """Give one worker to each GPU, or to each core of a machine without any."""
    import torch  # noqa: PLC0415 - slow to import, and not needed where the user says how many

    from tseval.scoring.numerics import accelerator  # noqa: PLC0415 - brings torch along

    return torch.accelerator.device_count() if accelerator() is not None else n_cores()
