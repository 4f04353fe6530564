"""Find the data files of a folder, and choose a name for each."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, TsevalError
from tseval.formats import bare_name, read_lines, stem_of
from tseval.suites.agreement.gold_files import gold_of
from tseval.suites.endings import DATA_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Names of files that accompany data but are not data, with any ending.
_ABOUT = re.compile(
    r"(licen[cs]e|copying|notice|readme|changelog|changes|citation|authors|contributing|requirements|"
    r"dataset_infos?|metadata|croissant|config|package)", re.IGNORECASE,
)  # fmt: skip
NOT_READ = "not read: "
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


def is_data(path: Path) -> bool:
    """Check whether a path is a data file, or a folder with data files and no grammars."""
    if path.is_dir():
        grammars = any(path.glob("*.jinja")) or (path / "suite.yaml").exists()
        return not grammars and any(_why_not(file) is None for file in _walk(path))
    return bare_name(path).endswith(DATA_ENDINGS)


def not_a_suite(path: Path) -> SuiteError:
    """Return the error for a file with an unknown ending; it suggests an ending that tseval reads."""
    try:
        line = next(read_lines(path), ("", ""))[1]
    except TsevalError:
        line = ""
    endings = {"\t": ".tsv", ",": ".csv", ";": ".csv"}
    ending = next((ending for mark, ending in endings.items() if mark in line), "")
    copy = (
        f"\n  Its first line may be the header of a table: name a copy {path.stem}{ending}." if ending else ""
    )
    return SuiteError(
        f"{path}: tseval cannot read this file as a suite.\n"
        "  Give a .jinja grammar, a folder of such grammars, or a table "
        f"({', '.join(DATA_ENDINGS)}; docs/datasets.md).{copy}"
    )


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, sorted by name; hidden files are left out."""
    seen: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(root)) in seen:  # a link to a folder that was visited before
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        yield from (Path(root, name) for name in sorted(files) if not name.startswith("."))


def _why_not(file: Path) -> str | None:
    """Return why a file is skipped; None if it may hold data."""
    name = bare_name(file)
    if name.endswith(".gold"):
        return "it belongs to a .text"
    if (match := _ABOUT.match(name)) and Path(name).suffix in {"", ".txt", ".json", ".md", ".rst"}:
        return f"a {match[0].lower()}"
    return None if name.endswith(DATA_ENDINGS) else "the ending is not one of a data file"


def data_files(folder: Path) -> tuple[dict[Path, str], dict[str, str]]:
    """Return the data files of a folder with their names, and for each other file why it is not read.

    A file may exist in several formats: of files that differ only in their endings, one is read.
    """
    reasons, by_name = {}, dict[Path, Path]()
    for file in _walk(folder):
        if why := _why_not(file):
            reasons[name_in(file, folder)] = f"{NOT_READ}{why}"
            continue
        plain = file.with_name(_without_ending(file))
        other_file = by_name.setdefault(plain, file)
        if other_file is not file:
            better, worse = sorted((other_file, file), key=_rank)
            by_name[plain] = better
            reasons[name_in(worse, folder)] = f"{NOT_READ}{better.name} has the same name"
    for text in by_name.values():  # a `.text` file is read together with its `.gold` file
        if text.name.endswith(".text"):
            reasons.pop(name_in(gold_of(text), folder), None)
    return _called(folder, list(by_name.values())), reasons


def _rank(file: Path) -> int:
    return next(rank for rank, ending in enumerate(DATA_ENDINGS) if bare_name(file).endswith(ending))


def name_in(file: Path, path: Path) -> str:
    """Return the path of a file in the folder of its set, or the name of a single file."""
    return file.relative_to(path).as_posix() if path.is_dir() else file.name


def _without_ending(file: Path) -> str:
    return bare_name(file).removesuffix(Path(bare_name(file)).suffix)


def set_name_of(file: Path) -> str:
    """Return the name of a set that is one file, without endings and without the number of a shard."""
    return _SHARD.sub("", stem_of(file))


def _called(folder: Path, files: Sequence[Path]) -> dict[Path, str]:
    """Return distinct names of files: their names, else the names of their folders, else their paths.

    The shards of one table, as on the Hugging Face hub, share a name.
    """
    tables = {file: file.with_name(_SHARD.sub("", _without_ending(file))) for file in files}
    n_files = len({*tables.values()})
    for names in ({file: set_name_of(file) for file in files}, {file: file.parent.name for file in files}):
        if len({*names.values()}) == n_files:
            return names
    return {file: table.relative_to(folder).as_posix() for file, table in tables.items()}
