"""The program that starts tasks on a Ray cluster, one for each worker, and waits for them."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import TYPE_CHECKING

import ray

from tseval.sweeps.supervision import end_in_order, supervise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.formats import Json


RETRIES = 100  # of a task whose node or process died
CONNECT_SECONDS = 20
STORE_BYTES = 80 * 2**20  # bytes, the least that Ray accepts: results come through the shared disk


def drive(task: str, workers: int | None, n_units: int, settings: Mapping[str, Json]) -> list[str]:
    """Run workers in tasks. If a node dies, Ray starts its task again on another node.

    The arguments are those of a `Job`. If `workers` is None, there is one worker for each GPU of the cluster
    or, without a GPU, for each core. The settings are options of a Ray task (`num_cpus`, `num_gpus`).
    """
    address = os.environ.get("RAY_ADDRESS")
    if address:
        _refuse_unreachable(address)
        ray.init(address, log_to_driver=False)
    else:  # a share of a core, so that all workers fit
        room = workers and workers * int(str(settings.get("num_cpus", 1)))
        ray.init(
            "local", num_cpus=room, object_store_memory=STORE_BYTES, include_dashboard=False,
            log_to_driver=False,
        )  # fmt: skip
    resources: dict[str, float] = ray.cluster_resources()
    gpus, cores = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
    workers = min(workers or gpus or cores, n_units)
    options = {"num_cpus": 1, "num_gpus": int(gpus > 0), **settings}
    started = ray.remote(supervise).options(max_retries=RETRIES, **options)
    tasks = [started.remote(task, number, workers) for number in range(workers)]
    return [complaint for reference in tasks if (complaint := ray.get(reference))]


def _refuse_unreachable(address: str) -> None:
    """Refuse a cluster address that does not answer: Ray would try to connect for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():  # not `auto`
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


if __name__ == "__main__":
    end_in_order()
    complaints = drive(*json.loads(sys.argv[1]))
    ray.shutdown()
    print(json.dumps(complaints), flush=True)
