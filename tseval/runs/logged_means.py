"""The accuracies of a run, named for loggers such as TensorBoard and W&B."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.counts import exact_accuracy
from tseval.analysis.means import means
from tseval.analysis.measures import ALL_SENTENCES
from tseval.analysis.rows import ROW
from tseval.runs.slugs import slug

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.runs.run import Run


def mean_of(run: Run) -> float | None:
    """Return the mean accuracy, each row counted once; for rated sentences, their correlation.

    None if a row has no decidable item, because the mean over the other rows would be over other items.
    """
    return logged_means(run).get(f"{prefix_of(run)}/mean")


def prefix_of(run: Run) -> str:
    """Return the common prefix of the names of all numbers of a run."""
    return f"tseval/{slug(run.manifest.key.suite)}"


def logged_means(run: Run) -> dict[str, float]:
    """Return the mean, each phenomenon and each row, with names such as `tseval/clams/agreement/simple`.

    Rows without decidable items are left out. For rated sentences, the numbers are Spearman's correlations,
    not accuracies.
    """
    rows = run.table()
    if run.rated:
        return _correlations(run, rows)
    table = pd.DataFrame({"accuracy": exact_accuracy(rows)}, dtype=object)
    *sets, total = means(rows, table)
    values = {slug(part.over): part.accuracy[0] for part in sets}
    if rows["phenomenon"].nunique() == 1:  # a table with one phenomenon has no line for it
        values[slug(str(rows["phenomenon"].iloc[0]))] = total.accuracy[0]
    values |= dict(zip(_row_names(rows), table["accuracy"], strict=True))
    return _known(run, {**values, "mean": total.accuracy[0]})


def _correlations(run: Run, rows: pd.DataFrame) -> dict[str, float]:
    of_rows = rows[rows["construction"] != ALL_SENTENCES]
    values = dict(zip(_row_names(of_rows), of_rows["spearman"], strict=True))
    return _known(run, {**values, "mean": rows["spearman"].iloc[-1]})


def _known(run: Run, named: Mapping[str, object]) -> dict[str, float]:
    return {
        f"{prefix_of(run)}/{name}": float(value)  # type: ignore[arg-type] # a fraction or a float
        for name, value in named.items()
        if value is not None and not pd.isna(value)  # type: ignore[call-overload] # a single number
    }


def _row_names(rows: pd.DataFrame) -> list[str]:
    """Return PHENOMENON/CONSTRUCTION of each row, with more parts if two rows would have the same name."""
    keys = [tuple(map(str, key)) for key in rows[list(ROW)].itertuples(index=False, name=None)]
    contrasts = Counter(key[:3] for key in keys)
    names = []
    for key in keys:
        dependency, phenomenon, construction, contrast = key
        name = f"{construction} {contrast}" if contrasts[key[:3]] > 1 else construction
        names.append((slug(dependency), f"{slug(phenomenon) or 'other'}/{slug(name) or 'row'}"))
    dependencies = {
        name: {dependency for dependency, other_name in names if other_name == name} for _, name in names
    }
    numbered: Counter[str] = Counter()
    distinct = []
    for dependency, name in names:
        full = f"{name}_{dependency}" if len(dependencies[name]) > 1 else name
        numbered[full] += 1
        distinct.append(full if numbered[full] == 1 else f"{full}_{numbered[full]}")
    return distinct
