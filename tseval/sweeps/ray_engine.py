"""Workers on a Ray cluster. A separate process, the driver, starts them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from tseval.processes import python_command, python_environment
from tseval.sweeps.supervision import POLL_SECONDS, WORKER_GRACE_SECONDS, end_process, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.sweeps.job import Job


def run_ray(job: Job, watch: Callable[[], None]) -> list[str]:
    """Start the driver and wait for its end."""
    job.folder.mkdir(parents=True, exist_ok=True)
    log = job.folder / "ray.log"
    arguments = json.dumps([os.path.abspath(job.task), job.workers, job.n_units, job.settings])
    command = python_command("tseval.sweeps.ray_driver", arguments)
    # In an empty folder, because Ray adds the current folder to the module path of all workers.
    with tempfile.TemporaryFile() as output, log.open("ab") as errors, tempfile.TemporaryDirectory() as empty:
        with subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, stdin=subprocess.PIPE, stdout=output, stderr=errors, start_new_session=True, cwd=empty,
            env=python_environment(),
        ) as process:  # fmt: skip
            try:
                while not wait_for(process, POLL_SECONDS):
                    watch()
            finally:
                end_process(process, WORKER_GRACE_SECONDS)
        output.seek(0)
        lines = output.read().decode().splitlines()
    if process.returncode == 0 and lines:
        return list(json.loads(lines[-1]))
    address = os.environ.get("RAY_ADDRESS")
    where = f"the Ray cluster at {address}" if address else "Ray on this machine"
    return [f"{where} cannot be reached.\n  Log: {log}."]
