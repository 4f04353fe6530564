"""Child processes that import nothing from the current folder, and programs from the user's path.

The current folder may come from a stranger and contain, for example, a `yaml.py`. A child process that is
started with `python -m` has this folder first on its module path, and would run that file.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_SAFE_PATH = "PYTHONSAFEPATH"


def python_command(module: str, *words: str) -> list[str]:
    """Return the command that runs a module of tseval, without the current folder on its path."""
    return [sys.executable, "-P", "-m", module, *words]


def python_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which Python, and its child processes, ignore the current folder."""
    return {**os.environ, **(more or {}), _SAFE_PATH: "1"}


@contextmanager
def careful_children() -> Iterator[None]:
    """Make Python processes that a library starts ignore the current folder, during a with block."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def find_program(name: str) -> str | None:
    """Find a program on the user's path, never in the current folder; None if it is not installed."""
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    program = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    if program is None or not os.path.isabs(program):
        return None
    return None if Path(program).parent == Path.cwd() and os.name == "nt" else program
