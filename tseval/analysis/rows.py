"""Rows of a table: what makes a row, their order, and the sets of rows that have a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


# What makes a row of the table. Cases that agree in all four are pooled by item.
ROW = ("dependency", "phenomenon", "construction", "contrast")


def as_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Name every feature once; a text alone is one name, not a sequence of letters."""
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


def in_table_order(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Put rows in the order of the table.

    Short dependencies come before long ones, and these before other headings; the rows of a heading, of a
    phenomenon and of a construction stand together, all in order of first appearance; feature values ascend.
    """
    known = rows["dependency"].map({"short": -2, "long": -1})
    other = pd.Series(pd.factorize(rows["dependency"], use_na_sentinel=False)[0], rows.index)
    order = pd.DataFrame({"dependency": known.fillna(other)})
    for depth in range(2, len(ROW) + 1):
        groups = rows.groupby(list(ROW[:depth]), sort=False, dropna=False)
        order[ROW[depth - 1]] = groups.ngroup()
    order = pd.concat([order, rows[list(by)]], axis=1)
    return rows.loc[order.sort_values([*ROW, *by], kind="stable").index].reset_index(drop=True)


SECTIONS = {"short": "Short-range dependency", "long": "Long-range dependency"}


def row_sets(rows: pd.DataFrame) -> Iterator[tuple[str, list[int]]]:
    """Yield the sets of rows that a table has means over, each with its name and the places of its rows."""
    for name, title in (("dependency", SECTIONS), ("phenomenon", {})):
        values = list(rows[name].dropna().unique())
        if len(values) > 1:
            for value in values:
                yield title.get(value, str(value)), [*rows.index[rows[name] == value]]
    yield "All rows", [*rows.index]


def heads_of(sets: Iterable[tuple[str, Sequence[int]]]) -> pd.DataFrame:
    """Tabulate sets of rows: what each is over, and how many rows it has."""
    return pd.DataFrame([(over, len(places)) for over, places in sets], columns=["over", "n_rows"])


def row_places(verdicts: pd.DataFrame, by: Sequence[str]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the rows of a table in its order, and the row of each verdict."""
    names = [*ROW, *by]
    cells = verdicts[names].astype({name: "str" for name in by if name.endswith(ENTRY)})
    appeared = cells.groupby(names, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    keys = cells.assign(place=appeared).drop_duplicates("place").reset_index(drop=True)
    keys = in_table_order(keys, by)
    cells = keys[names].astype(object)
    return cells.where(cells.notna(), None), np.argsort(keys["place"].to_numpy())[appeared]
