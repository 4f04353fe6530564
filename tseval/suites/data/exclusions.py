"""Items that are left out: errors of published sets that are known, or a list of one's own.

`known_errors.json` holds what was found in published sets, by the ids of their items, and where it was
reported.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, suggest
from tseval.formats import checked, read_json
from tseval.suites.data.records import columns_of, read_records
from tseval.suites.data.roles import find_columns, text_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tseval.items import Case
    from tseval.suites.data.entries import DataSet

    Exclude = str | Path | Iterable[tuple[str, str]]


KNOWN_ERRORS = "known-errors"
# What the id of an item is called among its features or lexical factors; the first that a case has is meant.
_IDS = ("pair", "pairID", "pair_id", "id", "ID", "item")
_DIGITS = 12  # of the digest of a list


@dataclass(frozen=True, slots=True)
class KnownError:
    """An error that was found in a published set.

    Attributes:
        address: Where it was reported.
        what: Of which kind it is.
        items: Case to the ids of its items.
    """

    address: str
    what: str
    items: dict[str, list[int | str]]


@dataclass(frozen=True, slots=True)
class _Errata:
    source: str
    errors: list[KnownError]


@cache
def _errata() -> dict[str, _Errata]:
    content = read_json(Path(__file__).with_name("known_errors.json"))
    return checked(content, dict[str, _Errata])


def known_errors(data: DataSet) -> list[KnownError]:
    """Give the errors that are known of a set, told by its reference."""
    return next((one.errors for one in _errata().values() if one.source == data.source), [])


def count_known(data: DataSet) -> list[tuple[KnownError, int]]:
    """Give the errors that are known of a set, with how many of its items each is about."""
    cases = {case.name: case for case in data.cases}
    counts = (
        sum(int(_among(cases[name], ids).sum()) for name, ids in error.items.items() if name in cases)
        for error in known_errors(data)
    )
    return [(error, n) for error, n in zip(known_errors(data), counts, strict=True) if n]


def refuse_exclusion(suite: object, exclude: Exclude | None) -> None:
    """Refuse to leave out items of what is no data."""
    if exclude is not None:
        raise SuiteError(f"{suite}: its items have no ids to leave out.\n  --exclude is for sets of data.")


def leave_out(
    data: DataSet, cases: Sequence[Case], exclude: Exclude
) -> tuple[str, tuple[tuple[str, str], ...], list[Case]]:
    """Leave items out.

    Args:
        data: The whole set.
        cases: Those of its cases that are asked for.
        exclude: `known-errors`, the path of a list, or pairs of a case and an id.

    Returns:
        What the list is called, `known-errors` or its digest; the list; and the cases without its items.

    Raises:
        SuiteError: The list names a case or an id that there is not, or no error of the set is known.
    """
    if exclude == KNOWN_ERRORS:
        listed = {
            (name, str(one))
            for error in known_errors(data)
            for name, ids in error.items.items()
            for one in ids
        }
        if not listed:
            raise SuiteError(f"no errors of {data.name} are known.\n  Leave out --exclude {KNOWN_ERRORS}.")
    else:
        listed = set(_read(Path(exclude)) if isinstance(exclude, str | Path) else exclude)
        _refuse_unknown(data, listed, str(exclude) if isinstance(exclude, str | Path) else "exclude")
    pairs = tuple(sorted(listed))
    digest = sha256(json.dumps(pairs, separators=(",", ":")).encode()).hexdigest()[:_DIGITS]
    ids: dict[str, list[str]] = {}
    for name, one in pairs:
        ids.setdefault(name, []).append(one)
    kept = []
    for case in cases:
        if case.name in ids:
            rows = np.flatnonzero(~_among(case, ids[case.name]))
            case = case.take(rows.tolist())  # noqa: PLW2901 - the case without them
        if case.n_items:
            kept.append(case)
    if not kept:
        raise SuiteError(f"--exclude leaves nothing of {data.name}.")
    return KNOWN_ERRORS if exclude == KNOWN_ERRORS else digest, pairs, kept


def _among(case: Case, ids: Sequence[int | str]) -> NDArray[np.bool_]:
    """Tell which items of a case have one of these ids, (items,)."""
    return np.asarray(pc.is_in(_ids_of(case), value_set=pa.array(list(map(str, ids)), pa.string())))


def _ids_of(case: Case) -> pa.ChunkedArray[Any]:
    for table in (case.features, case.entries):
        if name := next((name for name in _IDS if name in table.column_names), None):
            return table[name].cast(pa.string())
    raise SuiteError(
        f"the items of the case {case.name!r} have no ids.\n  Give them a column: {', '.join(_IDS)}."
    )


def _read(path: Path) -> Iterable[tuple[str, str]]:
    """Read a list: a table, or records in JSON, of `paradigm` and `pairID`, or `case` and `item`."""
    if not path.is_file():
        raise SuiteError(
            f"--exclude: there is no file {str(path)!r}.\n"
            f"  Name a list of paradigm and pairID, or {KNOWN_ERRORS}."
        )
    place, names, _ = columns_of(path, {})
    case = next((name for name in names if name.lower() in {"paradigm", "case", "uid"}), None)
    item = next((name for name in names if name in _IDS), None) or find_columns(place, names, {}).of("item")
    if case is None or item is None:
        raise SuiteError(
            f"{place}: no list of items: there are {', '.join(map(repr, names)) or 'no columns'}.\n"
            "  Call the columns paradigm and pairID."
        )
    return [(text_in(record[case]), text_in(record[item])) for _, record in read_records(path, (case, item))]


def _refuse_unknown(data: DataSet, listed: Iterable[tuple[str, str]], where: str) -> None:
    """Refuse a list that names what is not there: it was made for other data, or is misspelt."""
    cases = {case.name: case for case in data.cases}
    by_case: dict[str, list[str]] = {}
    for name, one in listed:
        if name not in cases:
            raise SuiteError(f"{where}: {data.name} has no case {name!r}.\n  {suggest(name, cases, 'Cases')}")
        by_case.setdefault(name, []).append(one)
    for name, ids in by_case.items():
        known = {*_ids_of(cases[name]).to_pylist()}
        if strange := sorted({*ids} - known):
            raise SuiteError(f"{where}: the case {name!r} of {data.name} has no item {strange[0]!r}.")
