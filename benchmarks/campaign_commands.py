"""Commands of tseval in processes forked from this one, with limits, for benchmarks/campaign.py."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIMIT = 120.0  # seconds after which a command is said not to end
MESSAGE = 500  # characters of the longest message
MEMORY = 8 * 2**30  # of the address space of a command


@dataclass(frozen=True)
class Ended:
    """A command that ended, or was ended: its exit code (below 0 a signal's), and what it said."""

    code: int
    out: str
    err: str

    def fault(self, ends: tuple[int, ...] = (0, 2)) -> str | None:
        """Say what is wrong with how it ended."""
        if self.code not in ends:
            return f"exit code {self.code}: {self.err[-200:]}"
        if "Traceback" in self.err:
            return f"a traceback: {self.err[-200:]}"
        if self.code == 2 and not 0 < len(self.err) < MESSAGE:
            return f"a message of {len(self.err)} characters: {self.err[:200]}"
        return None


def tseval(
    *words: str, cwd: Path, before: Callable[[], object] | None = None, kill_after: float | None = None
) -> Ended:
    """Do what `tseval WORDS` does, in a child of this process.

    Args:
        words: The command.
        cwd: Where.
        before: What the child does to itself first, for example limits.
        kill_after: Seconds after which it is killed.
    """
    out, err = cwd / ".out", cwd / ".err"
    child = os.fork()
    if child == 0:
        _be_tseval(words, cwd, before)
    ends = time.monotonic() + (LIMIT if kill_after is None else kill_after)
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(ended[1])
    return Ended(code, out.read_text("utf-8", "replace"), err.read_text("utf-8", "replace"))


def _be_tseval(words: tuple[str, ...], cwd: Path, before: Callable[[], object] | None) -> None:
    """Become the command; does not return."""
    code = 70
    try:
        os.chdir(cwd)
        for name, stream in ((".out", 1), (".err", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if before:
            before()
        from tseval.cli import main  # noqa: PLC0415 - the parent has imported it

        sys.argv = ["tseval", *words]
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        import traceback  # noqa: PLC0415 - rarely wanted

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
