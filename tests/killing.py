"""Kills at every file-system call of an action, and what they leave behind.

The action runs in a fork of a process that has imported everything, so that a point costs milliseconds.
Killed before a call, it leaves what a kill after the call before would leave; inside a write, half of it.
Import this in a process of its own (`in_a_process`): forks and threads of pytest do not mix.
"""

import builtins
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import traceback
from contextlib import chdir
from pathlib import Path

TESTS = Path(__file__).parent
CALLS = ("chmod", "fsync", "mkdir", "remove", "rename", "replace", "rmdir", "sendfile", "unlink")


def in_a_process(program, *arguments):
    """Run a piece of Python that can use the tests' modules; give what it prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def kill_everywhere(begin, go_on, compare, place, furnish=lambda folder: None):
    """Kill an action at every call, in a folder of its own each time, and go on with it.

    Args:
        begin: The action; works in the current folder.
        go_on: What a user does afterwards, there too.
        compare: Given the folder of an undisturbed action and one that was killed, names what differs.
        place: For the folders.
        furnish: Puts into a folder what the action finds there.

    Returns:
        The number of points, and what went wrong at each of them, if anything.
    """
    warm, whole = place / "warm", place / "whole"
    warm.mkdir(parents=True)
    os.environ["XDG_CACHE_HOME"] = str(warm / "cache")
    furnish(warm)
    with chdir(warm):
        begin()  # here, so that the forks have everything that it imports
    furnish(whole)
    calls, code, said = _fork(begin, whole)
    assert code == 0, said
    points = [(n, half) for n, name in enumerate(calls, 1) for half in (False, True)[: 1 + (name == "write")]]
    wrong: dict[str, object] = {}
    for n, half in points:
        point = f"{n} {'inside' if half else 'before'} {calls[n - 1]}"
        folder = place / point.replace(" ", "-")
        furnish(folder)
        _, code, said = _fork(begin, folder, n, half)
        if code != -signal.SIGKILL:
            wrong[point] = f"not killed, but {code}: {said}"
            continue
        _, code, said = _fork(go_on, folder)
        found = [f"ended with {code}: {said}"] if code else compare(whole, folder)
        if found:
            wrong[point] = found
        shutil.rmtree(folder)
    return {"points": len(points), "wrong": wrong}


def files_below(folder):
    """Give every file, and every folder, as its path and its bytes."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in paths}


def different(one, other):
    """Name the files of which only one folder has any, or in which they differ."""
    names = sorted(one.keys() | other.keys())
    return [
        f"{name} {'differs' if name in one and name in other else 'left' if name in other else 'missing'}"
        for name in names
        if one.get(name) != other.get(name)
    ]


def _fork(action, folder, kill_at=None, half=False):
    """Do something in a folder in a fork of this process: its calls, its exit code, and what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    reads, writes = os.pipe()
    said = folder.with_name(f"{folder.name}.said")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reads)
            os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
            with said.open("w") as sys.stderr, chdir(folder):
                _watch(writes, kill_at, half)
                action()
                code = 0
        except BaseException:
            said.write_text(traceback.format_exc())
        finally:
            os._exit(code)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        calls = pipe.read().split()
    _, status = os.waitpid(child, 0)
    return calls, os.waitstatus_to_exitcode(status), said.read_text()


def _watch(report, kill_at, half):
    """Note every call that changes the file system, and kill this process at one of them."""
    count = 0

    def reach(name, halfway=None):
        nonlocal count
        count += 1
        if count == kill_at:
            if half:
                halfway()
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(report, f"{name}\n".encode())

    class Raw(io.FileIO):
        """An open file of which every system call that writes is a point."""

        def write(self, data):
            content = bytes(data)
            reach("write", lambda: io.FileIO.write(self, content[: len(content) // 2]))
            return super().write(content)

    def wrap(name):
        real = getattr(os, name)

        def call(*arguments, **keywords):
            reach(name)
            return real(*arguments, **keywords)

        setattr(os, name, call)

    real_open, real_descriptor = io.open, os.open

    def open_file(file, mode="r", buffering=-1, *arguments, **keywords):
        if not set(mode) & set("wxa+") or not isinstance(file, str | os.PathLike):
            return real_open(file, mode, buffering, *arguments, **keywords)
        reach("open")
        raw = Raw(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *arguments, **keywords)

    def open_descriptor(path, flags, *arguments, **keywords):
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            reach("open")
        return real_descriptor(path, flags, *arguments, **keywords)

    for name in CALLS:
        wrap(name)
    os.open = open_descriptor
    builtins.open = io.open = open_file
