"""Suites from data: sets of minimal pairs that were published as files rather than as grammars.

Each module reads one format into entries (`entries.py`); `loading.py` tells the formats apart by content.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError
from tseval.files import beyond, limits
from tseval.formats import bare_name, read_jsonl, stem_of
from tseval.suites.data.agreement import (
    GULORDAVA,
    LINZEN,
    is_agreement,
    read_agreement,
    read_gulordava,
    read_linzen,
)
from tseval.suites.data.entries import DataSet, build_cases
from tseval.suites.data.pairs import (
    BLIMP_METHODS,
    BLIMP_SOURCE,
    CLAMS_SOURCE,
    LANGUAGES,
    check_columns,
    known_columns,
    read_blimp,
    read_clams,
    read_pairs,
    refuse_columns,
)
from tseval.suites.data.ratings import has_ratings, read_ratings
from tseval.suites.data.regions import (
    SYNTAXGYM_SOURCE,
    form_of,
    read_contexts,
    read_continuations,
    read_syntaxgym,
)
from tseval.tables import is_table, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tseval.items import Case
    from tseval.suites.data.entries import DataItem


DATA_ENDINGS = (".json", ".jsonl", ".tsv", ".csv", ".tab", ".text", ".txt", ".parquet")


def is_data(path: Path) -> bool:
    """Whether a path is a file of data, or a folder of such files rather than of grammars."""
    if path.is_dir():
        return not any(path.glob("*.jinja")) and not (path / "suite.yaml").exists() and bool(_files(path))
    return bare_name(path).endswith(DATA_ENDINGS)


def read_data(path: Path, method: str | None = None, columns: Mapping[str, str] | None = None) -> DataSet:
    """Read a data set.

    Args:
        path: A file, or a folder of files of one kind.
        method: What to compare, one of `methods_of`; None for the first.
        columns: Role to column of a table of pairs (`columns.ROLES`), which it then is; None for known names.
    """
    files = _files(path) if path.is_dir() else [path]
    name = stem_of(files[0] if path.is_file() else path.resolve())
    if columns:
        check_columns(columns)
        for file in files:
            if not (is_table(file) or bare_name(file).endswith(".jsonl")):
                refuse_columns(file, columns)
    kind = "pairs" if columns else _kind(files[0])
    data = _pairs(files, name, columns or {}) if kind == "pairs" else _READERS[kind](files, name, method)
    if not data.cases:
        raise SuiteError(f"{path}: holds no pair of sentences")
    for case in data.cases:
        _refuse_long(path, case)
    return data


def _refuse_long(path: Path, case: Case) -> None:
    """Refuse sentences that are whole texts: to score one would take minutes."""
    for label in case.labels:
        lengths = pc.utf8_length(case.sentences[label])
        item = pc.index(pc.greater(lengths, pa.scalar(limits().sentence_chars)), pa.scalar(True)).as_py()
        if item >= 0:
            where = f"{path}: case {case.name!r}, item {item}"
            raise beyond("sentence_chars", where, f"the {label} sentence has more characters than")


def methods_of(path: Path) -> tuple[str, ...]:
    """Name the methods that a set was published with, where there are several (BLiMP)."""
    if not is_data(path):
        return ()
    first = _files(path)[0] if path.is_dir() else path
    return tuple(BLIMP_METHODS) if _kind(first) == "blimp" else ()


def _files(folder: Path) -> list[Path]:
    """List the files of data in a folder, by name; a text's gold file belongs to the text.

    Where there are none, those of its folders are meant (`eng/data.tsv`). Programs write `.csv` too: it is
    data where a folder has nothing else.
    """
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    within = [sorted(below.iterdir()) for below in entries if below.is_dir()]
    for files in (entries, [file for below in within for file in below]):
        found = [file for file in files if file.is_file() and bare_name(file).endswith(DATA_ENDINGS)]
        if found:
            return [file for file in found if not bare_name(file).endswith(".csv")] or found
    return []


_BY_ENDING = {".json": "syntaxgym", ".text": "linzen", ".tab": "gulordava", ".txt": "clams"}


def _kind(file: Path) -> str:
    name = bare_name(file)
    if kind := _BY_ENDING.get(Path(name).suffix):
        return kind
    if is_agreement(file):
        return "agreement"
    names = _names(file)
    if has_ratings(names):
        return "ratings"
    known = known_columns(names)  # ZhoBLiMP has UID and pairID too
    if {"UID", "pairID"} <= {*names} and not is_table(file) and not (known and known.title):
        return "blimp"
    return form_of(names) or "pairs"


def _names(file: Path) -> Sequence[str]:
    """Name the columns of a table, or those of the first line of JSON lines; none where it is empty."""
    if is_table(file):
        return open_table(file)[1]
    first = next(read_jsonl(file), None)
    return list(first[1]) if first else []


def _pairs(files: Sequence[Path], name: str, columns: Mapping[str, str]) -> DataSet:
    known = None if {"good", "bad"} & columns.keys() else known_columns(_names(files[0]))
    entries = (
        entry
        for file, stem in zip(files, _stems(files), strict=True)
        for entry in read_pairs(file, stem, columns)
    )
    title, source = (known.title, known.source) if known else (None, None)
    return DataSet(name, title or name, source, "sentence", build_cases(entries))


def _stems(files: Sequence[Path]) -> list[str]:
    """Tell files apart by their names, or by their folders where all have the same (`eng/data.tsv`)."""
    stems = [stem_of(file) for file in files]
    return [file.parent.name for file in files] if len(files) > 1 and len({*stems}) == 1 else stems


def _blimp(files: list[Path], name: str, method: str | None) -> DataSet:
    chosen = method or "full"
    # A file of one paradigm is BLiMP too; the method is a part of the name, as it changes the items.
    title = "BLiMP" if chosen == "full" else f"BLiMP, {chosen.replace('_', '-')} method"
    cases = build_cases(read_blimp(files, chosen))
    full_name = name if method is None else f"{name}_{method}"
    return DataSet(full_name, title, BLIMP_SOURCE, BLIMP_METHODS[chosen], cases)


def _clams(files: list[Path], name: str, _: str | None) -> DataSet:
    language = LANGUAGES.get(name.removesuffix("_evalset"))
    title = f"CLAMS, {language}" if language else "CLAMS"
    return DataSet(f"clams_{name.removesuffix('_evalset')}", title, CLAMS_SOURCE, "sentence",
                   build_cases(read_clams(files)))  # fmt: skip


def _agreement(files: list[Path], name: str, _: str | None) -> DataSet:
    return DataSet(name, name, None, "critical", read_agreement(files))


def _ratings(files: list[Path], name: str, _: str | None) -> DataSet:
    return DataSet(name, name, None, "sentence", read_ratings(files))


def _syntaxgym(files: list[Path], name: str, _: str | None) -> DataSet:
    cases = tuple(map(read_syntaxgym, files))
    if repeated := {case.name for case in cases if [other.name for other in cases].count(case.name) > 1}:
        raise SuiteError(f"two suites are called {min(repeated)!r}: load one of them")
    return DataSet(name, name, SYNTAXGYM_SOURCE, "regions", cases)


def _continuations(files: list[Path], name: str, _: str | None) -> DataSet:
    return DataSet(name, name, None, "regions", read_continuations(files))


def _contexts(files: list[Path], name: str, _: str | None) -> DataSet:
    return DataSet(name, name, None, "regions", read_contexts(files))


def _by_item(
    read: Callable[[Path], Iterator[DataItem]], title: str | None = None, source: str | None = None
) -> Callable[[list[Path], str, str | None], DataSet]:
    """Give the reader of sets whose files are read item by item; without a title, each has its own name."""

    def read_set(files: list[Path], name: str, _: str | None) -> DataSet:
        entries = (entry for file in files for entry in read(file))
        return DataSet(name, title or name, source, "sentence", build_cases(entries))

    return read_set


_READERS = {
    "blimp": _blimp,
    "clams": _clams,
    "linzen": _by_item(read_linzen, "Agreement in Wikipedia", LINZEN),
    "gulordava": _by_item(read_gulordava, "Colourless green agreement", GULORDAVA),
    "agreement": _agreement,
    "syntaxgym": _syntaxgym,
    "continuations": _continuations,
    "contexts": _contexts,
    "ratings": _ratings,
}
