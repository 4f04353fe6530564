"""Workers as tasks of one array job, through submitit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import submitit
from submitit.helpers import Checkpointable

from tseval.errors import RunError, first_line
from tseval.processes import careful_children
from tseval.sweeps.supervision import n_cores, supervise

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.sweeps.job import Job


POLL = 1.0  # seconds; submitit reads the queue once a minute
DEFAULT_WORKERS = 8
CLUSTER = "cluster"  # the only setting that is not submitit's; `local` tries a plan on this machine


class QueuedWorker(Checkpointable):
    """A task of the array job. After its time limit or a preemption, it is queued again and continues."""

    def __init__(self, threads: int | None) -> None:  # None: SLURM decides
        self.threads = threads

    def __call__(self, task: str, number: int, of: int) -> str | None:
        """Run a worker."""
        return supervise(task, number, of, self.threads)


def run_slurm(job: Job, watch: Callable[[], None]) -> list[str]:
    """Queue an array job and wait for its end. If this process is stopped, the job continues."""
    settings = dict(job.settings)
    cluster = str(settings.pop(CLUSTER, "slurm"))
    workers = min(job.workers or DEFAULT_WORKERS, job.n_units)
    try:
        executor = submitit.AutoExecutor(job.folder, cluster=cluster)
        executor.update_parameters(name="tseval", **settings)
        is_local = cluster == "local"
        worker = QueuedWorker(max(1, n_cores() // workers) if is_local else None)
        with careful_children():
            jobs = executor.map_array(worker, [job.task] * workers, range(workers), [workers] * workers)
    except Exception as error:  # submitit may raise any exception
        raise RunError(
            f"SLURM did not accept the jobs of the sweep: {first_line(error)}.\n"
            "  Correct the settings under `slurm:` in the plan."
        ) from None
    while not all(task.done() for task in jobs):
        watch()
        time.sleep(POLL)
    return [complaint for task in jobs if (complaint := _ended(task))]


def _ended(job: submitit.Job[str | None]) -> str | None:
    """Return why a task stopped early, or None. If a task was lost, other tasks score its units."""
    if not job.paths.result_pickle.exists():  # otherwise, the sweep would wait for it
        return f"job {job.job_id} was lost ({job.state}).\n  Log: {job.paths.stderr}."
    error = job.exception()
    if error is None:
        return job.result()
    return f"job {job.job_id}: {first_line(error)}\n  Log: {job.paths.stderr}."
