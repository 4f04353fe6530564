"""Rows of a table: the columns that define a row, their order, and the sets of rows that have a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


# The columns that define a row of the table. Cases that agree in all four are pooled by item.
ROW = ("dependency", "phenomenon", "construction", "contrast")
# These dependencies come before all others.
FIRST = {"short": -2, "long": -1}


def as_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return every feature once; a single string is one name, not a sequence of letters."""
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


def in_table_order(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Sort rows in the order of the table.

    Short dependencies come first, then long ones, then other headings. The rows of a heading, of a phenomenon
    and of a construction stay together, all in order of first appearance. Feature values ascend.
    """
    headings = rows[list(ROW)].astype(object)
    cells = headings.where(headings.notna(), None).to_numpy()
    places = [_by_first_appearance(cells[:, :depth]) for depth in range(1, len(ROW) + 1)]
    places[0] = [FIRST.get(name, place) for name, place in zip(cells[:, 0], places[0], strict=True)]
    features = [rows[name].rank(method="dense", na_option="bottom") for name in by]
    keys = np.array([*places, *features], dtype=float)
    return rows.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def _by_first_appearance(cells: NDArray[Any]) -> list[int]:
    """Return a number for each row of cells, in order of first appearance; equal rows have equal numbers."""
    numbers: dict[tuple[Any, ...], int] = {}
    return [numbers.setdefault(row, len(numbers)) for row in map(tuple, cells)]


SECTIONS = {"short": "Short-range dependency", "long": "Long-range dependency"}


def row_sets(rows: pd.DataFrame) -> Iterator[tuple[str, list[int]]]:
    """Yield the sets of rows that a table averages over, each with its name and the numbers of its rows."""
    for name, title in (("dependency", SECTIONS), ("phenomenon", {})):
        values = list(rows[name].dropna().unique())
        if len(values) > 1:
            for value in values:
                yield title.get(value, str(value)), [*rows.index[rows[name] == value]]
    yield "All rows", [*rows.index]


def heads_of(sets: Iterable[tuple[str, Sequence[int]]]) -> pd.DataFrame:
    """Tabulate sets of rows: the name of each set, and its number of rows."""
    return pd.DataFrame([(over, len(places)) for over, places in sets], columns=["over", "n_rows"])


def row_places(verdicts: pd.DataFrame, by: Sequence[str]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the rows of a table in order, and the row number of each verdict."""
    names = [*ROW, *by]
    cells = verdicts[names].astype({name: "str" for name in by if name.endswith(ENTRY)})
    group_numbers = cells.groupby(names, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    keys = cells.assign(place=group_numbers).drop_duplicates("place").reset_index(drop=True)
    keys = in_table_order(keys, by)
    cells = keys[names].astype(object)
    return cells.where(cells.notna(), None), np.argsort(keys["place"].to_numpy())[group_numbers]
