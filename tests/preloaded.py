"""Run commands in separate processes that do not import torch: forks of a process that has imported it.

A command has its own folder, environment, streams and exit code, as from a shell, but starts two seconds
faster. A fork cannot change what Python reads at its start, such as PYTHONIOENCODING. For such commands a
new Python starts, as always on systems other than Linux. The same holds if PYTHONPATH has other versions of
imported modules.

`start` starts `tseval ARGUMENTS`. `programs` returns a folder for PATH with forking `tseval` and `python`.
"""

import atexit
import io
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from functools import cache
from pathlib import Path

FORKS = sys.platform == "linux"
# Python and libraries read these at their start. If a command has another value, it gets a new Python.
AT_START = ("ATEN", "CUDA", "DNNL", "KMP_", "LANG", "LC_ALL", "LD_", "MALLOC", "MKL", "OMP_", "ONEDNN",
            "OPENBLAS", "PYTHON", "TORCH")  # fmt: skip
SAFE, THREADS, PATHS = HEEDED = ("PYTHONSAFEPATH", "OMP_NUM_THREADS", "PYTHONPATH")  # forks obey these
CUSTOM = {"sitecustomize", "usercustomize"}  # modules that run when Python starts
ALIKE = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY",)  # tseval sets these, both in the test's process and in a fork
IMPORTED = ("pyarrow.dataset", "scipy.special", "tseval.adapters.native", "tseval.boards.sources",
            "tseval.cli.printing", "tseval.cli.run", "tseval.evaluation", "tseval.report.writers.terminal",
            "tseval.suites.grammar", "tseval.suites.loading", "tseval.verifying")  # fmt: skip


def start(arguments, *, cwd=".", stdin=None, stdout=None, stderr=None, env=None):
    """Start `tseval ARGUMENTS`; return a process with `pid`, `wait()` and `returncode`.

    Args:
        arguments: Arguments of the command.
        cwd: Folder of the command.
        stdin: Open stream, as a number or file. The default is that of this process.
        stdout: Like `stdin`.
        stderr: Like `stdin`.
        env: The whole environment. The default is that of this process.
    """
    words, environment = ["-m", "tseval", *map(str, arguments)], {**os.environ} if env is None else env
    if FORKS:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.connect(str(programs() / "socket"))
        streams = [own if given is None else given for own, given in enumerate((stdin, stdout, stderr))]
        numbers = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
        request = json.dumps([sys.executable, words, os.path.abspath(cwd), environment]).encode()
        socket.send_fds(control, [request], numbers)
        if pid := int(control.recv(100)):
            return Forked(pid, control)
        control.close()
    command = [sys.executable, *words]
    return subprocess.Popen(command, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, env=env)


class Forked:
    """A command that runs in a fork."""

    def __init__(self, pid, control):
        self.pid, self.returncode, self._control = pid, None, control

    def wait(self):
        """Wait until the command ends; return its exit code, negative for a signal."""
        if self.returncode is None:
            with self._control:
                self.returncode = int(self._control.recv(100))
        return self.returncode


