"""Run tseval commands in the test's own process or in a separate one, and check how they end."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from tempfile import TemporaryFile

from preloaded import FORKS, programs, start

from tseval.cli import main


@dataclass
class Ended:
    returncode: int
    stdout: str
    stderr: str


def call(*arguments, cwd="."):
    """Run `tseval ARGUMENTS` in this process; a new process for each call would spend seconds on imports."""
    # Use byte streams, so that text that cannot be encoded fails here as in a real process.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    before = sys.argv
    code = 0
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        sys.argv = ["tseval", *map(str, arguments)]
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.argv = before
    return Ended(code, _written_to(out), _written_to(err))


def installed(*arguments, cwd=".", typed="", env=None):
    """Run `tseval ARGUMENTS` in a separate process, with `typed` as its standard input."""
    with TemporaryFile() as stdin, TemporaryFile() as out, TemporaryFile() as err:
        stdin.write(typed.encode())
        stdin.seek(0)
        code = start(arguments, cwd=cwd, stdin=stdin, stdout=out, stderr=err, env=env).wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode().replace(os.linesep, "\n"))
    return Ended(code, *texts)


def run_process(command, check=False, env=None, **options):
    """Run a program to its end; return its exit code and output.

    If the program is `tseval` or `python` from PATH, or calls them, they run as forks, unless `env` sets
    another PATH.
    """
    env = with_forks(os.environ if env is None else env)
    return subprocess.run(command, capture_output=True, text=True, check=check, env=env, **options)


def with_forks(env):
    """Return an environment in which `tseval` and `python` run as forks, unless `env` sets another PATH."""
    if FORKS and env.get("PATH") == os.environ["PATH"]:
        return {**env, "PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}"}
    return env


def succeeded(ended):
    """Check that a command succeeded, and return it."""
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}"
    return ended


def refused(ended):
    """Check that a command ended with one message and nothing else, and return it."""
    assert ended.returncode == 2, f"{ended.stdout}{ended.stderr}"
    assert not ended.stdout
    assert "Traceback" not in ended.stderr
    return ended


def succeed(*arguments, cwd="."):
    """Run `tseval ARGUMENTS` and check that it succeeds."""
    return succeeded(call(*arguments, cwd=cwd))


def refuse(*arguments, cwd="."):
    """Run `tseval ARGUMENTS` and check that it ends with a message."""
    return refused(call(*arguments, cwd=cwd))


def printed(*arguments, cwd="."):
    """Return the output of a command; check that it succeeds without warnings."""
    ended = succeed(*arguments, cwd=cwd)
    assert ended.stderr == ""
    return ended.stdout


def _written_to(stream):
    stream.flush()
    return stream.buffer.getvalue().decode().replace(os.linesep, "\n")
