"""Read, check and write tables of agreement examples.

Each row is one example. A table is Parquet or tab-separated text, in which quotes are ordinary characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, reason
from tseval.formats import ContentError, whole_number
from tseval.suites.agreement.examples import EXAMPLE_COLUMNS, EXAMPLE_NUMBERS, NEEDED_COLUMNS, filled
from tseval.suites.agreement.output import write_as_named
from tseval.tables import read_parquet, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Place = Callable[[int], str]


def read_examples(path: Path) -> pa.Table:
    """Read and check a table of examples: `.parquet`, or `.tsv` with a header and no quoting, also `.gz`.

    The result has one row per example. Its columns are all `NEEDED_COLUMNS`, and the other `EXAMPLE_COLUMNS`
    that the file fills. `n_non_attractors` is computed if the file counts nouns.
    """
    table, place = _read_parquet(path) if path.name.endswith(".parquet") else _read_tsv(path)
    if not table.num_rows:
        raise SuiteError(
            f"{path}: the table has no rows with examples.\n  Make a table of examples: tseval data "
            f"agreement TREEBANK -o {path}"
        )
    table = filled(table)
    if missing := [name for name in NEEDED_COLUMNS if name not in table.column_names]:
        raise SuiteError(
            f"{path}: a table of agreement examples needs values in the column {missing[0]!r}, but the "
            f"column is empty.\n  Write a value in the column {missing[0]!r} of every row."
        )
    for name in table.column_names:
        if table[name].null_count:
            row = pc.index(pc.is_null(table[name]), True).as_py()
            raise SuiteError(
                f"{place(row)}: the cell in the column {name!r} is empty, but other rows have a value.\n  "
                "Write a value in this cell, or delete the whole column."
            )
    _check_words(table, place)
    for row, number in enumerate(column_values(table, "number")):
        if number not in EXAMPLE_NUMBERS:
            raise SuiteError(
                f"{place(row)}: the column 'number' has {number!r}.\n  Write sing or plur in this cell."
            )
    for row, opposite in enumerate(column_values(table, "opp_verb_form")):
        if len(opposite.split()) != 1:
            raise SuiteError(
                f"{place(row)}: the column 'opp_verb_form' has {opposite!r}, but must have one word.\n  "
                "Write one word in this cell."
            )
    return _with_non_attractors(table, place)


def _require(path: Path, names: Iterable[str]) -> None:
    present = set(names)
    if missing := [name for name in NEEDED_COLUMNS if name not in present]:
        hint = ""
        if "verb_pos" in present:
            hint = (
                "\n  If this is the table of Linzen et al., convert it first: tseval data "
                f"agreement {path} -o FILE"
            )
        raise SuiteError(
            f"{path}: a table of agreement examples needs the column {missing[0]!r}, but this table does "
            f"not have it.{hint}"
        )


def _read_parquet(path: Path) -> tuple[pa.Table, Place]:
    try:
        table = read_parquet(path, EXAMPLE_COLUMNS, needed=(), others=False)
    except OSError as error:
        raise SuiteError(
            f"{path}: tseval cannot read this file ({reason(error)}).\n  Check the name of the file, and "
            "that it is a Parquet file."
        ) from None
    except ContentError as error:
        problem = f"cannot be read ({error})" if error.what.startswith("not a") else error
        raise SuiteError(f"{path}: {problem}") from None
    _require(path, table.column_names)
    present = [name for name in EXAMPLE_COLUMNS if name in table.column_names]
    return table.select(present), lambda row: f"{path}, row {row + 1}"


def _read_tsv(path: Path) -> tuple[pa.Table, Place]:
    places: list[str] = []
    cells: dict[str, list[str | None]] = {}
    for place, row in read_table(path, quotes=False):
        if not places:
            _require(path, row)
            cells = {name: [] for name in EXAMPLE_COLUMNS if name in row}
        places.append(place)
        for name, column in cells.items():
            column.append(row[name] or None)
    columns: dict[str, pa.Array[Any]] = {}
    for name, texts in cells.items():
        values: list[Any] = texts
        if EXAMPLE_COLUMNS[name] == pa.int64():
            rows = zip(places, texts, strict=True)
            values = [None if text is None else whole_number(place, name, text) for place, text in rows]
        columns[name] = pa.array(values, EXAMPLE_COLUMNS[name])
    return pa.table(columns), places.__getitem__


def _check_words(table: pa.Table, place: Place) -> None:
    """Check that each row's forms are at the stated positions of its sentence."""
    words = [sentence.split() for sentence in column_values(table, "sentence")]
    for prefix in ("subj", "verb"):
        if not {f"{prefix}_index", f"{prefix}_form"} <= set(table.column_names):
            continue
        columns = (column_values(table, f"{prefix}_{suffix}") for suffix in ("index", "form"))
        for row, (index, form) in enumerate(zip(*columns, strict=True)):
            if not 0 <= index < len(words[row]):
                last = len(words[row]) - 1
                raise SuiteError(
                    f"{place(row)}: the column '{prefix}_index' has {index}, but the words of the sentence "
                    f"are numbered from 0 to {last}.\n  Write a number from 0 to {last}."
                )
            if words[row][index] != form:
                raise SuiteError(
                    f"{place(row)}: the column '{prefix}_form' has {form!r}, but word {index} of the "
                    f"sentence, counted from 0, is {words[row][index]!r}.\n  Correct '{prefix}_form' or "
                    f"'{prefix}_index' in this row."
                )
    if (row := pc.index(table["verb_index"], 0).as_py()) >= 0:
        raise SuiteError(
            f"{place(row)}: the verb is the first word, so no word before it shows its number.\n"
            "  Remove this row from the table."
        )


def column_values(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a column as a list."""
    values: list[Any] = table[name].to_pylist()
    return values


def _with_non_attractors(table: pa.Table, place: Place) -> pa.Table:
    """Add the number of intervening nouns with the subject's number, if the file has the other counts."""
    if not {"n_intervening", "n_attractors"} <= set(table.column_names):
        return table
    rest = pc.subtract(table["n_intervening"], table["n_attractors"])
    if (row := pc.index(pc.less(rest, pa.scalar(0)), True).as_py()) >= 0:
        raise SuiteError(
            f"{place(row)}: the row has more attractors than intervening nouns.\n  Correct the number in "
            "the column n_attractors or n_intervening."
        )
    if "n_non_attractors" not in table.column_names:
        table = table.append_column("n_non_attractors", rest)
    return table.select([name for name in EXAMPLE_COLUMNS if name in table.column_names])


def write_examples(table: pa.Table, path: Path) -> None:
    """Write a table of examples in the format of its ending: `.parquet`, `.tsv` or `.tsv.gz`."""
    write_as_named(table, path, _as_tsv)


def _as_tsv(table: pa.Table) -> bytes:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    # There is no quoting, so characters that would end a cell become spaces.
    ends = dict.fromkeys(map(ord, "\t\n\r"), " ")
    cells = (table.column_names, *((str(value).translate(ends) for value in row) for row in rows))
    return "".join("\t".join(row) + "\n" for row in cells).encode()
