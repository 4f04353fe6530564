"""Comparison of claimed sentences, verdicts and tables with recomputed ones."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.items import ENTRY
from tseval.verifying.levels import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.verifying.claim import Claim


def first_difference(claimed: pa.StringArray, expected: pa.StringArray) -> str:
    """Describe how two columns of text differ: in their length, or in their first different row."""
    if len(claimed) != len(expected):
        return f"{len(claimed):,} instead of {len(expected):,}"
    row = pc.index(pc.not_equal(claimed, expected), pa.scalar(True)).as_py()
    return f"{claimed[row].as_py()!r} instead of {expected[row].as_py()!r}"


def compare_sentences(claimed: pa.Table, recomputed: pa.Table) -> None:
    """Compare all columns of sentences but `n_unknown`, which only the model can confirm."""
    names = [*recomputed.column_names, "n_unknown"]
    if unknown := [name for name in claimed.column_names if name not in names]:
        raise CheckFailed(f"the file of sentences has a column {unknown[0]!r}, which tseval cannot recompute")
    for name in recomputed.column_names:
        _compare_column(
            claimed, recomputed, name, lambda row: repr(recomputed["sentence"][row].as_py()), "sentences"
        )


def compare_verdicts(claimed: pa.Table, recomputed: pa.Table) -> None:
    """Compare verdicts cell by cell; an error names the first difference."""
    if claimed.num_rows != recomputed.num_rows:
        raise CheckFailed(
            f"the run has {claimed.num_rows:,} verdicts, but tseval recomputes {recomputed.num_rows:,}"
        )

    def describe_row(row: int) -> str:
        case, item, contrast = (recomputed[name][row].as_py() for name in ("case", "item", "contrast"))
        return f"{case}[{item}] {contrast}"

    for name in recomputed.column_names:
        _compare_column(claimed, recomputed, name, describe_row, "verdicts")
    if unknown := [name for name in claimed.column_names if name not in recomputed.column_names]:
        raise CheckFailed(
            f"the file of verdicts has a column {unknown[0]!r}, which is not a feature of the suite"
        )


def _compare_column(
    claimed: pa.Table, recomputed: pa.Table, name: str, describe_row: Callable[[int], str], rows: str
) -> None:
    if name not in claimed.column_names:
        raise CheckFailed(f"the file of {rows} has no column {name!r}")
    of_claim, kind = claimed[name].type, recomputed[name].type
    if name.endswith(ENTRY):  # equal dictionary columns may have differently ordered dictionaries
        of_claim, kind = _unfolded(of_claim), _unfolded(kind)
    if of_claim != kind:
        raise CheckFailed(
            f"in the file of {rows}, the column {name!r} has the type {of_claim}, but it "
            f"must have the type {kind}"
        )
    follows, stated = (table[name].cast(kind).combine_chunks() for table in (recomputed, claimed))
    if stated.equals(follows):
        return
    differs = np.array([a != b for a, b in zip(stated.to_pylist(), follows.to_pylist(), strict=True)])
    if not differs.any():
        return
    row = int(differs.argmax())
    raise CheckFailed(
        f"in the file of {rows}, {name} of {describe_row(row)} is {stated[row].as_py()}, but tseval "
        f"recomputes {follows[row].as_py()} ({int(differs.sum()):,} rows differ)"
    )


def _unfolded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind


def describe_other_table(claim: Claim, name: str) -> str:
    """Describe a table that does not match, and the version of tseval that wrote it, if it was another."""
    run_version, this_version = claim.manifest.versions.get("tseval"), version("tseval")
    if run_version == this_version:
        return f"{name} is not the table that tseval prints for these verdicts"
    return (
        f"{name} is not the table that tseval {this_version} prints for these verdicts. The manifest states "
        f"that tseval {run_version} wrote it. To print the right table: tseval table RUN"
    )
