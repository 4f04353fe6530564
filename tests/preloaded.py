"""Commands in processes of their own that need not import torch: they are forks of a process that has.

A command has its own folder, environment, streams and exit code, as when a shell starts it, two seconds of
imports sooner. What Python reads when it starts, such as PYTHONIOENCODING, a fork cannot have: then `start`
starts a new Python, and on Windows too.
"""

import atexit
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
from functools import cache

# Read at run time; a command that differs from this process in others gets a new Python.
AT_RUN_TIME = ("COLUMNS", "HOME", "LINES", "NO_COLOR", "TERM", "TSEVAL_", "TZ", "XDG_")
IMPORTED = ("tseval.adapters.native", "tseval.boards.sources", "tseval.cli.printing", "tseval.cli.run",
            "tseval.evaluation", "tseval.report.writers.terminal", "tseval.suites.loading")  # fmt: skip


def start(arguments, *, cwd=".", stdin=None, stdout=None, stderr=None, env=None):
    """Start `tseval ARGUMENTS`: a process with `pid`, `wait()` and `returncode`.

    Args:
        arguments: Of the command.
        cwd: Its folder.
        stdin: Its stream, open, as a number or file; by default that of this process. So are
        stdout and
        stderr.
        env: All of its environment; by default that of this process.
    """
    arguments, environment = [*map(str, arguments)], {**os.environ} if env is None else env
    if sys.platform == "win32" or _at_start(environment) != _at_start({**os.environ}):
        command = [sys.executable, "-m", "tseval", *arguments]
        return subprocess.Popen(command, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, env=env)
    streams = [own if given is None else given for own, given in enumerate((stdin, stdout, stderr))]
    return Forked(arguments, os.fspath(cwd), environment, streams)


class Forked:
    """A command that runs in a fork."""

    def __init__(self, arguments, cwd, environment, streams):
        request = json.dumps([arguments, os.path.abspath(cwd), environment]).encode()
        numbers = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
        reading, writing = os.pipe()
        socket.send_fds(_preloaded(), [request], [*numbers, writing])
        os.close(writing)
        self._status = os.fdopen(reading)
        self.pid, self.returncode = int(self._status.readline()), None

    def wait(self):
        """Wait for its end; give its exit code, negative for a signal."""
        if self.returncode is None:
            with self._status:
                self.returncode = int(self._status.readline())
        return self.returncode


def _at_start(environment):
    return {name: value for name, value in environment.items() if not name.startswith(AT_RUN_TIME)}


@cache
def _preloaded():
    """Start the process that imports and forks; give the socket to it. It ends when that is closed."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([sys.executable, __file__, str(its.fileno())], pass_fds=[its.fileno()])
    its.close()

    @atexit.register
    def end():
        ours.close()
        process.wait()

    return ours


def serve(control):
    """Fork for each request; return the arguments of the command in the fork, and None at the end."""
    running = {}
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control, ended], [], [])
        if ended in ready:
            os.read(ended, 2**12)
            for child in [*running]:
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid:
                    with os.fdopen(running.pop(pid), "w") as answer:
                        answer.write(f"{os.waitstatus_to_exitcode(status)}\n")
        if control in ready:
            request, streams, _, _ = socket.recv_fds(control, 2**20, 4)
            if not request:
                return None
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number in (ended, end, control.detach(), *running.values()):
                    os.close(number)
                arguments, cwd, environment = json.loads(request)
                _become(cwd, environment, streams)
                return arguments
            os.write(streams[3], f"{child}\n".encode())
            running[child] = streams.pop()
            for number in streams:
                os.close(number)


def _become(cwd, environment, streams):
    """Take folder, environment and streams of a command."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for own, given in enumerate(streams[:3]):
        os.dup2(given, own)
    for number in streams:
        os.close(number)
    for name in ("stdin", "stdout", "stderr"):
        before = getattr(sys, name)
        mode, buffered = ("r", io.BufferedReader) if name == "stdin" else ("w", io.BufferedWriter)
        raw = io.FileIO(before.fileno(), mode, closefd=False)
        raw.name = f"<{name}>"  # as Python calls it
        by_line = name == "stderr" or raw.isatty()
        stream = io.TextIOWrapper(buffered(raw), before.encoding, before.errors, line_buffering=by_line)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    import gc
    from importlib import import_module

    sys.path.pop(0)  # the tests' folder
    for module in IMPORTED:
        import_module(module)
    gc.freeze()
    if (asked := serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        from tseval.cli import main

        sys.argv = ["tseval", *asked]
        sys.exit(main())
