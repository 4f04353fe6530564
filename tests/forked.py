"""Commands of tseval as forks of this process: imports cost seconds, a fork nothing.

`Popen` takes the place of that of `subprocess`, for `sys.executable -m tseval ARGUMENTS`: a real process with
its own session, files and exit code. New interpreters are started where the commands of a user are tested
(`tests/integration/test_zoo.py`).
"""

import os
import signal
import sys
from contextlib import suppress
from subprocess import DEVNULL, TimeoutExpired

import torch._dynamo  # noqa: F401 - which an optimiser brings along, in a second

from tseval.cli import main

__all__ = ["DEVNULL", "Popen", "TimeoutExpired"]


class Popen:
    """A command at work."""

    def __init__(self, command, *, stderr, env, pass_fds, **others):
        assert command[:3] == [sys.executable, "-m", "tseval"]
        assert others == {"stdin": DEVNULL, "stdout": DEVNULL, "start_new_session": True}
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.setsid()
                empty = os.open(os.devnull, os.O_RDWR)
                for standard, file in enumerate((empty, empty, stderr.fileno())):
                    os.dup2(file, standard)
                for file in {int(name) for name in os.listdir("/dev/fd")} - {0, 1, 2, *pass_fds}:
                    with suppress(OSError):  # that of the listing itself
                        os.close(file)
                with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
                    os.environ.update(env)
                    sys.argv = ["tseval", *command[3:]]
                    code = _do()
            finally:
                os._exit(code)

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def _do():
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