# The programs `python` and `tseval` of the folder: they request a fork, or start a new Python if a fork is
# impossible.
PROGRAM = """#!{python} -IS
import _socket, array, json, os, resource, signal, sys
program, *words = sys.argv
if program.endswith("/tseval"):
    words = ["-m", "tseval", *words]
limits = resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE
plain = words and (words[0] in ("-m", "-c") or words[:2] == ["-P", "-m"] or words[0][0] != "-")
free = all(resource.getrlimit(limit)[0] == resource.RLIM_INFINITY for limit in limits)
whole = all(os.path.exists("/dev/fd/%d" % stream) for stream in (0, 1, 2))
pid = 0
control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
control.connect({socket!r})
request = json.dumps([{folder!r} + "/python", words, os.getcwd(), dict(os.environ)]).encode()
streams = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
if plain and free and whole:
    control.sendmsg([request], [streams])
    pid = int(control.recv(100))
if not pid:
    os.execv({python!r}, [{python!r}, *words])
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = int(control.recv(100))
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def programs():
    """Return the folder of `tseval` and `python`, and start the process that imports tseval and forks."""
    scratch = tempfile.TemporaryDirectory(prefix="tseval-")
    folder = Path(scratch.name)
    program = PROGRAM.format(python=sys.executable, socket=str(folder / "socket"), folder=str(folder))
    for name in ("python", "tseval"):
        (folder / name).write_text(program, "utf-8")
        (folder / name).chmod(stat.S_IRWXU)
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked.bind(str(folder / "socket"))
    asked.listen(100)
    lives, living = os.pipe()
    numbers = (asked.fileno(), lives)
    process = subprocess.Popen([sys.executable, __file__, *map(str, numbers)], pass_fds=numbers)
    asked.close()
    os.close(lives)

    @atexit.register
    def end():
        os.close(living)
        process.wait()
        scratch.cleanup()

    return folder


def _at_start(environment):
    known = {name: value for name, value in environment.items() if name.startswith(AT_START)}
    return {name: value for name, value in known.items() if name not in (*HEEDED, *ALIKE)}


def serve(asked, lives, known):
    """Fork for each request. Return Python, arguments and folder in the fork, and None at the end.

    Args:
        asked: A listening socket. A client gets the process number, or 0 if a fork is impossible, and then
            the exit code. If a client disconnects earlier, its process is killed.
        lives: A file that becomes readable when the tests have ended.
        known: The environment that Python read when it started.
    """
    running = {}
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([asked, lives, ended, *running.values()], [], [])
        if lives in ready:
            return None
        if ended in ready:
            os.read(ended, 2**12)
            _reap(running)
        for child, control in running.items():
            if control in ready:
                os.kill(child, signal.SIGKILL)
        if asked in ready:
            control, _ = asked.accept()
            if (request := _request(control, known)) is None:
                continue
            (python, words, cwd, environment), streams = request
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number in (ended, end, lives):
                    os.close(number)
                for one in (asked, control, *running.values()):
                    one.close()
                _become(cwd, environment, streams)
                return python, words, cwd
            running[child] = control
            _answer(control, child)
            for number in streams:
                os.close(number)


def _reap(running):
    """Send the exit codes of processes that have ended."""
    for child in [*running]:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            with running.pop(pid) as control:
                _answer(control, os.waitstatus_to_exitcode(status))


def _request(control, known):
    """Read a request and its streams. Return None if a fork is impossible."""
    content, streams, _, _ = socket.recv_fds(control, 2**20, 3)
    if content:
        asked = json.loads(content)
        if _at_start(asked[-1]) == known and not _comes_too_late(_paths(asked[-1], asked[2])):
            return asked, streams
        _answer(control, 0)
    for number in streams:
        os.close(number)
    control.close()
    return None


def _paths(environment, cwd):
    """List the folders in PYTHONPATH, resolved as a Python that starts in `cwd` resolves them."""
    named = environment.get(PATHS)
    return [os.path.abspath(os.path.join(cwd, path)) for path in named.split(os.pathsep)] if named else []


def _comes_too_late(paths):
    """Return whether folders have a module that was imported from elsewhere, or that runs at start-up."""
    before = {name.partition(".")[0] for name in sys.modules} | CUSTOM
    others = set(paths) - {*sys.path}
    return any(not before.isdisjoint(Path(name).stem for name in _names_in(path)) for path in others)


def _names_in(path):
    try:
        return os.listdir(path)
    except OSError:  # Python ignores these folders
        return []


def _answer(control, number):
    with suppress(OSError):  # the client may have gone
        control.send(str(number).encode())


def _become(cwd, environment, streams):
    """Take over the folder, environment and streams of a command."""
    own = _paths(os.environ, os.getcwd())
    os.chdir(cwd)
    sys.path[:] = [*_paths(environment, cwd), *(path for path in sys.path if path not in own)]
    if (threads := environment.get(THREADS)) != os.environ.get(THREADS):
        sys.modules["torch"].set_num_threads(int(threads or os.cpu_count() or 1))
    os.environ.clear()
    os.environ.update(environment)
    for own, given in enumerate(streams):
        os.dup2(given, own)
    for number in streams:
        os.close(number)
    for name in ("stdin", "stdout", "stderr"):
        before = getattr(sys, name)
        mode, buffered = ("r", io.BufferedReader) if name == "stdin" else ("w", io.BufferedWriter)
        raw = io.FileIO(before.fileno(), mode, closefd=False)
        raw.name = f"<{name}>"  # the name that Python gives it
        by_line = name == "stderr" or raw.isatty()
        stream = io.TextIOWrapper(buffered(raw), before.encoding, before.errors, line_buffering=by_line)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(python, words, cwd):
    """Run `PYTHON WORDS` in a folder."""
    sys.executable = python
    safe = words[0] == "-P" or SAFE in os.environ
    kind, *rest = words[words[0] == "-P" :]
    if kind == "-m" and rest[0] == "tseval":
        sys.argv = rest
        sys.modules["tseval.cli"].main()
        return
    if not safe:
        sys.path.insert(0, cwd if kind in {"-m", "-c"} else str(Path(kind).resolve().parent))
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as Python does
    else:
        sys.argv = [kind, *rest]
        runpy.run_path(kind, run_name="__main__")


def _end(action, *arguments):
    """Run an action and end the process as Python does, but skip the clean-up of imported modules."""
    code = 0
    try:
        action(*arguments)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else bool(end.code)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            code = 120
        os._exit(code)


if __name__ == "__main__":
    import gc
    import runpy
    from importlib import import_module

    known = _at_start(os.environ)  # before modules change it
    sys.path.pop(0)  # the folder of the tests
    for module in IMPORTED:
        import_module(module)
    gc.freeze()
    if (command := serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), known)) is not None:
        _end(run, *command)
