"""How the sentences of a suite are written: the rules of its language, and its final mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.suites.data.folders import is_data
from tseval.suites.formal.languages import names_language
from tseval.suites.lookup import locate_suite
from tseval.writing import without_rules

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.writing import Writing


def terminator_of(spec: str | Path) -> str | None:
    """Return the terminator that scoring adds to the sentences of a suite; None for data and languages."""
    if isinstance(spec, str) and names_language(spec):
        return None
    path, _ = locate_suite(spec)
    from tseval.suites.grammar.folders import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    return None if is_data(path) else read_folder(path).terminator


def writing_of(spec: str | Path) -> tuple[Writing, str | None]:
    """Return the rules for writing the tokens of a suite of grammars, and its terminator."""
    path, _ = locate_suite(spec)
    from tseval.suites.grammar.folders import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    folder = None if is_data(path) else read_folder(path)
    if folder is None or folder.writing is None:
        raise without_rules(path.name)
    return folder.writing, folder.terminator
