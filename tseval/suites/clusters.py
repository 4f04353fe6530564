"""Which items of a suite are not independent, where its user says so (`--cluster`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, suggest
from tseval.suites.items import as_entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.items import Case, Suite


def cluster_by(suite: Suite, columns: Sequence[str]) -> Suite:
    """Say which columns of a suite's data name what its items share, in place of what the suite itself says.

    Args:
        suite: The suite; its digest stays, because no score depends on this.
        columns: Names of features, or of lexical factors that the suite has; none changes nothing.

    Returns:
        The suite with these lexical factors. A case without such a column has none there.

    Raises:
        SuiteError: No case has such a column, an item has no value in it, or all items of a whole suite have
            the same.
    """
    if not columns:
        return suite
    known = {name for case in suite.cases for name in _columns(case)}
    for name in columns:
        if name not in known:
            raise SuiteError(
                f"the suite {suite.name!r} has no column {name!r} to cluster its items by.\n"
                f"  {suggest(name, known, 'Columns')}"
            )
    chosen = dict.fromkeys(columns)
    cases = tuple(
        replace(
            case, entries=pa.table({name: _levels(case, name) for name in chosen if name in _columns(case)})
        )
        for case in suite.cases
    )
    for name in chosen if suite.complete else ():
        _refuse_one_level(cases, name)
    return replace(suite, cases=cases, clusters=tuple(chosen))


def _columns(case: Case) -> list[str]:
    return [*case.features.column_names, *case.entries.column_names]


def _levels(case: Case, name: str) -> pa.Array[Any]:
    """Name what the items share; a factor of the suite comes before a feature of its name."""
    if name in case.entries.column_names:
        return case.entries[name].combine_chunks()
    levels = as_entries(case.features[name].cast(pa.string()).to_pylist())
    if levels.null_count:
        item = case.index[pc.index(levels.is_null(), pa.scalar(True)).as_py()]
        raise SuiteError(
            f"case {case.name!r}, item {item}: there is no value in the column {name!r}.\n"
            f"  Fill it in every row, or leave out --cluster {name}."
        )
    return levels


def _refuse_one_level(cases: Sequence[Case], name: str) -> None:
    levels = {
        level for case in cases if name in case.entries.column_names
        for level in case.entries[name].unique().to_pylist()
    }  # fmt: skip
    if len(levels) == 1:
        raise SuiteError(
            f"all items have the same {name}, {levels.pop()!r}: there is nothing to cluster by.\n"
            f"  Leave out --cluster {name}, or name another column."
        )
