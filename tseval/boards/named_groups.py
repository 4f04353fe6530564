"""Groups that a user names on the command line: GROUP=RUN."""

from __future__ import annotations

import os
import re
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.report.published import bundled_boards
from tseval.runs.search import runs_below

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMED = re.compile(r"(?P<group>[^=/\\]+)=(?P<runs>.*)", re.DOTALL)


def split_groups(arguments: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Split arguments into the names of runs and boards, and the groups that they name with GROUP=RUN.

    RUN is the folder of a run, a folder with several, or a pattern such as `runs/drop-*`: a shell does not
    expand a pattern after an equals sign. An argument that is an existing path is no group.

    Returns:
        The names without groups, and the group of each run by the real path of its folder.

    Raises:
        RunError: No run has this path, or a run has two groups.
    """
    names: list[str] = []
    group_of: dict[str, str] = {}
    for argument in arguments:
        match = _NAMED.fullmatch(argument)
        if match is None or Path(argument).exists() or argument in bundled_boards():
            names.append(argument)
            continue
        group, runs = match["group"].strip(), match["runs"]
        paths = [runs] if Path(runs).exists() else sorted(glob(runs))
        if not group or not runs or not paths:
            raise RunError(
                f"{argument!r}: no run has the path {runs!r}, and no run is called {argument!r}.\n"
                "  Write GROUP=RUN, the name of a group and the folder of a run, such as small=runs/lstm-s1."
            )
        for path in paths:
            names.append(path)
            for run in runs_below(Path(path))[0] or [Path(path)]:
                folder = os.path.realpath(run)
                if group_of.setdefault(folder, group) != group:
                    raise RunError(
                        f"{argument!r}: {run} is already in the group {group_of[folder]}.\n"
                        "  Name each run in one group only."
                    )
    return names, group_of
