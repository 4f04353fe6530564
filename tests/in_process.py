"""The command, in the test's own process for the many inputs that end in one message; and how it ends."""

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
    """Do what `tseval ARGUMENTS` does; a new process for each would spend seconds on imports."""
    # Streams of bytes, so that what cannot be written fails here as it would there.
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
    """Do what `tseval ARGUMENTS` does, in a process of its own, which reads what is typed."""
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
    """Run a program to its end; give its code and what it prints.

    Where it is, or calls, `tseval` or `python` of PATH, those are forks, unless its PATH is another.
    """
    env = with_forks(os.environ if env is None else env)
    return subprocess.run(command, capture_output=True, text=True, check=check, env=env, **options)


def with_forks(env):
    """Give an environment in which `tseval` and `python` of PATH are forks, unless its PATH is another."""
    if FORKS and env.get("PATH") == os.environ["PATH"]:
        return {**env, "PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}"}
    return env


def succeeded(ended):
    """Give a command that ended well."""
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}"
    return ended


def refused(ended):
    """Give a command that ended in a message alone."""
    assert ended.returncode == 2, f"{ended.stdout}{ended.stderr}"
    assert not ended.stdout
    assert "Traceback" not in ended.stderr
    return ended


def succeed(*arguments, cwd="."):
    """Do what `tseval ARGUMENTS` does, which ends well."""
    return succeeded(call(*arguments, cwd=cwd))


def refuse(*arguments, cwd="."):
    """Do what `tseval ARGUMENTS` does, which ends in a message."""
    return refused(call(*arguments, cwd=cwd))


def printed(*arguments, cwd="."):
    """Give what a command prints that ends well and warns of nothing."""
    ended = succeed(*arguments, cwd=cwd)
    assert ended.stderr == ""
    return ended.stdout


def _written_to(stream):
    stream.flush()
    return stream.buffer.getvalue().decode().replace(os.linesep, "\n")
