"""Groups of runs on the command line: --group, --group-by and GROUP=RUN."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tseval.cli.options import take_all
from tseval.cli.printing import warn_once

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.groups import Grouping
    from tseval.report.opened import RunSet


GROUP_OPTIONS = take_all([
    click.option("--group", is_flag=True,
                 help="Join models that differ only in their seed: print the mean accuracy of each "
                      "architecture and its spread over seeds. You can also name groups: write GROUP=RUN "
                      "for RUN."),
    click.option("--group-by", metavar="PATTERN",
                 help="Group models by a pattern of their names: '{group}-s{seed}' puts lstm-s1 and lstm-s2 "
                      "into the group lstm ({seed} is a number). If no model name matches, tseval "
                      "matches the names of the run folders (default: no groups)."),
])  # fmt: skip


def read_groups(arguments: Sequence[str], *, group: bool, group_by: str | None) -> tuple[list[str], Grouping]:
    """Split GROUP=RUN arguments: return the names of runs and boards, and how the user groups them."""
    from tseval.boards.named_groups import split_groups
    from tseval.report.groups import Grouping, check_pattern

    if group and group_by is not None:
        raise click.UsageError(
            "--group cannot be combined with --group-by. Leave out one of the two options."
        )
    if group_by is not None:
        check_pattern(group_by)
    names, named = split_groups(arguments)
    return names, Grouping(by_architecture=group, pattern=group_by, named=named)


def grouped(opened: RunSet, grouping: Grouping) -> tuple[RunSet, Mapping[str, Sequence[str]]]:
    """Return the runs on one suite, and the names of the runs in each group.

    If groups may join different conditions, a warning is printed and becomes the first note.
    """
    groups = grouping.of(opened)
    if groups.warning is not None:
        warn_once(f"warning: {groups.warning}")
        opened = replace(opened, notes=(groups.warning, *opened.notes))
    return opened, groups.runs_of
