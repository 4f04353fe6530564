"""Workers as tasks of a Ray cluster: one that is there already (`RAY_ADDRESS`), or one on this machine.

The driver is a program of its own: Ray ends the process that talks to a cluster when the cluster goes away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from tseval.sweeps.keeping import POLL_SECONDS, WORKER_GRACE_SECONDS, end_process, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.sweeps.engines import Job


def run_ray(job: Job, watch: Callable[[], None]) -> list[str]:
    """Start the driver and wait for its end."""
    job.folder.mkdir(parents=True, exist_ok=True)
    log = job.folder / "ray.log"
    given = json.dumps([job.task, job.workers, job.n_units, job.settings])
    command = [sys.executable, "-m", "tseval.sweeps.engines.ray_driver", given]
    with tempfile.TemporaryFile() as said, log.open("ab") as errors:
        with subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, stdin=subprocess.PIPE, stdout=said, stderr=errors, start_new_session=True
        ) as process:
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
    return [f"{where} cannot be reached, or has gone away.\n  See {log}."]
