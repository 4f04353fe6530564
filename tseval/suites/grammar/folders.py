"""Read a suite of grammars from disk: a folder with suite.yaml, or one grammar file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from tseval.errors import GrammarError, SuiteError, suggest
from tseval.items import refuse_unknown_cases
from tseval.questions import Contrast
from tseval.suites.grammar.grammar import ENGLISH, Grammar, load_grammar, read_contrasts
from tseval.suites.grammar.source import YamlDocument, composed, describe, parse_yaml, read_grammar_text
from tseval.writing import LANGUAGES, Writing, read_writing, rules_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tseval.suites.grammar.source import Lexicon


SUITE_FILE = "suite.yaml"
GRAMMAR_SUFFIX = ".jinja"
SUITE_KEYS = ("title", "source", "terminator", "contrasts", "cases", "writing", "language")


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """A suite on disk: a folder of grammars, or a single grammar."""

    name: str  # the name of the folder or file
    title: str  # the name for a citation
    source: str | None  # the reference
    terminator: str | None  # token after every sentence
    contrasts: tuple[Contrast, ...] | None  # the suite's own contrasts; None for all pairs of labels
    files: Mapping[str, Path]  # case name to grammar, in order
    unlisted: tuple[Path, ...]  # grammars in the folder that `suite.yaml` leaves out
    path: Path  # the folder or file
    writing: Writing | None = LANGUAGES["english"]
    language: str = ENGLISH  # the language of the words; only English is inflected by rule
    notes: tuple[str, ...] = ()  # notes for the user about the writing of sentences
    document: YamlDocument | None = None  # the content of `suite.yaml`
    is_language_stated: bool = False  # whether `suite.yaml` states the language; the default is English

    def line_of(self, *keys: str | int) -> int | None:
        """Return the line of a key in `suite.yaml`; None if it is absent."""
        return None if self.document is None else self.document.lines.get(keys)

    def load(self, cases: Sequence[str] = ()) -> list[Grammar]:
        """Read the grammars of the given cases, or all, in the suite's order."""
        cases = [composed(name) for name in cases]
        refuse_unknown_cases(self.name, self.files, cases)
        lexicons: dict[Path, Lexicon] = {}
        grammars = [
            load_grammar(file, lexicons, self.language)
            for name, file in self.files.items()
            if not cases or name in cases
        ]
        first = grammars[0]
        for grammar in grammars:
            if (grammar.experiment is None) != (first.experiment is None):
                grammar_of_regions, other = (
                    (first, grammar) if grammar.experiment is None else (grammar, first)
                )
                raise GrammarError(
                    f"this grammar compares regions, but {other.path.name} compares whole sentences.",
                    grammar_of_regions.path,
                    1,
                    "Put the two grammars into two folders: one suite has one way of scoring.",
                )
        return grammars

    def contrasts_of(self, grammar: Grammar) -> tuple[Contrast, ...]:
        """Choose the contrasts of one case; none if it has predictions."""
        if grammar.experiment is not None:
            return ()
        if grammar.contrasts is not None:
            return grammar.contrasts
        if self.contrasts is None:
            return tuple(Contrast(better, worse) for better, worse in combinations(grammar.labels, 2))
        chosen = tuple(
            contrast
            for contrast in self.contrasts
            if {contrast.better, contrast.worse} <= set(grammar.labels)
        )
        if not chosen:
            sides = {side: None for contrast in self.contrasts for side in (contrast.better, contrast.worse)}
            unknown = next((side for side in sides if side not in grammar.labels), "")
            message = f"the suite's 'contrasts' compare no two labels of {grammar.path.name}."
            if self.document is None:
                raise GrammarError(message, grammar.path, 1, "Add 'contrasts:'.")
            fix = f"No sentence is labelled {unknown!r}. {suggest(unknown, grammar.labels, 'Labels')}"
            raise self.document.error(message, "contrasts", fix=fix)
        return chosen


