"""Counts of agreement examples by intervening nouns and attractors, as a table and as bars.

Figures 1 and 6 of Bansal et al. 2020 count their training sentences in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tseval.errors import SuiteError
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.numbers import format_count
from tseval.report.panels import Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa


_TABLE, _NOUNS, _ATTRACTORS, _COUNT = "table", "n_intervening", "n_attractors", "n_examples"
_MOST_NOUNS, _MOST_ATTRACTORS = 8, 4  # the last bar counts these and more
_NOTE = "An attractor is an intervening noun whose number differs from that of the subject."


def noun_counts(tables: Mapping[str, pa.Table], splits: Sequence[str] = ()) -> Document:
    """Count the examples of tables by intervening nouns, and by attractors among these."""
    counts = []
    for name, table in tables.items():
        if missing := [column for column in (_NOUNS, _ATTRACTORS) if column not in table.column_names]:
            raise SuiteError(
                f"{name}: the table has no column {missing[0]!r}, which tseval needs to count examples.\n"
                f"  Make the table again: tseval data agreement FILE -o {name}"
            )
        frame = table.to_pandas()
        if splits:
            choices = sorted(frame["split"].unique()) if "split" in frame else []
            if unknown := [split for split in splits if split not in choices]:
                choices_text = ", ".join(choices) or "none"
                raise SuiteError(
                    f"{name}: no example belongs to the split {unknown[0]!r}.\n"
                    f"  Choose a split of the table: {choices_text}."
                )
            frame = frame[frame["split"].isin(splits)]
        sums = frame.groupby([_NOUNS, _ATTRACTORS]).size().rename(_COUNT).reset_index()
        sums.insert(0, _TABLE, name)
        counts.append(sums)
    rows = pd.concat(counts, ignore_index=True)
    grids = [_grid(name, sums) for name, sums in rows.groupby(_TABLE, sort=False)]
    return Document(grids, rows, {"analysis": "noun_counts", "rows": rows, "notes": [_NOTE]}, [_NOTE], [])


def _grid(name: object, rows: pd.DataFrame) -> Grid:
    cells = rows.pivot_table(_COUNT, _NOUNS, _ATTRACTORS, "sum", fill_value=0)
    headings = [*map(_attractors, map(str, cells.columns)), "All"]
    fields = [
        Field("Intervening nouns", align="left"),
        *(Field(heading, show=format_count) for heading in headings),
    ]
    lines = []
    for nouns, numbers in zip(cells.index.tolist(), cells.to_numpy().tolist(), strict=True):
        counts = (n if k <= nouns else None for k, n in zip(cells.columns, numbers, strict=True))
        lines.append(Line((str(nouns), *counts, sum(numbers))))
    return Grid(fields, lines, f"Examples of {name}")


def _attractors(n: str) -> str:
    return f"{n} attractor{'' if n == '1' else 's'}"


def noun_count_bars(counts: Document, title: str) -> Panel:
    """Return a group of bars for each number of intervening nouns; the largest numbers share a bar.

    A single table has a bar for each number of attractors; otherwise each table has a bar.
    """
    rows = counts.records
    clipped = rows.assign(**{_NOUNS: rows[_NOUNS].clip(upper=_MOST_NOUNS)})
    column = _ATTRACTORS if rows[_TABLE].nunique() == 1 else _TABLE
    if column == _ATTRACTORS:
        clipped[column] = clipped[column].clip(upper=_MOST_ATTRACTORS)
    ticks = _numbers(clipped[_NOUNS].max(), _MOST_NOUNS)
    names = _numbers(clipped[_ATTRACTORS].max(), _MOST_ATTRACTORS)
    lines = []
    for index, (value, group) in enumerate(clipped.groupby(column, sort=column == _ATTRACTORS)):
        sums = group.groupby(_NOUNS)[_COUNT].sum()
        name = str(value) if column == _TABLE else _attractors(names[int(str(value))])
        lines.append(Series(index, name, (sums.index + 1).tolist(), sums.astype(float).tolist()))
    examples = Axis("examples (log scale)", (0.8, None), log_from=0)  # below 1, so that a bar of 1 is visible
    return Panel(title, lines, Axis("intervening nouns"), examples, ticks)


def _numbers(last: int, most: int) -> list[str]:
    """Return names of the numbers from 0 to `last`; the name of `most` includes all larger numbers."""
    return [f"{n} or more" if n == most else str(n) for n in range(last + 1)]
