"""A Ray cluster of processes on this machine: it loses a node, disappears, and is replaced by a new one."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from in_process import call
from sweeping import Sweeps
from systems import needs_posix

from tseval.runs import runs_below

pytest.importorskip("ray")
pytestmark = [needs_posix, pytest.mark.slowest]

# Ray's own settings: how long a driver waits for a lost head (default: a minute); no token between processes.
SETTINGS = {"RAY_gcs_rpc_server_reconnect_timeout_s": "2", "RAY_AUTH_MODE": "disabled"}
RAY = [Path(sys.executable).with_name("ray"), "start", "--block", "--disable-usage-stats"]


@pytest.fixture
def sweeps(tmp_path):
    made = Sweeps(tmp_path)
    made.environment |= SETTINGS | {"PAUSE": "0.3"}
    return made


@contextmanager
def node(sweeps, cores, *place):
    """Start a node whose processes are one group; its workers inherit its environment."""
    room = ["--num-cpus", cores, "--object-store-memory", 80 * 2**20]
    log = sweeps.place / f"node-{time.monotonic_ns()}.log"
    with log.open("w") as said:
        started = subprocess.Popen(
            list(map(str, [*RAY, *room, *place])), env=sweeps.environment, start_new_session=True,
            stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        while "will now block" not in log.read_text():
            if started.poll() is not None:  # a sandbox may forbid what Ray does at its start
                pytest.skip(f"Ray itself does not start here: {log.read_text().splitlines()[-1]}")
            time.sleep(0.02)
        yield started
    finally:
        kill(started)


def kill(started):
    """Kill a node with all its processes, like a power failure."""
    if started.returncode is None:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def until(process, holds):
    """Wait until a condition holds, while a process runs."""
    while not holds():
        assert process.poll() is None, "it ended"
        time.sleep(0.02)


def test_a_cluster_that_loses_a_node_and_then_goes_away_loses_nothing_that_was_saved(sweeps):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    head = "--head", "--port", port, "--include-dashboard", "false"
    command = "plan.yaml", "--engine", "ray", "--workers", 2, "-o", "out"
    with (
        node(sweeps, 1, *head) as first, node(sweeps, 1, "--address", address) as second,
        sweeps.start(*command, RAY_ADDRESS=address) as process,
    ):  # fmt: skip
        until(process, lambda: len({worker for worker, *_ in sweeps.saved()}) == 2)
        kill(second)
        before = len(sweeps.saved())
        until(process, lambda: len(sweeps.saved()) > before + 2)
        kill(first)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.search(
        rf"^tseval: the Ray cluster at {address} cannot be reached.\n  Log: \S+/ray.log.\n"
        r"tseval: \d units not finished, such as step\d+-(one|two).\n  To continue, repeat .*\n\Z",
        errors, re.MULTILINE,
    ), errors  # fmt: skip
    with node(sweeps, 2, *head):
        sweeps.sweep(*command, RAY_ADDRESS=address)
    assert sweeps.saved_twice() == 0
    assert len(sweeps.saved()) + sweeps.saved_unsaid() == 30
    complete, unfinished = runs_below(sweeps.place / "out")
    assert (len(complete), unfinished) == (6, [])


def test_a_cluster_that_is_not_there_is_one_message(tmp_path, monkeypatch):
    sweeps = Sweeps(tmp_path, models=1)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    done = call("sweep", "plan.yaml", "--engine", "ray", "-o", "out", "--quiet", cwd=sweeps.place)
    assert done.returncode == 1
    assert done.stderr == (
        "tseval: the Ray cluster at 127.0.0.1:1 cannot be reached.\n"
        "  Log: out/sweep/engine/ray.log.\n"
        "tseval: 2 units not finished, such as step0-one.\n  To continue, repeat the same command.\n"
    )
    assert "Connection refused" in (tmp_path / "out/sweep/engine/ray.log").read_text()
