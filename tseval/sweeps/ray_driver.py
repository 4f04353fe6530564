"""The program that talks to a Ray cluster: starts tasks, each of which keeps a worker, and waits for them."""

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


RETRIES = 100  # of a task whose node or process was lost
CONNECT_SECONDS = 20
STORE_BYTES = 80 * 2**20  # the least that Ray takes: results come through the shared disk


def drive(task: str, workers: int | None, n_units: int, settings: Mapping[str, Json]) -> list[str]:
    """Keep workers at work in tasks, which Ray starts again elsewhere where a node is lost.

    Arguments are those of a `Job`: without a number of workers there is one for each GPU of the cluster, or
    each core; the settings are options of a task (`num_cpus`, `num_gpus`).
    """
    address = os.environ.get("RAY_ADDRESS")
    if address:
        _refuse_unreachable(address)
        ray.init(address, log_to_driver=False)
    else:  # room for all workers, however few cores there are
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
    """Refuse a cluster where nothing listens: Ray would go on trying for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():  # not `auto`
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


if __name__ == "__main__":
    end_in_order()
    complaints = drive(*json.loads(sys.argv[1]))
    ray.shutdown()
    print(json.dumps(complaints), flush=True)
