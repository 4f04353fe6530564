"""Leave out items of a data set: known errors of published sets, or a user's list.

`known_errors.json` lists errors of published sets by the ids of their items, and where they were reported.
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
from tseval.suites.data.records import header_of, read_records
from tseval.suites.data.roles import text_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.items import Case
    from tseval.suites.data.entries import DataSet

    Exclude = str | Path | Iterable[tuple[str, str]]


KNOWN_ERRORS = "known-errors"
# Names of features or lexical factors that hold the ids of items; the first one in a case is used.
_IDS = ("pair", "pairID", "pair_id", "id", "ID", "item")
_DIGITS = 12  # length of a list's digest


@dataclass(frozen=True, slots=True)
class KnownError:
    """An error in a published set."""

    address: str  # where it was reported
    what: str  # the kind of error
    items: dict[str, list[int | str]]  # case to the ids of its items


@dataclass(frozen=True, slots=True)
class _Errata:
    source: str
    errors: list[KnownError]


@cache
def _errata() -> dict[str, _Errata]:
    content = read_json(Path(__file__).with_name("known_errors.json"))
    return checked(content, dict[str, _Errata])


def known_errors(data: DataSet) -> list[KnownError]:
    """Return the known errors of a set, which is identified by its reference."""
    return next((errata.errors for errata in _errata().values() if errata.source == data.source), [])


def count_known(data: DataSet) -> list[tuple[KnownError, int]]:
    """Return the known errors of a set, each with its number of items in the set."""
    cases = {case.name: case for case in data.cases}
    counts = (
        sum(int(_among(cases[name], ids).sum()) for name, ids in error.items.items() if name in cases)
        for error in known_errors(data)
    )
    return [(error, n) for error, n in zip(known_errors(data), counts, strict=True) if n]


def refuse_exclusion(suite: object, exclude: Exclude | None) -> None:
    """Refuse to leave out items of a suite that is not data."""
    if exclude is not None:
        raise SuiteError(
            f"{suite}: the items of this suite have no ids, so --exclude cannot name items.\n"
            "  Leave --exclude out: it works for suites from data files."
        )


def leave_out(
    data: DataSet, cases: Sequence[Case], exclude: Exclude
) -> tuple[str, tuple[tuple[str, str], ...], list[Case]]:
    """Leave out items of some cases: `known-errors`, a list at a path, or pairs of case and id.

    Returns:
        The name of the list (`known-errors` or its digest), its pairs of case and id, the remaining cases.
    """
    if exclude == KNOWN_ERRORS:
        error_items = (case_ids for error in known_errors(data) for case_ids in error.items.items())
        listed = {(name, str(item_id)) for name, ids in error_items for item_id in ids}
        if not listed:
            raise SuiteError(
                f"tseval has no list of known errors for the suite {data.name!r}.\n"
                f"  Leave out --exclude {KNOWN_ERRORS}."
            )
    else:
        listed = set(_read(Path(exclude)) if isinstance(exclude, str | Path) else exclude)
    pairs = tuple(sorted(listed))
    digest = sha256(json.dumps(pairs, separators=(",", ":")).encode()).hexdigest()[:_DIGITS]
    ids: dict[str, list[str]] = {}
    for name, item_id in pairs:
        ids.setdefault(name, []).append(item_id)
    if exclude != KNOWN_ERRORS:
        _refuse_unlisted(data, ids, str(exclude) if isinstance(exclude, str | Path) else "exclude")
    others = [
        case.take(np.flatnonzero(~_among(case, ids[case.name])).tolist()) if case.name in ids else case
        for case in cases
    ]
    remaining_cases = [case for case in others if case.n_items]
    if not remaining_cases:
        raise SuiteError(
            f"--exclude removes all items of the suite {data.name!r}.\n"
            "  Delete lines from the list of items to exclude."
        )
    return KNOWN_ERRORS if exclude == KNOWN_ERRORS else digest, pairs, remaining_cases


def _among(case: Case, ids: Sequence[int | str]) -> NDArray[np.bool_]:
    """Return which items of a case have one of these ids, (items,)."""
    return np.asarray(pc.is_in(_ids_of(case), value_set=pa.array(list(map(str, ids)), pa.string())))


def _ids_of(case: Case) -> pa.ChunkedArray[Any]:
    for table in (case.features, case.entries):
        if name := next((name for name in _IDS if name in table.column_names), None):
            return table[name].cast(pa.string())
    raise SuiteError(
        f"the items of the case {case.name!r} have no ids, so --exclude cannot name items.\n"
        f"  Add a column of ids to the data, with one of these names: {', '.join(_IDS)}."
    )


def _read(path: Path) -> Iterable[tuple[str, str]]:
    """Read a list of items, a table or JSON records, with `paradigm` and `pairID`, or `case` and `item`."""
    if not path.is_file():
        raise SuiteError(
            f"--exclude: the file {str(path)!r} does not exist.\n"
            "  Check the path. The file must be a table with the columns paradigm and pairID."
        )
    columns = header_of(path, {})
    case = next((name for name in columns.names if name.lower() in {"paradigm", "case", "uid"}), None)
    item = next((name for name in columns.names if name in _IDS), None) or columns.of("item")
    if case is None or item is None:
        column_names = ", ".join(map(repr, columns.names)) or "no columns"
        raise SuiteError(
            f"{columns.place}: tseval finds no items to exclude in this table, because its columns are "
            f"{column_names}.\n"
            "  Name two columns paradigm and pairID, or case and item."
        )
    return [(text_in(record[case]), text_in(record[item])) for _, record in read_records(path, (case, item))]


def _refuse_unlisted(data: DataSet, listed: Mapping[str, Sequence[str]], where: str) -> None:
    """Refuse a list that names missing cases or items: it belongs to other data, or is misspelt."""
    cases = {case.name: case for case in data.cases}
    for name, ids in listed.items():
        if name not in cases:
            hint = suggest(name, cases, "Cases")
            raise SuiteError(f"{where}: the suite {data.name!r} has no case {name!r}.\n  {hint}")
        if strange := sorted({*ids} - {*_ids_of(cases[name]).to_pylist()}):
            raise SuiteError(
                f"{where}: the case {name!r} of the suite {data.name!r} has no item with the id "
                f"{strange[0]!r}.\n"
                "  Correct this id, or delete its line."
            )
