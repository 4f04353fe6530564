"""Rows of a table broken down by the features of their items, for all models at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import Design, estimate
from tseval.items import ENTRY, RESERVED_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import pyarrow as pa

    from tseval.analysis.accuracy import Answers
    from tseval.analysis.design import Estimate

MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class FeaturePart:
    """The items of a row that have one value of a feature: how many, and how each model does on them."""

    value: str
    n_items: int
    estimates: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A row by a feature."""

    feature: str
    parts: tuple[FeaturePart, ...]


def break_down(verdicts: pa.Table, models: Sequence[Answers]) -> list[list[Breakdown]]:
    """Break every row down by each feature that splits it into a few parts.

    Args:
        verdicts: Of any of the models, for the features.
        models: What they got right, over the rows of one table.

    Returns:
        For each row its breakdowns. Features of one value, or of more than `MOST_VALUES`, are left out.
    """
    names = [name for name in verdicts.column_names
             if name not in RESERVED_NAMES and not name.endswith(ENTRY)]  # fmt: skip
    features = verdicts.select(names).to_pandas()
    rows = models[0].rows
    ends = np.cumsum(np.bincount(rows))
    return [
        [found for name in names if (found := _breakdown(features[name].iloc[items], items, models))]
        for items in np.split(np.argsort(rows, kind="stable"), ends[:-1])
    ]


def _breakdown(column: pd.Series, items: np.ndarray, models: Sequence[Answers]) -> Breakdown | None:
    values = sorted(column.dropna().unique())
    if not 1 < len(values) <= MOST_VALUES:
        return None
    return Breakdown(
        str(column.name),
        tuple(_part(str(value), items[(column == value).to_numpy()], models) for value in values),
    )


def _part(value: str, items: np.ndarray, models: Sequence[Answers]) -> FeaturePart:
    designs: dict[int, Design] = {}  # models mostly share their factors
    estimates = []
    for one in models:
        if id(one.factors) not in designs:
            designs[id(one.factors)] = Design.of(one.factors.take(items))
        design = designs[id(one.factors)]
        estimates.append(estimate(one.correct[items], one.decidable[items], design))
    return FeaturePart(value, len(items), tuple(estimates))
