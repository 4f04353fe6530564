"""Continuations: two of one prefix, or one of two prefixes (COMPS, Misra et al. 2023, EACL).

The compared value is log P(continuation | prefix).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.errors import SuiteError
from tseval.questions.regions import Prediction, Regions
from tseval.suites.data.joining import join_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.questions import Question
    from tseval.suites.data.entries import DataItem


PREFERS_GOOD = (Prediction("good > bad", "(2;%good%) < (2;%bad%)"),)


def ask_continuations(predictions: tuple[Prediction, ...]) -> Callable[[Sequence[DataItem]], Question]:
    """Return a function that makes the question of a case; region 2 is the continuation of region 1."""

    def ask(entries: Sequence[DataItem]) -> Question:
        if without_prefix := [entry for entry in entries if not entry.regions]:
            raise SuiteError(
                f"{without_prefix[0].place}: this item has no prefix, but other items of the folder have "
                "one.\n"
                "  Add a prefix to each item, or give each file separately: --suite FILE1 --suite FILE2."
            )
        return Regions(predictions, region_lengths(entries))

    return ask


def continued(item: DataItem, parts: Mapping[str, tuple[str, str]], join: str = "auto") -> DataItem:
    """Return the item with sentences made of prefixes and continuations, joined by `join_parts`."""
    for _, continuation in parts.values():
        if not continuation.split():
            raise SuiteError(
                f"{item.place}: a continuation of this item is empty.\n  Write its words, or remove the item."
            )
    return replace(
        item,
        sentences={label: join_parts(part, join) for label, part in parts.items()},
        regions={
            label: [("prefix", len(prefix.split())), ("continuation", len(continuation.split()))]
            for label, (prefix, continuation) in parts.items()
        },
    )


def region_lengths(entries: Sequence[DataItem]) -> pa.Table:
    """Return the number of words of every region of every entry, by label."""
    lengths = {
        label: [[n for _, n in entry.regions[label]] for entry in entries] for label in entries[0].sentences
    }
    return pa.table({label: pa.array(column, pa.list_(pa.int64())) for label, column in lengths.items()})
