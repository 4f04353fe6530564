"""Read and check tables of agreement examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, reason
from tseval.formats import ContentError, read_parquet, read_tsv
from tseval.suites.agreement.examples import EXAMPLE_COLUMNS, EXAMPLE_NUMBERS, NEEDED_COLUMNS, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Place = Callable[[int], str]


def read_examples(path: Path) -> pa.Table:
    """Read and check a table of examples.

    Args:
        path: `.parquet`, or `.tsv` with a header and without quoting, also `.gz`.

    Returns:
        One row per example. The columns of `NEEDED_COLUMNS` are there; those of the other `EXAMPLE_COLUMNS`
        that the file fills; no others. `n_non_attractors` is worked out where the file counts the nouns.

    Raises:
        SuiteError: A needed column is missing; a cell is of the wrong kind; a position lies outside the
            sentence, or holds another word; a number is neither `sing` nor `plur`. The message names the
            line, or the row of a parquet file.
    """
    table, place = _read_parquet(path) if path.name.endswith(".parquet") else _read_tsv(path)
    if not table.num_rows:
        raise SuiteError(f"{path}: holds no examples")
    table = filled(table)
    if missing := [name for name in NEEDED_COLUMNS if name not in table.column_names]:
        raise SuiteError(f"{path}: no table of agreement examples: column {missing[0]!r} is empty")
    for name in table.column_names:
        if table[name].null_count:
            row = pc.index(pc.is_null(table[name]), True).as_py()
            raise SuiteError(
                f"{place(row)}: {name} is empty.\n  Fill a column in every row, or leave it out."
            )
    _check_words(table, place)
    _check_forms(table, place)
    return _with_non_attractors(table, place)


def _require(path: Path, names: Iterable[str]) -> None:
    present = set(names)
    if missing := [name for name in NEEDED_COLUMNS if name not in present]:
        hint = ""
        if "verb_pos" in present:
            hint = f"\n  Is it Linzen et al.'s? Convert it first: tseval data agreement {path} -o FILE"
        raise SuiteError(f"{path}: no table of agreement examples: no column {missing[0]!r}{hint}")


def _read_parquet(path: Path) -> tuple[pa.Table, Place]:
    try:
        table = read_parquet(path, EXAMPLE_COLUMNS, needed=(), others=False)
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read ({reason(error)})") from None
    except ContentError as error:
        said = f"cannot be read ({error})" if error.what.startswith("not a") else error
        raise SuiteError(f"{path}: {said}") from None
    _require(path, table.column_names)
    present = [name for name in EXAMPLE_COLUMNS if name in table.column_names]
    return table.select(present), lambda row: f"{path}, row {row + 1}"


def _read_tsv(path: Path) -> tuple[pa.Table, Place]:
    places: list[str] = []
    cells: dict[str, list[str | None]] = {}
    for place, row in read_tsv(path):
        if not places:
            _require(path, row)
            cells = {name: [] for name in EXAMPLE_COLUMNS if name in row}
        places.append(place)
        for name, column in cells.items():
            column.append(row[name] or None)
    columns: dict[str, pa.Array[Any]] = {}
    for name, texts in cells.items():
        columns[name] = pa.array(texts, pa.string())
        if EXAMPLE_COLUMNS[name] == pa.int64():
            columns[name] = _whole_numbers(name, texts, places)
    return pa.table(columns), places.__getitem__


def _whole_numbers(name: str, texts: list[str | None], places: list[str]) -> pa.Array[Any]:
    for place, text in zip(places, texts, strict=True):
        if text is not None and not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise SuiteError(f"{place}: {name} is no whole number, but {text!r}")
    return pa.array([None if text is None else int(text) for text in texts], pa.int64())


def _check_words(table: pa.Table, place: Place) -> None:
    """Hold every row to its sentence: the forms stand where it says."""
    words = [sentence.split() for sentence in _texts(table, "sentence")]
    for which in ("subj", "verb"):
        if not {f"{which}_index", f"{which}_form"} <= set(table.column_names):
            continue
        indices: list[Any] = table[f"{which}_index"].to_pylist()
        for row, (index, form) in enumerate(zip(indices, _texts(table, f"{which}_form"), strict=True)):
            if not 0 <= index < len(words[row]):
                last = len(words[row]) - 1
                raise SuiteError(f"{place(row)}: {which}_index is {index}, but the words are 0 to {last}")
            if words[row][index] != form:
                raise SuiteError(
                    f"{place(row)}: word {index} of the sentence is {words[row][index]!r}, "
                    f"but {which}_form is {form!r}"
                )
    if (row := pc.index(table["verb_index"], 0).as_py()) >= 0:
        raise SuiteError(f"{place(row)}: the verb is the first word: nothing before it tells its number")


def _check_forms(table: pa.Table, place: Place) -> None:
    for row, number in enumerate(_texts(table, "number")):
        if number not in EXAMPLE_NUMBERS:
            raise SuiteError(f"{place(row)}: number is neither sing nor plur, but {number!r}")
    for row, opposite in enumerate(_texts(table, "opp_verb_form")):
        if len(opposite.split()) != 1:
            raise SuiteError(f"{place(row)}: opp_verb_form is not one word, but {opposite!r}")


def _texts(table: pa.Table, name: str) -> list[str]:
    texts: list[Any] = table[name].to_pylist()
    return texts


def _with_non_attractors(table: pa.Table, place: Place) -> pa.Table:
    """Count the intervening nouns of the subject's number where the file counts the others."""
    if not {"n_intervening", "n_attractors"} <= set(table.column_names):
        return table
    rest = pc.subtract(table["n_intervening"], table["n_attractors"])
    if (row := pc.index(pc.less(rest, pa.scalar(0)), True).as_py()) >= 0:
        raise SuiteError(f"{place(row)}: more attractors than intervening nouns")
    if "n_non_attractors" not in table.column_names:
        table = table.append_column("n_non_attractors", rest)
    return table.select([name for name in EXAMPLE_COLUMNS if name in table.column_names])
