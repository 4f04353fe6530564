"""Human accuracy, read from a table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.rows import ROW
from tseval.errors import SuiteError, plain, suggest
from tseval.formats import is_count
from tseval.report.columns import PRINTED, Column, description_of
from tseval.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.runs import Run


HUMAN = "Human"
_CASE, _CONTRAST, _ACCURACY, _ASKED = "case", "contrast", "accuracy", "n"
_FRACTION = re.compile(r"\d{1,20}(\.\d{0,100})?|\.\d{1,100}")


def read_humans(path: Path, run: Run) -> Column:
    """Read human accuracies for each case, as a column to show with a run."""
    rows_of_cases = _places(run)
    accuracies: dict[tuple[str, str], tuple[Fraction, int | None]] = {}
    for place, row in read_table(path):
        key = _key(place, row, rows_of_cases, complete=run.manifest.suite.complete)
        if key is None:
            continue
        if key in accuracies:
            raise SuiteError(
                f"{place}: this is the second line for the case {key[0]!r}.\n  Remove one of the two lines."
            )
        accuracies[key] = _accuracy(place, row), _asked(place, row)
    n_contrasts = Counter(case for case, _ in rows_of_cases)
    if missing := [
        " ".join(key) if n_contrasts[key[0]] > 1 else key[0] for key in rows_of_cases if key not in accuracies
    ]:
        remainder = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise SuiteError(
            f"{path}: the table has no human accuracy for the case {missing[0]!r}{remainder}.\n"
            "  Add a line for every case of the suite."
        )
    rows: dict[tuple[object, ...], list[tuple[Fraction, int | None]]] = {}
    for key, of_row in rows_of_cases.items():
        rows.setdefault(of_row, []).append(accuracies[key])
    table = [(*of_row, None, str(_mean(values)), None) for of_row, values in rows.items()]
    return replace(
        description_of(run),
        heading=HUMAN,
        origin=plain(path.name),
        rows=pd.DataFrame(table, columns=PRINTED, dtype=object),
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
    """Return the row of the table for each contrast of each case."""
    rows = run.load_verdicts().select([_CASE, *ROW]).group_by([_CASE, *ROW], use_threads=False).aggregate([])
    return {
        (str(row[_CASE]), str(row[_CONTRAST])): tuple(row[name] for name in ROW) for row in rows.to_pylist()
    }


def _key(
    where: str, row: Mapping[str, str], rows_of_cases: Mapping[tuple[str, str], object], *, complete: bool
) -> tuple[str, str] | None:
    """Return the case and contrast of a line; None for an unknown case, if the run scored only a part."""
    for name in (_CASE, _ACCURACY):
        if name not in row:
            raise SuiteError(
                f"{where}: the header has no column {name!r}; its columns are "
                f"{', '.join(map(repr, row))}.\n"
                f"  Write the header {_CASE},{_ACCURACY} or {_CASE},{_ACCURACY},{_ASKED}."
            )
    case, contrast = row[_CASE].strip(), row.get(_CONTRAST, "").strip()
    contrasts = [contrast_of_case for name, contrast_of_case in rows_of_cases if name == case]
    if not contrasts:
        if not complete:
            return None
        names = dict.fromkeys(name for name, _ in rows_of_cases)
        raise SuiteError(
            f"{where}: the suite has no case with the name {case!r}.\n  {suggest(case, names, 'Cases')}"
        )
    if contrast not in contrasts and (contrast or len(contrasts) > 1):
        raise SuiteError(
            f"{where}: the case {case!r} has no contrast {contrast!r}.\n"
            f"  Write one of these contrasts into the column {_CONTRAST!r}: {', '.join(contrasts)}."
        )
    return case, contrast or contrasts[0]


def _accuracy(where: str, row: Mapping[str, str]) -> Fraction:
    text = row[_ACCURACY].strip()
    if not _FRACTION.fullmatch(text) or not 0 <= (value := Fraction(text)) <= 1:
        raise SuiteError(
            f"{where}: the {_ACCURACY} is {text!r}, but it must be a fraction from 0 to 1.\n"
            "  For 88.6%, write 0.886."
        )
    return value


def _asked(where: str, row: Mapping[str, str]) -> int | None:
    if _ASKED not in row:
        return None
    if not is_count(text := row[_ASKED].strip()) or int(text) < 1:
        raise SuiteError(
            f"{where}: the column {_ASKED!r} (number of answers) has {text!r}, but needs a whole number of "
            "1 or more.\n"
            "  Write a number such as 40."
        )
    return int(text)


def _mean(cases: list[tuple[Fraction, int | None]]) -> Fraction:
    weights = [1 if n is None else n for _, n in cases]
    total = sum((weight * value for weight, (value, _) in zip(weights, cases, strict=True)), Fraction(0))
    return total / sum(weights)
