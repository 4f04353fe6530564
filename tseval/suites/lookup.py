"""Find a bundled or published suite by its name, or any suite by its path."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from tseval.errors import SuiteError, suggest
from tseval.files import data_folder
from tseval.suites.data.catalogue import CATALOGUE, refuse_elsewhere
from tseval.suites.data.fetching import fetch_suite
from tseval.suites.data.folders import is_data, not_a_suite
from tseval.suites.data.kinds import methods_of
from tseval.suites.formal.languages import FORMAL_LANGUAGES, names_language, parse_language
from tseval.suites.views import METHODS

TEMPLATES = Path(__file__).parents[1] / "templates"


def available_suites() -> tuple[str, ...]:
    """List the names of the bundled suites."""
    return tuple(sorted(file.parent.name for file in TEMPLATES.glob("*/suite.yaml")))


def bundled_sizes(name: str) -> tuple[str, int, int, int]:
    """Return the title and the numbers of cases, items and contrasts of a bundled suite, unexpanded."""
    from tseval.suites.grammar.folders import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    folder = read_folder(TEMPLATES / name)
    grammars = folder.load()
    n_items, n_contrasts = 0, 0
    for grammar in grammars:
        questions = grammar.experiment.predictions if grammar.experiment else folder.contrasts_of(grammar)
        n_items += grammar.n_items
        n_contrasts += grammar.n_items * len(questions)
    return folder.title, len(grammars), n_items, n_contrasts


def find_suite(spec: str | Path) -> Path:
    """Find a bundled or published suite by its name, or a suite by its path; names come first.

    If a published suite is not here yet, it is downloaded.
    """
    if spec == "":
        raise SuiteError(
            "the name of the suite is empty ('').\n"
            "  Write a name or a path: --suite marvin_linzen. Check that your shell variable is not empty."
        )
    if isinstance(spec, str) and spec in available_suites():
        return TEMPLATES / spec
    if isinstance(spec, str) and spec in CATALOGUE:
        if not (data_folder() / spec).exists():
            fetch_suite(spec)
        return data_folder() / spec
    if isinstance(spec, Path) or os.path.basename(spec) != spec or Path(spec).exists():
        path = Path(spec)
        if not path.exists():
            raise SuiteError(
                f"{path}: this file or folder does not exist.\n"
                "  Give the name of a suite, or a path: tseval run --suite NAME."
            )
        if path.is_file() and path.suffix != ".jinja" and not is_data(path):
            raise not_a_suite(path)
        return path
    if names_language(spec):
        raise SuiteError(
            f"{spec} is a formal language, so it has no grammars and no sentence pairs.\n  Use formal "
            "languages with tseval run, tseval expand or tseval train."
        )
    refuse_elsewhere(spec)
    near = get_close_matches(spec, CATALOGUE, n=1)  # the whole catalogue is too long for a message
    hint = suggest(spec, [*available_suites(), *near, *FORMAL_LANGUAGES], "Suites")
    raise SuiteError(
        f"there is no suite {spec!r}.\n  {hint} To see all suites, type tseval suites. To "
        f"use a file or folder, give its path: ./{spec}."
    )


def taken_before(spec: str) -> str | None:
    """Return a note if a suite's name hides a file or folder with the same name."""
    name = spec.rpartition(":")[0] or spec
    if name in (*available_suites(), *CATALOGUE) and Path(name).exists():
        return f"{name} is a suite of tseval. To use your file or folder of the same name, write ./{spec}"
    return None


def check_suite_spec(spec: str) -> None:
    """Check that a suite exists, without reading it; raise the errors of `load_suite`."""
    if names_language(spec):
        parse_language(spec)
    else:
        locate_suite(spec)


def locate_suite(spec: str | Path) -> tuple[Path, str | None]:
    """Find a suite, and the method of `NAME:METHOD`; None if there is no method."""
    if not isinstance(spec, str) or ":" not in spec or Path(spec).exists():
        return find_suite(spec), None
    name, _, method = spec.rpartition(":")
    path = find_suite(name)
    methods = (*METHODS, *methods_of(path))
    if method not in methods:
        raise SuiteError(f"{name}: no method {method!r}.\n  {suggest(method, methods, 'Methods')}")
    return path, method
