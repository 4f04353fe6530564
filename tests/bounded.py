"""Read files in a process of its own that may take only so much memory and time, and say what came of each.

As a program: `bounded.py READER MEGABYTES SECONDS`, paths on standard input, one JSON list a path on standard
output: how it ended (`read`, `refused`, or a traceback), the message, seconds.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from tseval.errors import TsevalError

TESTS = Path(__file__).parent
MEGABYTES, SECONDS = 600, 20
LONGEST = 500  # of a message


def outcomes(reader, paths, megabytes=MEGABYTES, seconds=SECONDS):
    """Read every path by the reader `module:function`; give (how, message) for each."""
    done = subprocess.run(
        [sys.executable, __file__, reader, str(megabytes), str(seconds)],
        input="\n".join(map(str, paths)), capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        timeout=60 + seconds * len(paths),
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    found = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(paths), done.stderr[-2000:]
    return found


def check(reader, paths, **limits):
    """Hold every path to a result, or one message of bearable length; give the outcomes."""
    found = outcomes(reader, paths, **limits)
    for path, (how, message) in zip(paths, found, strict=True):
        assert how in ("read", "refused"), f"{path}: {message}"
        assert len(message) < LONGEST, message[:LONGEST]
        assert "not enough memory" not in message, f"{path}: {message}"
    return found


def _read(reader, path):
    try:
        reader(path)
    except TsevalError as error:
        return "refused", str(error)
    except BaseException:
        return "broken", traceback.format_exc()[-3000:]
    return "read", ""


def _main(reader, megabytes, seconds):
    module, _, function = reader.partition(":")
    read = getattr(import_module(module), function)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    import resource  # noqa: PLC0415 - not on Windows, where this is not run

    resource.setrlimit(resource.RLIMIT_AS, (taken + int(megabytes) * 2**20,) * 2)
    signal.signal(signal.SIGALRM, _too_slow)
    for line in sys.stdin.read().splitlines():
        signal.alarm(int(seconds))
        start = time.monotonic()
        how, message = _read(read, Path(line))
        signal.alarm(0)
        print(json.dumps([how, message]), flush=True)
        print(f"{line}: {how}, {time.monotonic() - start:.2f} s", file=sys.stderr)


def _too_slow(*_):
    raise TimeoutError("took too long")


if __name__ == "__main__":
    _main(*sys.argv[1:])
