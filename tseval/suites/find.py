"""Find suites: by the name of a bundled one, or by the path of grammars or of data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.files import data_folder
from tseval.suites.datasets.catalogue import CATALOGUE, refuse_elsewhere
from tseval.suites.datasets.loading import DATA_ENDINGS, is_data, methods_of
from tseval.suites.formal.languages import FORMAL_LANGUAGES, names_language, parse_language
from tseval.suites.views import VIEWS

if TYPE_CHECKING:
    from tseval.suites.grammar.folder import SuiteFolder
    from tseval.suites.grammar.grammar import Grammar

TEMPLATES = Path(__file__).parents[1] / "templates"
OTHER_DATA = tuple(ending for ending in DATA_ENDINGS if ending not in {".jsonl", ".tsv", ".csv"})


def available_suites() -> tuple[str, ...]:
    """Name the bundled suites."""
    return tuple(sorted(file.parent.name for file in TEMPLATES.glob("*/suite.yaml")))


def bundled_sizes(name: str) -> tuple[str, int, int, int]:
    """Give title and numbers of cases, items and contrasts of a bundled suite, without expanding it."""
    from tseval.suites.grammar.folder import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    folder = read_folder(TEMPLATES / name)
    grammars = folder.load()
    contrasts = sum(grammar.n_items * _n_asked(folder, grammar) for grammar in grammars)
    return folder.title, len(grammars), sum(grammar.n_items for grammar in grammars), contrasts


def _n_asked(folder: SuiteFolder, grammar: Grammar) -> int:
    """Count what is asked about each item."""
    if grammar.experiment is not None:
        return len(grammar.experiment.predictions)
    return len(folder.contrasts_of(grammar))


def find_suite(spec: str | Path) -> Path:
    """Find a suite by the name of a bundled or fetched one, or by path; names come first.

    Raises:
        SuiteError: There is no such suite, or it was not fetched; the message says what to do.
    """
    if spec == "":
        raise SuiteError(
            "a suite has a name or a path, and '' is neither.\n  Is a variable of the shell empty?"
        )
    if isinstance(spec, str) and spec in available_suites():
        return TEMPLATES / spec
    if isinstance(spec, str) and spec in CATALOGUE:
        if not (data_folder() / spec).exists():
            raise SuiteError(f"{spec} is not here yet.\n  Download it: tseval suites fetch {spec}")
        return data_folder() / spec
    if isinstance(spec, Path) or os.path.basename(spec) != spec or Path(spec).exists():
        path = Path(spec)
        if not path.exists():
            raise SuiteError(f"{path}: no such file or folder.\n  Give the name of a suite, or a path.")
        if path.is_file() and path.suffix != ".jinja" and not is_data(path):
            raise SuiteError(
                f"{path}: not a suite.\n  A suite is a folder of .jinja grammars, or one, or data: pairs in "
                "columns good and bad as .tsv, .csv or .jsonl, or "
                f"{', '.join(OTHER_DATA)} (docs/datasets.md)."
            )
        return path
    if names_language(spec):
        raise SuiteError(
            f"{spec} is a formal language: it has no grammars, and no pairs of sentences.\n"
            "  tseval run, expand and train can use it."
        )
    refuse_elsewhere(spec)
    known = [*available_suites(), *CATALOGUE, *FORMAL_LANGUAGES]
    raise SuiteError(
        f"there is no suite {spec!r}.\n  {suggest(spec, known, 'Suites')} Or give a path, such as ./{spec}."
    )


def check_suite_spec(spec: str) -> None:
    """Check that there is such a suite, without reading it.

    Raises:
        SuiteError: As `load_suite` does where there is none.
    """
    if names_language(spec):
        parse_language(spec)
    else:
        locate_suite(spec)


def locate_suite(spec: str | Path) -> tuple[Path, str | None]:
    """Find a suite, and the method that `NAME:METHOD` chooses, None where it chooses none.

    Raises:
        SuiteError: There is no such suite, or it knows no such method.
    """
    if not isinstance(spec, str) or ":" not in spec or Path(spec).exists():
        return find_suite(spec), None
    name, _, method = spec.rpartition(":")
    path = find_suite(name)
    methods = (*VIEWS, *methods_of(path))
    if method not in methods:
        raise SuiteError(f"{name}: no method {method!r}.\n  {suggest(method, methods, 'Methods')}")
    return path, method