def read_folder(path: Path) -> SuiteFolder:
    """Find the grammars of a suite folder, or take one grammar file as a suite."""
    if path.is_file() and path.suffix == GRAMMAR_SUFFIX:
        name = composed(path.stem)
        return _without_file(name, {name: path}, path)
    if not path.is_dir():
        raise SuiteError(
            f"{path}: this is neither a folder nor a grammar file.\n  Name a folder of {GRAMMAR_SUFFIX} "
            f"grammars, or one {GRAMMAR_SUFFIX} file."
        )
    grammar_files = {composed(file.stem): file for file in sorted(path.glob(f"*{GRAMMAR_SUFFIX}"))}
    if not grammar_files:
        raise SuiteError(
            f"{path}: the folder has no grammars.\n  Put at least one {GRAMMAR_SUFFIX} file into the folder."
        )
    name = composed(path.resolve().name)
    if not os.path.lexists(path / SUITE_FILE):
        return _without_file(name, grammar_files, path)
    document = parse_yaml(read_grammar_text(path / SUITE_FILE), path / SUITE_FILE)
    document.check_keys(SUITE_KEYS)
    files, writing = _listed(document, grammar_files), document.data.get("writing")
    named_language = writing.get("language") if isinstance(writing, dict) else writing
    language = document.text("language") or (
        named_language if isinstance(named_language, str) else _language_stated(files.values())
    )
    rules, notes = rules_for(language)
    if document.text("terminator") == "":
        fix = "Write 'terminator: null' if nothing ends a sentence."
        raise document.error("'terminator' is empty.", "terminator", fix=fix)
    if "writing" in document.data:
        rules, notes = read_writing(writing, str(path / SUITE_FILE)), ()
    return SuiteFolder(
        name=name,
        title=document.text("title") or name,
        source=document.text("source"),
        terminator=document.text("terminator") if "terminator" in document.data else ".",
        contrasts=read_contrasts(document, None),
        files=files,
        unlisted=tuple(file for case, file in grammar_files.items() if case not in files),
        path=path,
        writing=rules,
        language=language,
        notes=notes,
        document=document,
        is_language_stated=document.text("language") is not None or isinstance(named_language, str),
    )


_LANGUAGE = re.compile(r"^language:[ \t]*[\"']?([\w -]+?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)


def _language_stated(files: Iterable[Path]) -> str:
    """Return the language that all grammars of a suite state; English if they state none, or several."""
    stated = [_LANGUAGE.search(read_grammar_text(file)) for file in files]
    names = {match[1].casefold() if match else ENGLISH for match in stated}
    return names.pop() if len(names) == 1 else ENGLISH


def _without_file(name: str, files: dict[str, Path], path: Path) -> SuiteFolder:
    """Return the suite of grammars without a `suite.yaml`."""
    language = _language_stated(files.values())
    rules, notes = rules_for(language)
    return SuiteFolder(name, name, None, ".", None, files, (), path, rules, language, notes)


def _listed(document: YamlDocument, grammar_files: Mapping[str, Path]) -> dict[str, Path]:
    """Put the grammars into the order of `cases`. If there is no `cases`, return all, sorted by name."""
    cases = document.data.get("cases")
    if cases is None:
        return dict(grammar_files)
    if not isinstance(cases, list) or not cases:
        raise document.error(
            f"'cases' is {describe(cases)}.",
            "cases",
            fix="Write a list of the names of the grammar files, without '.jinja'.",
        )
    files: dict[str, Path] = {}
    for position, case in enumerate(cases):
        if not isinstance(case, str) or case not in grammar_files:
            fix = suggest(str(case), grammar_files, "Grammars")
            raise document.error(f"the folder has no grammar {case!r}.", "cases", position, fix=fix)
        if case in files:
            raise document.error(f"the case {case!r} appears twice.", "cases", position, fix="Keep one.")
        files[case] = grammar_files[case]
    return files
