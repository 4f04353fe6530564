"""Child processes: Python that imports nothing from the current folder, and the programs of the user's path.

Whoever starts tseval may stand in a folder that a stranger sent, with a `yaml.py` in it. A child that is
started with `python -m` has that folder first on its path of modules, and would run it.
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
    """Return the command that runs a module of ours in a new process, the current folder not on its path."""
    return [sys.executable, "-P", "-m", module, *words]


def python_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of such a process: the Python that it starts in turn is as careful."""
    return {**os.environ, **(more or {}), _SAFE_PATH: "1"}


@contextmanager
def careful_children() -> Iterator[None]:
    """Make the Python that a library starts inside as careful."""
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
    folders = [one for one in os.get_exec_path() if os.path.isabs(one)]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    if found is None or not os.path.isabs(found):
        return None
    return None if Path(found).parent == Path.cwd() and os.name == "nt" else found
