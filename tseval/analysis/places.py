"""Where verdicts stand: the rows of a table, the row of each verdict, and the sets that means are over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.accuracy import ROW, in_table_order
from tseval.analysis.means import SECTIONS
from tseval.suites.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray


def row_places(verdicts: pd.DataFrame, by: Sequence[str]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Give the rows of a table in its order, and the row of each verdict."""
    names = [*ROW, *by]
    cells = verdicts[names].astype({name: "str" for name in by if name.endswith(ENTRY)})
    appeared = cells.groupby(names, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    keys = cells.assign(place=appeared).drop_duplicates("place").reset_index(drop=True)
    keys = in_table_order(keys, by)
    cells = keys[names].astype(object)
    return cells.where(cells.notna(), None), np.argsort(keys["place"].to_numpy())[appeared]


def row_sets(keys: pd.DataFrame) -> Iterator[tuple[str, list[int]]]:
    """Give the sets of rows that a table has means over, as `tseval.analysis.means.means` does."""
    for name, title in (("dependency", SECTIONS), ("phenomenon", {})):
        values = list(keys[name].dropna().unique())
        if len(values) > 1:
            for value in values:
                yield title.get(value, str(value)), [*keys.index[keys[name] == value]]
    yield "All rows", [*keys.index]
