"""The kinds of data files: how to recognise each kind, and its reader."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.formats import bare_name, read_lines
from tseval.suites.data.agreement_examples import read_agreement
from tseval.suites.data.arrays import read_arrays
from tseval.suites.data.blimp import BLIMP_METHODS, blimp_set
from tseval.suites.data.candidates import fills
from tseval.suites.data.clams import clams_set
from tseval.suites.data.contexts import CONTEXT_COLUMNS, read_contexts
from tseval.suites.data.entries import DataSet, TableReading, data_set
from tseval.suites.data.folders import data_files, is_data
from tseval.suites.data.gulordava import gulordava_set, has_patterns
from tseval.suites.data.layouts import read_entries, read_table_of
from tseval.suites.data.linzen import linzen_set
from tseval.suites.data.pair_tables import find_roles, pairs_set
from tseval.suites.data.ratings import rated_columns, read_ratings
from tseval.suites.data.records import columns_of, encoding_of, header_of, json_kind
from tseval.suites.data.roles import refuse_columns
from tseval.suites.data.sentences import ALTERNATING, layout_of
from tseval.suites.data.syntaxgym import syntaxgym_set
from tseval.tables import is_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def methods_of(path: Path) -> tuple[str, ...]:
    """Return the methods that a set was published with, if there are several (BLiMP)."""
    if not is_data(path):
        return ()
    first = next(iter(data_files(path)[0])) if path.is_dir() else path
    return tuple(BLIMP_METHODS) if kind_of(first, {}) == "blimp" else ()


def kind_of(file: Path, options: Mapping[str, str]) -> str | None:
    """Return the kind of a file, a key of `READERS`; None if no reader fits."""
    ending, kind = Path(bare_name(file)).suffix, "table"
    if ending == ".json":
        kind = json_kind(file) or ""
    elif ending == ".text":
        kind = "gulordava" if has_patterns(file) else "linzen"
    elif ending == ".tab" and {"constr_id", "class", "form"} <= {*columns_of(file, options)[1]}:
        kind = "gulordava"
    elif ending == ".txt" and options.get("layout") not in ALTERNATING:
        _, line = next(read_lines(file, encoding_of(options)), ("", ""))
        kind = "clams" if re.match(r"(True|False)\t", line) else "table" if "\t" in line else ""
    if kind == "table":
        return _by_columns(file, options)
    if kind:
        refuse_columns(file, options)
    return kind or None


def _by_columns(file: Path, options: Mapping[str, str]) -> str | None:
    """Return the kind that the columns of a table imply. The order of checks keeps old readings stable."""
    columns = header_of(file, options)
    names = columns.names
    if {"sentence", "verb_index"} <= {*names} and bare_name(file).endswith((".tsv", ".parquet")):
        return "agreement"
    exact = "sentence" in names and {"rating", "ratings"} & {*names}
    if (exact or {"rating", "ratings"} & {*columns.given}) and rated_columns(columns):
        return "ratings"
    published = columns.known is not None and columns.known.title is not None
    if {"UID", "pairID"} <= {*names} and not (is_table(file) or columns.given or published):
        return "blimp"
    if {*CONTEXT_COLUMNS} <= {*names, *columns.given}:
        return "contexts"
    is_stated = "layout" in options or "candidates" in columns.given
    if not is_stated and not fills(columns) and find_roles(columns):
        return "pairs"
    layout = layout_of(columns)
    rated = layout == "sentences" and columns.of("label") is None and rated_columns(columns)
    return "ratings" if rated else layout


# Kinds of files, each with the function that reads all files of the kind as one set.
READERS: dict[str, Callable[[TableReading], DataSet]] = {
    "blimp": blimp_set,
    "clams": clams_set,
    "linzen": linzen_set,
    "gulordava": gulordava_set,
    "agreement": lambda reading: replace(data_set(reading, read_agreement(reading)), score="critical"),
    "syntaxgym": syntaxgym_set,
    "contexts": lambda reading: data_set(reading, read_contexts(reading)),
    "ratings": lambda reading: data_set(reading, read_ratings(reading)),
    "pairs": pairs_set,
    "arrays": lambda reading: data_set(reading, read_table_of(read_arrays, reading)),
    **dict.fromkeys(
        ("candidates", "sentences", "words", "regions", "alternating"),
        lambda reading: data_set(reading, read_table_of(read_entries, reading)),
    ),
}
