"""How many agreement examples there are, by intervening nouns and attractors: a table, and bars.

After Figures 1 and 6 of Bansal et al. 2020, which count their training sentences in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.errors import SuiteError
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.figures import LineOf
from tseval.report.panels import Panel
from tseval.report.shown import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

_TABLE, _NOUNS, _ATTRACTORS, _COUNT = "table", "n_intervening", "n_attractors", "n_examples"
_MOST_NOUNS, _MOST_ATTRACTORS = 8, 4  # and more, in one bar
_NOTE = "An attractor is an intervening noun of the other number than the subject."


def noun_counts(tables: Mapping[str, pa.Table], splits: Sequence[str] = ()) -> Document:
    """Count the examples of tables by intervening nouns, and by attractors among these.

    Args:
        tables: Name of each table to its examples.
        splits: Only these; all where empty.

    Raises:
        SuiteError: A table does not say how many nouns intervene, or has no such split.
    """
    counts = []
    for name, table in tables.items():
        if missing := [column for column in (_NOUNS, _ATTRACTORS) if column not in table.column_names]:
            raise SuiteError(f"{name}: has no column {missing[0]!r}, so there is nothing to count by.")
        frame = _of_splits(name, table.to_pandas(), splits)
        own = frame.groupby([_NOUNS, _ATTRACTORS]).size().rename(_COUNT).reset_index()
        own.insert(0, _TABLE, name)
        counts.append(own)
    rows = pd.concat(counts, ignore_index=True)
    grids = [_grid(name, own) for name, own in rows.groupby(_TABLE, sort=False)]
    return Document(grids, rows, {"analysis": "noun_counts", "rows": rows, "notes": [_NOTE]}, [_NOTE], [])


def _of_splits(name: str, table: pd.DataFrame, splits: Sequence[str]) -> pd.DataFrame:
    """Keep the rows of some splits."""
    if not splits:
        return table
    known = sorted(table["split"].unique()) if "split" in table else []
    for split in splits:
        if split not in known:
            raise SuiteError(f"{name}: there is no split {split!r}; there are {', '.join(known) or 'none'}.")
    return table[table["split"].isin(splits)]


def _grid(name: object, rows: pd.DataFrame) -> Grid:
    cells = rows.pivot_table(_COUNT, _NOUNS, _ATTRACTORS, "sum", fill_value=0)
    headings = [*map(_attractors, map(str, cells.columns)), "All"]
    fields = [Field("Intervening nouns", align="left"), *(Field(one, show=whole) for one in headings)]
    lines = []
    for nouns, own in zip(cells.index.tolist(), cells.to_numpy().tolist(), strict=True):
        counts = (n if k <= nouns else None for k, n in zip(cells.columns, own, strict=True))
        lines.append(Line((str(nouns), *counts, sum(own))))
    return Grid(fields, lines, f"Examples of {name}")


def _attractors(n: str) -> str:
    return f"{n} attractor{'' if n == '1' else 's'}"


def noun_count_bars(counts: Document, title: str) -> Panel:
    """Give a group of bars for each number of intervening nouns; what is rare is counted together.

    One table has a bar for each number of attractors, of several each has one.
    """
    rows = counts.records
    together = rows.assign(**{_NOUNS: rows[_NOUNS].clip(upper=_MOST_NOUNS)})
    of = _ATTRACTORS if rows[_TABLE].nunique() == 1 else _TABLE
    if of == _ATTRACTORS:
        together[of] = together[of].clip(upper=_MOST_ATTRACTORS)
    ticks = _numbers(together[_NOUNS].max(), _MOST_NOUNS)
    names = _numbers(together[_ATTRACTORS].max(), _MOST_ATTRACTORS)
    lines = []
    for index, (value, own) in enumerate(together.groupby(of, sort=of == _ATTRACTORS)):
        sums = own.groupby(_NOUNS)[_COUNT].sum()
        name = str(value) if of == _TABLE else _attractors(names[int(str(value))])
        lines.append(LineOf(index, name, (sums.index + 1).tolist(), sums.astype(float).tolist()))
    return Panel(title, lines, ticks)


def _numbers(last: int, most: int) -> list[str]:
    """Name the numbers from 0 to the last, which holds all that are larger if it is the most there is."""
    return [f"{n} or more" if n == most else str(n) for n in range(last + 1)]
