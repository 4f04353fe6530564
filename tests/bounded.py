"""Read files in a separate process with limited memory and time, and report how each reading ended.

As a program: `bounded.py MEGABYTES SECONDS`. Standard input is JSON with pairs of a reader and a path.
Standard output is a JSON list for each pair: `read`, `refused` or `broken`, and the message or traceback.
"""

import json
import os
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from in_process import run_process

from tseval.errors import TsevalError

MEGABYTES, SECONDS = 600, 20
LONGEST = 500  # characters of a message


def outcomes(readings, megabytes=MEGABYTES, seconds=SECONDS):
    """Read every path with its reader `module:function`; return (how, message) for each."""
    done = run_process(
        ["python", __file__, str(megabytes), str(seconds)],
        input=json.dumps([(reader, str(path)) for reader, path in readings]),
        timeout=60 + seconds * len(readings),
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    found = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(readings), done.stderr[-2000:]
    return found


def hold(paths, found):
    """Check that each path gave a result or one message of limited length."""
    for path, (how, message) in zip(paths, found, strict=True):
        assert how in ("read", "refused"), f"{path}: {message}"
        assert len(message) < LONGEST, message[:LONGEST]
        assert "not enough memory" not in message, f"{path}: {message}"


def _read(reader, path):
    try:
        reader(path)
    except TsevalError as error:
        return "refused", str(error)
    except BaseException:
        return "broken", traceback.format_exc()[-3000:]
    return "read", ""


def _named(reader):
    module, _, function = reader.partition(":")
    return getattr(import_module(module), function)


def _main(megabytes, seconds):
    readings = [(_named(reader), Path(path)) for reader, path in json.loads(sys.stdin.read())]
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    import resource  # noqa: PLC0415 - not on Windows, where this is not run

    resource.setrlimit(resource.RLIMIT_AS, (taken + int(megabytes) * 2**20,) * 2)
    signal.signal(signal.SIGALRM, _too_slow)
    for reader, path in readings:
        signal.alarm(int(seconds))
        start = time.monotonic()
        how, message = _read(reader, path)
        signal.alarm(0)
        print(json.dumps([how, message]), flush=True)
        print(f"{path}: {how}, {time.monotonic() - start:.2f} s", file=sys.stderr)


def _too_slow(*_):
    raise TimeoutError("took too long")


if __name__ == "__main__":
    _main(*sys.argv[1:])
