"""Kill an action at every file-system call, and check that its folder can still be used.

The action runs in a fork of a process that has imported everything, so each point costs milliseconds.
A kill before a call leaves the same files as a kill after the previous call; a kill inside a write leaves
half of it. SIGKILL leaves the files of that moment and no lock. So the action runs once, and its folder is
copied at each point. Of points with equal files (before and after an fsync, for example), one is continued.
For every fifth continued point, the action runs again and is really killed.
Use this in a separate process (`in_a_process`): pytest's threads do not allow forks.
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
FOR_REAL = 5  # a real kill at every fifth point
PREPARED = f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n"


def in_a_process(program, *arguments):
    """Run Python code that can import the tests' modules; return the JSON that it prints."""
    done = run_process(["python", "-c", PREPARED + textwrap.dedent(program), *map(str, arguments)])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def kill_everywhere(begin, go_on, compare, place, furnish=lambda folder: None, every=1):
    """Kill an action at every call, and continue from the files it left, always in the same folder.

    Args:
        begin: The action. It works in the current folder.
        go_on: What a user does after the kill, in the same folder.
        compare: Takes the folder of an undisturbed action and that of a killed one; lists the differences.
        place: The folder to work in.
        furnish: Puts the files that the action needs into a folder.
        every: Continue from every n-th differing point; above 1 if one takes seconds.

    Returns:
        The number of points, and the failures by point.
    """
    warm, here, left, whole = (place / name for name in ("warm", "here", "left", "whole"))
    warm.mkdir(parents=True)
    os.environ["XDG_CACHE_HOME"] = str(warm / "cache")
    furnish(warm)
    with chdir(warm):
        begin()  # in this process, so that the forks have all imports
    furnish(here)
    left.mkdir()
    code, said = _fork(begin, here, lambda n, what: _copy(here, left / f"{n:04} {what}"))
    assert code == 0, said
    here.rename(whole)
    wrong: dict[str, object] = {}
    points = sorted(left.iterdir())
    differing = {_state(point): point for point in reversed(points)}  # the first of equal points
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
    """Hash all names, modes and contents of a folder, so that equal folders can be recognised."""
    modes = [path.lstat().st_mode for path in sorted(folder.rglob("*"))]
    return hashlib.sha256(repr((files_below(folder), modes)).encode()).digest()


def files_below(folder):
    """Return the path and bytes of every file and folder."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in paths}


def different(one, other):
    """List the files that differ or that only one folder has."""
    names = sorted(one.keys() | other.keys())
    return [
        f"{name} {'differs' if name in one and name in other else 'left' if name in other else 'missing'}"
        for name in names
        if one.get(name) != other.get(name)
    ]


def _fork(action, folder, at_point=None):
    """Run an action in a fork of this process, inside a folder; return its exit code and error text."""
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
    """Call `at_point` before every call that changes the file system, and inside every write."""
    count, watched = 0, os.getpid()

    def reach(what):
        nonlocal count, watched
        if os.getpid() != watched:  # processes that the action starts, forks too, are not watched
            return
        count, watched = count + 1, None  # calls by `at_point` itself are no points
        at_point(count, what)
        watched = os.getpid()

    class Raw(io.FileIO):
        """An open file that splits each write into two points."""

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
