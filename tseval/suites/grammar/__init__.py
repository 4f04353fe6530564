"""Folders of grammars: read, checked, exported, written again with words that are withheld."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from itertools import combinations
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tseval.errors import GrammarError, SuiteError, suggest
from tseval.files import write_text
from tseval.items import refuse_unknown_cases
from tseval.questions import Contrast
from tseval.suites.grammar.grammar import ENGLISH, Grammar, load_grammar, read_contrasts
from tseval.suites.grammar.source import (
    YamlDocument,
    composed,
    describe,
    load_lexicon,
    parse_yaml,
    read_grammar_text,
)
from tseval.writing import LANGUAGES, Writing, language_of, read_writing, rules_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case
    from tseval.suites.grammar.source import Lexicon, Word, YamlValue


SUITE_FILE = "suite.yaml"
GRAMMAR_SUFFIX = ".jinja"
SUITE_KEYS = ("title", "source", "terminator", "contrasts", "cases", "writing", "language")


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """A suite as it lies on disk: a folder of grammars, or one grammar alone."""

    name: str  # the folder's or the file's
    title: str  # as a reader would cite it
    source: str | None  # its reference
    terminator: str | None  # token after every sentence
    contrasts: tuple[Contrast, ...] | None  # of the suite; None for the default
    files: Mapping[str, Path]  # case name to grammar, in order
    unlisted: tuple[Path, ...]  # grammars in the folder that `suite.yaml` leaves out
    path: Path  # of the folder or file
    writing: Writing | None = LANGUAGES["english"]
    language: str = ENGLISH  # whose words it has; English ones are inflected by rule
    notes: tuple[str, ...] = ()  # what a reader of the numbers should know of how it is written
    document: YamlDocument | None = None  # its `suite.yaml`
    is_language_stated: bool = False  # in `suite.yaml`; without that the words are taken for English

    def line_of(self, *keys: str | int) -> int | None:
        """Tell on which line of `suite.yaml` a key stands; None where it does not."""
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
                one, other = (first, grammar) if grammar.experiment is None else (grammar, first)
                raise GrammarError(
                    f"this grammar compares regions, but {other.path.name} compares whole sentences.",
                    one.path,
                    1,
                    "Put the two grammars into two folders: one suite has one way of scoring.",
                )
        return grammars

    def contrasts_of(self, grammar: Grammar) -> tuple[Contrast, ...]:
        """Choose the contrasts that count for one case; none where it states predictions."""
        if grammar.experiment is not None:
            return ()
        if grammar.contrasts is not None:
            return grammar.contrasts
        if self.contrasts is None:
            return tuple(Contrast(better, worse) for better, worse in combinations(grammar.labels, 2))
        chosen = tuple(one for one in self.contrasts if {one.better, one.worse} <= set(grammar.labels))
        if not chosen:
            sides = {side: None for one in self.contrasts for side in (one.better, one.worse)}
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
    found = {composed(file.stem): file for file in sorted(path.glob(f"*{GRAMMAR_SUFFIX}"))}
    if not found:
        raise SuiteError(
            f"{path}: the folder has no grammars.\n  Put at least one {GRAMMAR_SUFFIX} file into the folder."
        )
    name = composed(path.resolve().name)
    if not os.path.lexists(path / SUITE_FILE):
        return _without_file(name, found, path)
    document = parse_yaml(read_grammar_text(path / SUITE_FILE), path / SUITE_FILE)
    document.check_keys(SUITE_KEYS)
    files, writing = _listed(document, found), document.data.get("writing")
    named = writing.get("language") if isinstance(writing, dict) else writing
    language = document.text("language") or (
        named if isinstance(named, str) else _language_stated(files.values())
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
        unlisted=tuple(file for case, file in found.items() if case not in files),
        path=path,
        writing=rules,
        language=language,
        notes=notes,
        document=document,
        is_language_stated=document.text("language") is not None or isinstance(named, str),
    )


_LANGUAGE = re.compile(r"^language:[ \t]*[\"']?([\w -]+?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)


def _language_stated(files: Iterable[Path]) -> str:
    """Return the language that all grammars of a suite state; English where they state none, or several."""
    stated = [_LANGUAGE.search(read_grammar_text(file)) for file in files]
    names = {found[1].casefold() if found else ENGLISH for found in stated}
    return names.pop() if len(names) == 1 else ENGLISH


def _without_file(name: str, found: dict[str, Path], path: Path) -> SuiteFolder:
    """Make the suite of grammars that have no `suite.yaml` beside them."""
    language = _language_stated(found.values())
    rules, notes = rules_for(language)
    return SuiteFolder(name, name, None, ".", None, found, (), path, rules, language, notes)


def _listed(document: YamlDocument, found: Mapping[str, Path]) -> dict[str, Path]:
    """Put the grammars into the order of `cases`; all of them by name where it is not given."""
    cases = document.data.get("cases")
    if cases is None:
        return dict(found)
    if not isinstance(cases, list) or not cases:
        raise document.error(
            f"'cases' is {describe(cases)}.",
            "cases",
            fix="Write a list of the names of the grammar files, without '.jinja'.",
        )
    files: dict[str, Path] = {}
    for position, case in enumerate(cases):
        if not isinstance(case, str) or case not in found:
            fix = suggest(str(case), found, "Grammars")
            raise document.error(f"the folder has no grammar {case!r}.", "cases", position, fix=fix)
        if case in files:
            raise document.error(f"the case {case!r} appears twice.", "cases", position, fix="Keep one.")
        files[case] = found[case]
    return files


def write_items(
    blocks: Iterable[Case], format_: str, out: IO[bytes], labels: Sequence[str] | None = None
) -> None:
    """Write items as they come; a large case may come in several blocks.

    `tsv` holds the case, then the sentences in label order, and the features of strings of formal languages;
    `jsonl` one object per item; `parquet` a column for every label and feature. Given the `labels` of all
    cases, `tsv` begins with a header and has a column for each, which is empty where a case lacks it.
    """
    as_text = (case.as_text() for case in blocks)
    if format_ == "tsv":
        _write_tsv(as_text, out, labels)
    else:
        {"jsonl": _write_jsonl, "parquet": _write_parquet}[format_](as_text, out)


def _write_tsv(blocks: Iterable[Case], out: IO[bytes], labels: Sequence[str] | None) -> None:
    for place, case in enumerate(blocks):
        asks = case.question.asks() is not None  # strings of a formal language say little by themselves
        if labels is not None and place == 0:
            names = ["case", *labels, *(case.features.column_names if asks else ())]
            out.write("\t".join(names).encode() + b"\n")
        columns: list[Any] = [
            case.sentences.column(label).combine_chunks()
            if label in case.labels
            else pa.repeat("", case.n_items)
            for label in labels or case.labels
        ]
        if asks:
            for name in case.features.column_names:
                values: Any = case.features[name].combine_chunks().cast(pa.string())
                columns.append(pc.binary_join_element_wise(name, values, "="))
        columns[-1] = pc.binary_join_element_wise(columns[-1], "", "\n")
        lines = pc.binary_join_element_wise(case.name, *columns, "\t")
        # The rows of a text column lie one after the other in memory: that is the file.
        _, offsets, texts = lines.buffers()
        if texts is not None:
            out.write(memoryview(texts)[: np.frombuffer(offsets, dtype=np.int32)[case.n_items]])


def _write_jsonl(blocks: Iterable[Case], out: IO[bytes]) -> None:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for case in blocks:
        row = {name: getattr(case, name) for name in ("construction", "phenomenon", "dependency")}
        for item in case.items():
            own = {"sentences": item.sentences, "features": item.features}
            out.write(encode({"case": item.case, "item": item.index, **own, **row}).encode() + b"\n")


def _write_parquet(blocks: Iterable[Case], out: IO[bytes]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import, and rarely wanted

    tables = []
    for case in blocks:
        columns: dict[str, Any] = {"case": pa.repeat(case.name, case.n_items), "item": case.index}
        for name in ("construction", "phenomenon", "dependency"):
            columns[name] = pa.array([getattr(case, name)] * case.n_items, type=pa.string())
        for table in (case.sentences, case.features):
            columns |= {name: table.column(name) for name in table.column_names}
        tables.append(pa.table(columns))
    # Cases differ in their features, so the columns are known only when all have been seen.
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), out)


def write_twin(path: Path, private: Path, out: Path) -> None:
    """Write the grammars of a suite into a new folder, with other words in the classes of its lexicons.

    Args:
        path: A folder of grammars, or one.
        private: A lexicon. It lists as many words as the suite for each class that it has, and none that
            stands in one of these classes of the suite. Classes that it leaves out stay: determiners,
            licensors.
        out: The new folder.
    """
    folder = read_folder(path)
    if out.exists():
        raise SuiteError(
            f"{out}: this file or folder exists already.\n  Choose another name, or remove {out}."
        )
    lexicons = [grammar.lexicon for grammar in folder.load() if grammar.lexicon is not None]
    own = {one.document.path: one for one in lexicons if one.document.path.suffix in (".yaml", ".yml")}
    if not own:
        fix = "Move the words to a file in the same folder, and write: lexicon: lexicon.yaml"
        raise SuiteError(
            f"{path}: the words of this suite are in the grammar files, not in a lexicon file.\n  {fix}"
        )
    withheld = load_lexicon(private, language_of(folder.language) == ENGLISH)
    _hold_to(own, withheld)
    texts = {file.name: _with_words(file, withheld) for file in own}
    out.mkdir(parents=True)
    for file in {*folder.files.values()}:
        shutil.copy(file, out / file.name)
    for name, text in (texts | {SUITE_FILE: _about(folder)}).items():
        write_text(out / name, text)


def _hold_to(own: Mapping[Path, Lexicon], withheld: Lexicon) -> None:
    """Refuse classes that are not the suite's, too few or too many words, and words that the suite has."""
    classes = {name: words for lexicon in own.values() for name, words in lexicon.classes.items()}
    public = {form for name in withheld.classes if name in classes for form in _forms(classes[name])}
    for name, words in withheld.classes.items():
        part, _, title = name.partition(".")
        if name not in classes:
            fix = suggest(name, classes, "Classes")
            raise withheld.document.error(f"the suite has no class {name!r}.", part, title, fix=fix)
        if len(words) != len(classes[name]):
            raise withheld.document.error(
                f"the class {name!r} has {len(words)} withheld words, but the suite's class has "
                f"{len(classes[name])} words.",
                part, title, fix="List as many as the class has: then each case keeps its number of items.",
            )  # fmt: skip
        for word in words:
            if shared := next((form for form in _forms([word]) if form in public), None):
                raise GrammarError(
                    f"{shared!r} is a word of the suite, so it cannot be withheld.", word.path, word.line,
                    "Choose a word that the suite does not have.",
                )  # fmt: skip


def _forms(words: Iterable[Word]) -> Iterator[str]:
    for word in words:
        yield word.lemma
        yield from word.forms.values()


def _with_words(file: Path, withheld: Lexicon) -> str:
    """Return the text of a lexicon with the withheld words in place of its own."""
    document = parse_yaml(read_grammar_text(file), file, words=True)
    content = {part: dict(document.mapping(part)) for part in document.data}
    for part in withheld.document.data:
        for name, entries in withheld.document.mapping(part).items():
            if part == "irregular" or name in content.get(part, {}):
                content.setdefault(part, {})[name] = entries
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _about(folder: SuiteFolder) -> str:
    """Return `suite.yaml` of the twin: that of the suite, under a title that says what it is."""
    content: dict[str, YamlValue] = {}
    if (folder.path / SUITE_FILE).is_file():
        file = folder.path / SUITE_FILE
        content = parse_yaml(read_grammar_text(file), file).data
    return yaml.safe_dump(
        {**content, "title": f"{folder.title}, withheld words"}, sort_keys=False, allow_unicode=True
    )
