"""Kills at every file-system call of an action, and what they leave behind.

The action runs in a fork of a process that has imported everything, so that a point costs milliseconds.
Killed before a call, it leaves what a kill after the call before would leave; inside a write, half of it.
SIGKILL leaves files as they are at that moment, and no lock. So the action runs once, and its folder is
copied at each point. Points that leave the same (before and after an fsync, say) are gone on from once. At
every fifth of those that are gone on from, the action runs anew, and is killed indeed.
Import this in a process of its own (`in_a_process`): forks and threads of pytest do not mix.
"""

import builtins
import hashlib
import io
import json
import os
import shutil
import signal
import sys
import textwrap
import traceback
from contextlib import chdir
from pathlib import Path

from in_process import run_process

TESTS = Path(__file__).parent
CALLS = ("chmod", "fsync", "ftruncate", "mkdir", "remove", "rename", "replace", "rmdir", "sendfile", "unlink",
         "write")  # fmt: skip
FOR_REAL = 5  # every fifth point
PREPARED = f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n"


def in_a_process(program, *arguments):
    """Run a piece of Python that can use the tests' modules; give what it prints as JSON."""
    done = run_process(["python", "-c", PREPARED + textwrap.dedent(program), *map(str, arguments)])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def kill_everywhere(begin, go_on, compare, place, furnish=lambda folder: None, every=1):
    """Kill an action at every call, and go on with what it left; each time in the same folder.

    Args:
        begin: The action; works in the current folder.
        go_on: What a user does afterwards, there too.
        compare: Given the folder of an undisturbed action and one that was killed, names what differs.
        place: For the folders.
        furnish: Puts into a folder what the action finds there.
        every: Of the points that differ, which are gone on from: every third, say, where that takes seconds.

    Returns:
        The number of points, and what went wrong at each of them, if anything.
    """
    warm, here, left, whole = (place / name for name in ("warm", "here", "left", "whole"))
    warm.mkdir(parents=True)
    os.environ["XDG_CACHE_HOME"] = str(warm / "cache")
    furnish(warm)
    with chdir(warm):
        begin()  # here, so that the forks have everything that it imports
    furnish(here)
    left.mkdir()
    code, said = _fork(begin, here, lambda n, what: _copy(here, left / f"{n:04} {what}"))
    assert code == 0, said
    here.rename(whole)
    wrong: dict[str, object] = {}
    points = sorted(left.iterdir())
    differing = {_state(point): point for point in reversed(points)}  # of equals, the first
    for n, point in enumerate(sorted(differing.values())[every // 2 :: every], 1):
        if n % FOR_REAL == 0:
            number = int(point.name.partition(" ")[0])
            furnish(here)
            code, said = _fork(begin, here, lambda reached, _, number=number: reached == number and _end())
            if code != -signal.SIGKILL:
                wrong[point.name] = f"not killed, but {code}: {said}"
        else:
            point.rename(here)
        code, said = _fork(go_on, here)
        found = [f"ended with {code}: {said}"] if code else compare(whole, here)
        if found:
            wrong.setdefault(point.name, found)
        shutil.rmtree(here)
    return {"points": len(points), "wrong": wrong}


def _copy(folder, to):
    shutil.copytree(folder, to, symlinks=True)


def _end():
    os.kill(os.getpid(), signal.SIGKILL)


def _state(folder):
    """Tell folders apart by all that can be seen in them."""
    modes = [path.lstat().st_mode for path in sorted(folder.rglob("*"))]
    return hashlib.sha256(repr((files_below(folder), modes)).encode()).digest()


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


def _fork(action, folder, at_point=None):
    """Do something in a folder in a fork of this process: its exit code, and what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    said = folder.with_name(f"{folder.name}.said")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
            with said.open("w") as sys.stderr, chdir(folder):
                if at_point is not None:
                    _watch(at_point)
                action()
                code = 0
        except BaseException:
            said.write_text(traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text()


def _watch(at_point):
    """Do something before every call that changes the file system, and inside every write."""
    count, watched = 0, os.getpid()

    def reach(what):
        nonlocal count, watched
        if os.getpid() != watched:  # what it starts is no part of it, be it a fork
            return
        count, watched = count + 1, None  # what is done at a point has no points itself
        at_point(count, what)
        watched = os.getpid()

    class Raw(io.FileIO):
        """An open file of which every system call that writes is two points."""

        def write(self, data):
            content = bytes(data)
            half = len(content) // 2
            reach("before write")
            done = super().write(content[:half])
            reach("inside write")
            return done + super().write(content[half:])

    def wrap(name):
        real = getattr(os, name)

        def call(*arguments, **keywords):
            reach(f"before {name}")
            return real(*arguments, **keywords)

        setattr(os, name, call)

    real_open, real_descriptor = io.open, os.open

    def open_file(file, mode="r", buffering=-1, *arguments, **keywords):
        if not set(mode) & set("wxa+") or not isinstance(file, str | os.PathLike):
            return real_open(file, mode, buffering, *arguments, **keywords)
        reach("before open")
        raw = Raw(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *arguments, **keywords)

    def open_descriptor(path, flags, *arguments, **keywords):
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            reach("before open")
        return real_descriptor(path, flags, *arguments, **keywords)

    for name in CALLS:
        wrap(name)
    os.open = open_descriptor
    builtins.open = io.open = open_file
