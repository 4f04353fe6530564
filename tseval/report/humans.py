"""What people get right, read from a small table, to stand beside models."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.accuracy import ROW
from tseval.errors import SuiteError, suggest
from tseval.report.columns import description_of
from tseval.report.text import plain
from tseval.suites.records import is_count
from tseval.suites.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.report.columns import Column
    from tseval.runs import Run

HUMAN = "Human"
_CASE, _CONTRAST, _ACCURACY, _ASKED = "case", "contrast", "accuracy", "n"
_FRACTION = re.compile(r"\d{1,20}(\.\d{0,100})?|\.\d{1,100}")


def read_humans(path: Path, run: Run) -> Column:
    """Read the accuracies of people, case by case, as a column beside a run.

    Args:
        path: A table, `.csv` or `.tsv`, with the columns `case`, `accuracy` (a fraction from 0 to 1) and, if
            they are known, `n`, of how many answers; `contrast`, where a case has several.
        run: Over the same suite.

    Returns:
        A column of the rows of the run. A row of several cases has their mean, weighted by `n` where every
        case has it, else each once.

    Raises:
        SuiteError: A value is wrong, a case is unknown or stands twice, or one of the run's is missing.
    """
    places = _places(run)
    found: dict[tuple[str, str], tuple[Fraction, int | None]] = {}
    for place, row in read_table(path):
        key = _key(place, row, places, complete=run.manifest.suite.complete)
        if key is None:
            continue
        if key in found:
            raise SuiteError(f"{place}: the case {key[0]!r} stands twice.\n  Give it one accuracy.")
        found[key] = _accuracy(place, row), _asked(place, row)
    if missing := [
        " ".join(key) if _is_shared(key[0], places) else key[0] for key in places if key not in found
    ]:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise SuiteError(
            f"{path}: there is no accuracy of the case {missing[0]!r}{more}.\n  Give every case one."
        )
    rows: dict[tuple[object, ...], list[tuple[Fraction, int | None]]] = {}
    for key, of_row in places.items():
        rows.setdefault(of_row, []).append(found[key])
    table = [(*of_row, None, str(_mean(own)), None) for of_row, own in rows.items()]
    return replace(
        description_of(run),
        heading=HUMAN,
        origin=plain(path.name),
        rows=pd.DataFrame(table, columns=[*ROW, "n_items", "printed", "spread"], dtype=object),
        decimals=0,
        digest=None,
        signature=None,
        perplexity=None,
        parameters=None,
        notes=(f"{HUMAN}: {plain(path.name)}.",),
        too_long=0,
        warnings=(),
    )


def _places(run: Run) -> dict[tuple[str, str], tuple[object, ...]]:
    """Say in which row of the table each contrast of each case stands."""
    rows = run.load_verdicts().select([_CASE, *ROW]).group_by([_CASE, *ROW], use_threads=False).aggregate([])
    return {
        (str(row[_CASE]), str(row[_CONTRAST])): tuple(row[name] for name in ROW) for row in rows.to_pylist()
    }


def _is_shared(case: str, places: Mapping[tuple[str, str], object]) -> bool:
    return sum(name == case for name, _ in places) > 1


def _key(
    place: str, row: Mapping[str, str], places: Mapping[tuple[str, str], object], *, complete: bool
) -> tuple[str, str] | None:
    """Find what a row is about; None for a case that only a part of the suite leaves out."""
    for name in (_CASE, _ACCURACY):
        if name not in row:
            raise SuiteError(
                f"{place}: there is no column {name!r}, but {', '.join(map(repr, row))}.\n"
                f"  Write {_CASE},{_ACCURACY} or {_CASE},{_ACCURACY},{_ASKED}."
            )
    case, contrast = row[_CASE].strip(), row.get(_CONTRAST, "").strip()
    contrasts = [other for name, other in places if name == case]
    if not contrasts:
        if not complete:
            return None
        known = dict.fromkeys(name for name, _ in places)
        raise SuiteError(f"{place}: the suite has no case {case!r}.\n  {suggest(case, known, 'Cases')}")
    if contrast not in contrasts and (contrast or len(contrasts) > 1):
        raise SuiteError(
            f"{place}: the case {case!r} has no contrast {contrast!r}.\n"
            f"  Say which in a column {_CONTRAST!r}: {', '.join(contrasts)}."
        )
    return case, contrast or contrasts[0]


def _accuracy(place: str, row: Mapping[str, str]) -> Fraction:
    text = row[_ACCURACY].strip()
    if not _FRACTION.fullmatch(text) or not 0 <= (value := Fraction(text)) <= 1:
        raise SuiteError(
            f"{place}: {_ACCURACY} is {text!r}, which is no fraction from 0 to 1.\n  Write 0.886 for 88.6%."
        )
    return value


def _asked(place: str, row: Mapping[str, str]) -> int | None:
    if _ASKED not in row:
        return None
    if not is_count(text := row[_ASKED].strip()) or int(text) < 1:
        raise SuiteError(f"{place}: {_ASKED} is {text!r}: a number of answers is 1, 2, ...")
    return int(text)


def _mean(cases: list[tuple[Fraction, int | None]]) -> Fraction:
    weights = [1 if n is None else n for _, n in cases]
    total = sum((weight * value for weight, (value, _) in zip(weights, cases, strict=True)), Fraction(0))
    return total / sum(weights)
