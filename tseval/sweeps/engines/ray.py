"""Workers as tasks of a Ray cluster: one that is there already, or one on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import ray

from tseval.errors import RunError, first_line
from tseval.sweeps.keeping import POLL_SECONDS, keep_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.sweeps.engines import Job

RETRIES = 100  # of a task whose node or process was lost
STORE_BYTES = 80 * 2**20  # the least that Ray takes: results come through the shared disk


def run(job: Job, watch: Callable[[], None]) -> list[str]:
    """Keep workers at work in tasks, which Ray starts again elsewhere where a node is lost.

    Raises:
        RunError: The cluster cannot be reached, or goes away.
    """
    address = os.environ.get("RAY_ADDRESS")
    here = {} if address else {"include_dashboard": False, "object_store_memory": STORE_BYTES}
    try:
        ray.init(address, configure_logging=False, log_to_driver=False, **here)
        resources = ray.cluster_resources()
        options = {"num_cpus": 1, "num_gpus": int("GPU" in resources), **job.settings}
        workers = min(job.workers or _default_workers(resources), job.n_units)
        task = ray.remote(keep_worker).options(max_retries=RETRIES, **options)
        kept = [task.remote(job.task, number, workers) for number in range(workers)]
        left = kept
        while left:
            _, left = ray.wait(left, num_returns=len(left), timeout=POLL_SECONDS)
            watch()
        return [said for one in kept if (said := ray.get(one))]
    except Exception as error:  # Ray has many, and those of gRPC besides
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise RunError(f"{where}: {type(error).__name__}: {first_line(error)}") from None
    finally:
        ray.shutdown()


def _default_workers(resources: dict[str, float]) -> int:
    return max(1, int(resources.get("GPU", resources.get("CPU", 1))))
