"""Commands of tseval in processes forked from this one, which has all imports behind it, with limits."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

LIMIT = 60  # seconds of the processor after which a command is said not to end
DEPTH = 3  # generations of processes: a sweep, its workers, the trainings that they start
WAIT = 900.0  # seconds by the clock: other programs may need the processor too
MESSAGE = 500  # characters of the longest message
MEMORY = 2 * 10**9  # bytes that a command may take: each of the files here has kilobytes
ADDRESSES = 16 * 2**30  # bytes of the address space of a command, so that a bomb harms nobody
# What Python tells of calls that change the file system, beside files that it opens to write.
CHANGING = {
    *(f"os.{call}" for call in ("rename", "remove", "mkdir", "rmdir", "chmod")),
    "shutil.rmtree",
    "shutil.copyfile",
}
_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of one unit of a process's largest memory


@dataclass(frozen=True)
class Ended:
    """A command that ended, or was ended.

    Attributes:
        code: Its exit code; below 0 a signal's.
        out: What it printed.
        err: What it said.
        seconds: How long it took.
        memory: Bytes that it had at most.
    """

    code: int
    out: str
    err: str
    seconds: float
    memory: int

    def fault(self, ends: tuple[int, ...] = (0, 2)) -> str | None:
        """Say what is wrong with how it ended, unless with one of these exit codes."""
        if self.code not in ends:
            return f"exit code {self.code} after {self.seconds:.1f} s: {self.err[-300:]}"
        if "Traceback" in self.err:
            return f"a traceback: {self.err[-300:]}"
        if self.code == 2 and not 0 < len(self.err) < MESSAGE:
            return f"a message of {len(self.err)} characters: {self.err[:200]}"
        if self.memory > MEMORY:
            return f"took {self.memory / 1e9:.1f} GB"
        return None

    def refusal(self) -> str | None:
        """Say what is wrong where only a refusal is right."""
        return self.fault() or (
            None if self.code == 2 else f"not refused: {self.out[-200:]}{self.err[-200:]}"
        )


def tseval(
    *words: str | Path,
    cwd: Path,
    before: Callable[[], object] | None = None,
    kill_after: float | None = None,
    generations: Collection[int] = (0,),
) -> Ended:
    """Do what `tseval WORDS` does, in a child of this process.

    Args:
        words: The command.
        cwd: Where; its caches are there too.
        before: What the child does to itself first, for example limits.
        kill_after: Seconds after which processes are killed.
        generations: Which: 0 is the command, 1 what it started, 2 what these started.
    """
    out, err = cwd / ".out", cwd / ".err"
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_tseval([str(word) for word in words], cwd, before)
    ends, killed = (WAIT, range(DEPTH)) if kill_after is None else (kill_after, generations)
    while not (ended := os.wait4(child, os.WNOHANG))[0]:
        if time.monotonic() - began > ends:
            _kill(child, killed)
            ends, killed = WAIT, range(DEPTH)  # those that are left go on
        time.sleep(0.002)
    said, told = (file.read_text("utf-8", "replace") if file.exists() else "" for file in (out, err))
    code, seconds = os.waitstatus_to_exitcode(ended[1]), time.monotonic() - began
    return Ended(code, said, told, seconds, ended[2].ru_maxrss * _UNIT)


def _kill(child: int, generations: Collection[int]) -> None:
    """Kill a process, or what it started, or what these started."""
    found = [[child]]
    for _ in range(DEPTH - 1):  # all are found before the first is killed: who loses its parent is not found
        found.append([started for process in found[-1] for started in _started_by(process)])
    for process in (process for generation in generations for process in found[generation]):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _started_by(process: int) -> list[int]:
    """Name the processes that a process started, where the system tells; it may end meanwhile."""
    with suppress(OSError):
        tasks = Path(f"/proc/{process}/task").iterdir()
        return [int(number) for task in tasks for number in (task / "children").read_text().split()]
    return []


def _be_tseval(words: list[str], cwd: Path, before: Callable[[], object] | None) -> None:
    """Become the command; does not return."""
    code = 70
    try:
        os.chdir(cwd)
        for name, number in ((".out", 1), (".err", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ |= {"XDG_CACHE_HOME": str(cwd / ".cache"), "XDG_DATA_HOME": str(cwd / ".data")}
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        sys.argv = ["tseval", *words]
        if before:
            before()
        from tseval.cli import main  # noqa: PLC0415 - the parent has imported it

        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        import traceback  # noqa: PLC0415 - rarely wanted

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)


def die_at(call: int, half: bool = False) -> Callable[[], object]:
    """Make what kills a command before the so-manieth of its calls that change the file system.

    Args:
        call: Counted from 1; a command that makes fewer lives.
        half: Whether the file that it is about to move into place is cut in half first.
    """

    def install() -> None:
        left = call

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event == "open":
                flags = arguments[2]
                if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                    return
            elif event not in CHANGING:
                return
            left -= 1
            if left == 0:
                if half and event == "os.rename":
                    name = os.fsdecode(arguments[0])  # type: ignore[arg-type] # a path
                    os.truncate(name, os.path.getsize(name) // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)

    return install
