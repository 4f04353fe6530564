"""The installed command in the test's own process, for the many inputs that end in one message at once."""

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass

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


def _written_to(stream):
    stream.flush()
    return stream.buffer.getvalue().decode().replace(os.linesep, "\n")
