"""A run of the installed command that is stopped by a signal in the middle."""

import signal
import subprocess
import time


def start_and_stop(model, out, stop, cwd, more=()):
    """Start a run, stop it by a signal once two parts are saved; give its exit code and standard error."""
    process = subprocess.Popen(
        ["tseval", "run", "--model", model, "--out", out, *more],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while len(list((cwd / out / "parts").glob("*.parquet"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.Signals[stop])
    _, message = process.communicate(timeout=60)
    return process.returncode, message
