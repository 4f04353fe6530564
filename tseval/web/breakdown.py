"""The rows of a table by the features of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.analysis.correctness import estimate_items
from tseval.analysis.design import split_by_row
from tseval.items import ENTRY, NOT_FEATURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tseval.analysis.correctness import Correctness
    from tseval.analysis.estimates import Estimate


MOST_VALUES = 8
# A value of a feature: its name, the number of its items, and each model's result on them.
Part = tuple[str, int, list["Estimate | None"]]


def break_down(verdicts: pa.Table, models: Sequence[Correctness]) -> list[dict[str, list[Part]]]:
    """Split every row by each feature that has a few values."""
    names = [name for name in verdicts.column_names
             if name not in NOT_FEATURES and not name.endswith(ENTRY)]  # fmt: skip
    features = verdicts.select(names).to_pandas()
    parts_of_rows: list[dict[str, list[Part]]] = []
    for items in split_by_row(models[0].rows):
        parts_of_rows.append({})
        for name in names:
            column = features[name].iloc[items]
            values = sorted(column.dropna().unique())
            if 1 < len(values) <= MOST_VALUES:
                parts = ((str(value), items[(column == value).to_numpy()]) for value in values)
                parts_of_rows[-1][name] = [
                    (value, len(items_of_value), estimate_items(models, items_of_value))
                    for value, items_of_value in parts
                ]
    return parts_of_rows
