"""Where verdicts stand: the rows of a table, and the row of each verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.accuracy import ROW, in_table_order
from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Sequence

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
