"""Contexts from the same case: their sentences share no lexicon entry with the items that follow them.

A model reads a context once, so many items must share it. The entries of each lexical factor are divided at
random into parts, one part more than an item can touch. An item touches a part if it has an entry in it.
Items that touch the same parts share contexts, which are made of items that touch none of these parts. If too
few items remain for some contexts, the parts are made smaller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from random import Random

    import pyarrow as pa
    from numpy.typing import NDArray

    from tseval.items import Case


MOST_BITS = 63  # of a numpy integer; Python's integers are unlimited but slower


def touched_parts(case: Case, random: Random, times: int) -> tuple[NDArray[np.int64], bool]:
    """Return which parts of its entries each item touches: a number with one bit for each part, (items,).

    If the numbers of two items have no common bit, the items share no entry, in any factor.

    Args:
        case: All items of a case.
        random: The stream that divides the entries.
        times: Factor on the minimum number of parts.

    Returns:
        The numbers, and whether more parts are possible.
    """
    touched = np.zeros(case.n_items, dtype=object)
    n_parts, can_be_finer = 0, False
    for factors in _grouped_factors(case):
        columns: list[Any] = [case.entries[name].combine_chunks().dictionary_encode() for name in factors]
        entries = sorted(
            {str(entry) for column in columns for entry in column.drop_null().unique().to_pylist()}
        )
        if len(entries) < 2:
            if entries:
                raise _all_share(case, factors[0], entries[0])
            continue
        n_new_parts = min(len(entries), times * (len(factors) + 1))
        can_be_finer |= n_new_parts < len(entries)
        random.shuffle(entries)
        bits = {entry: 1 << (n_parts + place % n_new_parts) for place, entry in enumerate(entries)}
        for column in columns:
            of_entries = [bits.get(str(entry), 0) for entry in column.dictionary.to_pylist()]
            indices = column.indices.fill_null(len(of_entries)).to_numpy()
            touched |= np.array([*of_entries, 0], dtype=object)[indices]
        n_parts += n_new_parts
    if (
        touched == 0
    ).any():  # an item without entries shares nothing with others, and must only differ from itself
        order = list(range(case.n_items))
        random.shuffle(order)
        touched |= np.array([1 << (n_parts + place % 2) for place in order], dtype=object)
        n_parts += 2
    return touched.astype(np.int64) if n_parts < MOST_BITS else touched, can_be_finer


def _grouped_factors(case: Case) -> list[list[str]]:
    """Group factors that have an entry in common: *the author likes the author* has one twice."""
    groups: list[tuple[list[str], set[str]]] = []
    for name in case.entries.column_names:
        column: pa.Array = case.entries[name].combine_chunks()  # type: ignore[type-arg]
        entries = {str(entry) for entry in column.unique().to_pylist() if entry is not None}
        joined = [group for group in groups if group[1] & entries]
        groups = [group for group in groups if not group[1] & entries]
        names = [*(member for members, _ in joined for member in members), name]
        groups.append((names, entries.union(*(group_entries for _, group_entries in joined))))
    return [names for names, _ in groups]


def _all_share(case: Case, factor: str, entry: str) -> SuiteError:
    return SuiteError(
        f"--context same: all items of the case {case.name!r} share the entry {entry!r} ({factor}). But an "
        "item and the sentences of its context must not share an entry.\n"
        "  Choose other cases with --case, or write --context other."
    )
