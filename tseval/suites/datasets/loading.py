"""Tell data sets apart by their content, and read them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError
from tseval.limits import beyond, limits
from tseval.suites.datasets import agreement, blimp, clams
from tseval.suites.datasets.agreement_table import is_agreement, read_agreement
from tseval.suites.datasets.entries import DataSet, build_cases
from tseval.suites.datasets.pairs import read_pairs
from tseval.suites.datasets.ratings import has_ratings, read_ratings
from tseval.suites.datasets.syntaxgym import SYNTAXGYM_SOURCE, read_syntaxgym
from tseval.suites.records import bare_name, read_jsonl, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tseval.suites.datasets.entries import DataItem
    from tseval.suites.items import Case

DATA_ENDINGS = (".json", ".jsonl", ".tsv", ".csv", ".tab", ".text", ".txt", ".parquet")


def is_data(path: Path) -> bool:
    """Whether a path is a file of data, or a folder of such files rather than of grammars."""
    if path.is_dir():
        return not any(path.glob("*.jinja")) and not (path / "suite.yaml").exists() and bool(_files(path))
    return bare_name(path).endswith(DATA_ENDINGS)


def read_data(path: Path, method: str | None = None) -> DataSet:
    """Read a data set.

    Args:
        path: A file, or a folder of files of one kind.
        method: What to compare, one of `methods_of`; None for the first.

    Raises:
        SuiteError: The files are of no known kind, or malformed.
    """
    files = _files(path) if path.is_dir() else [path]
    name = bare_name(files[0] if path.is_file() else path.resolve()).partition(".")[0]
    kind = _kind(files[0])
    data = _READERS[kind](files, name, method)
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
    return tuple(blimp.BLIMP_METHODS) if _kind(first) == "blimp" else ()


def _files(folder: Path) -> list[Path]:
    """List the files of data in a folder, by name; a text's gold file belongs to the text."""
    return sorted(
        file for file in folder.iterdir() if file.is_file() and bare_name(file).endswith(DATA_ENDINGS)
    )


def _kind(file: Path) -> str:
    name = bare_name(file)
    if name.endswith(".json"):
        return "syntaxgym"
    if name.endswith(".text"):
        return "linzen"
    if name.endswith(".tab"):
        return "gulordava"
    if name.endswith(".txt"):
        return "clams"
    return "agreement" if is_agreement(file) else _kind_by_columns(file)


def _kind_by_columns(file: Path) -> str:
    """Tell pairs, BLiMP and rated sentences apart.

    Raises:
        SuiteError: A table of comma-separated values holds something else than ratings.
    """
    name = bare_name(file)
    if name.endswith(".jsonl"):
        columns = {column for _, record in islice(read_jsonl(file), 1) for column in record}
    else:
        columns = {column for _, row in islice(read_table(file), 1) for column in row}
    if has_ratings(columns):
        return "ratings"
    if name.endswith(".csv"):
        raise SuiteError(
            f"{file}: no ratings: there are {', '.join(map(repr, sorted(columns))) or 'no rows'}.\n"
            "  Call the columns sentence and rating (docs/ratings.md); pairs are .tsv or .jsonl."
        )
    return "blimp" if name.endswith(".jsonl") and {"UID", "pairID"} <= columns else "pairs"


def _blimp(files: list[Path], name: str, method: str | None) -> DataSet:
    chosen = method or "full"
    # A file of one paradigm is BLiMP too; the method is a part of the name, as it changes the items.
    title = "BLiMP" if chosen == "full" else f"BLiMP, {chosen.replace('_', '-')} method"
    cases = build_cases(blimp.read_blimp(files, chosen))
    full_name = name if method is None else f"{name}_{method}"
    return DataSet(full_name, title, blimp.BLIMP_SOURCE, blimp.BLIMP_METHODS[chosen], cases)


def _clams(files: list[Path], name: str, _: str | None) -> DataSet:
    language = clams.LANGUAGES.get(name.removesuffix("_evalset"))
    title = f"CLAMS, {language}" if language else "CLAMS"
    return DataSet(f"clams_{name.removesuffix('_evalset')}", title, clams.CLAMS_SOURCE, "sentence",
                   build_cases(clams.read_clams(files)))  # fmt: skip


def _agreement(files: list[Path], name: str, _: str | None) -> DataSet:
    return DataSet(name, name, None, "critical", read_agreement(files))


def _ratings(files: list[Path], name: str, _: str | None) -> DataSet:
    return DataSet(name, name, None, "sentence", read_ratings(files))


def _syntaxgym(files: list[Path], name: str, _: str | None) -> DataSet:
    cases = tuple(map(read_syntaxgym, files))
    if repeated := {case.name for case in cases if [other.name for other in cases].count(case.name) > 1}:
        raise SuiteError(f"two suites are called {min(repeated)!r}: load one of them")
    return DataSet(name, name, SYNTAXGYM_SOURCE, "regions", cases)


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
    "linzen": _by_item(agreement.read_linzen, "Agreement in Wikipedia", agreement.LINZEN),
    "gulordava": _by_item(agreement.read_gulordava, "Colourless green agreement", agreement.GULORDAVA),
    "agreement": _agreement,
    "syntaxgym": _syntaxgym,
    "ratings": _ratings,
    "pairs": _by_item(read_pairs),
}
