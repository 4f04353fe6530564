"""Write a copy of a suite's grammars with hidden words."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import yaml

from tseval.errors import GrammarError, SuiteError, suggest
from tseval.files import write_text
from tseval.suites.grammar.folders import SUITE_FILE, SuiteFolder, read_folder
from tseval.suites.grammar.grammar import ENGLISH
from tseval.suites.grammar.source import load_lexicon, parse_yaml, read_grammar_text
from tseval.writing import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tseval.suites.grammar.source import Lexicon, Word, YamlValue


def write_twin(path: Path, private: Path, out: Path) -> None:
    """Write the grammars of a suite into a new folder, with other words in the classes of its lexicons.

    Args:
        path: A folder of grammars, or one grammar.
        private: A lexicon. For each of its classes it lists as many words as the suite, but none of the
            suite's words. Classes that it leaves out stay unchanged: determiners, licensors.
        out: The new folder.
    """
    folder = read_folder(path)
    if out.exists():
        raise SuiteError(
            f"{out}: this file or folder exists already.\n  Choose another name, or remove {out}."
        )
    lexicons = [grammar.lexicon for grammar in folder.load() if grammar.lexicon is not None]
    lexicons_by_path = {
        lexicon.document.path: lexicon
        for lexicon in lexicons
        if lexicon.document.path.suffix in (".yaml", ".yml")
    }
    if not lexicons_by_path:
        fix = "Move the words to a file in the same folder, and write: lexicon: lexicon.yaml"
        raise SuiteError(
            f"{path}: the words of this suite are in the grammar files, not in a lexicon file.\n  {fix}"
        )
    withheld = load_lexicon(private, language_of(folder.language) == ENGLISH)
    _hold_to(lexicons_by_path, withheld)
    texts = {file.name: _with_words(file, withheld) for file in lexicons_by_path}
    out.mkdir(parents=True)
    for file in {*folder.files.values()}:
        shutil.copy(file, out / file.name)
    for name, text in (texts | {SUITE_FILE: _about(folder)}).items():
        write_text(out / name, text)


def _hold_to(suite_lexicons: Mapping[Path, Lexicon], withheld: Lexicon) -> None:
    """Refuse unknown classes, classes of another size, and words that the suite already has."""
    classes = {name: words for lexicon in suite_lexicons.values() for name, words in lexicon.classes.items()}
    public = {form for name in withheld.classes if name in classes for form in _forms(classes[name])}
    for name, words in withheld.classes.items():
        part, _, title = name.partition(".")
        if name not in classes:
            fix = suggest(name, classes, "Classes")
            raise withheld.document.error(f"the suite has no class {name!r}.", part, title, fix=fix)
        if len(words) != len(classes[name]):
            raise withheld.document.error(
                f"the class {name!r} has {len(words)} hidden words, but the same class of the suite has "
                f"{len(classes[name])} words.",
                part, title,
                fix=f"List {len(classes[name])} hidden words, so that each case keeps its number of items.",
            )  # fmt: skip
        for word in words:
            if shared := next((form for form in _forms([word]) if form in public), None):
                raise GrammarError(
                    f"{shared!r} is a word of the suite, so it cannot be hidden.", word.path, word.line,
                    "Choose a word that the suite does not have.",
                )  # fmt: skip


def _forms(words: Iterable[Word]) -> Iterator[str]:
    for word in words:
        yield word.lemma
        yield from word.forms.values()


def _with_words(file: Path, withheld: Lexicon) -> str:
    """Return the text of a lexicon with the hidden words instead of its words."""
    document = parse_yaml(read_grammar_text(file), file, words=True)
    content = {part: dict(document.mapping(part)) for part in document.data}
    for part in withheld.document.data:
        for name, entries in withheld.document.mapping(part).items():
            if part == "irregular" or name in content.get(part, {}):
                content.setdefault(part, {})[name] = entries
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _about(folder: SuiteFolder) -> str:
    """Return `suite.yaml` of the copy: that of the suite, with a title that says it has hidden words."""
    content: dict[str, YamlValue] = {}
    if (folder.path / SUITE_FILE).is_file():
        file = folder.path / SUITE_FILE
        content = parse_yaml(read_grammar_text(file), file).data
    return yaml.safe_dump(
        {**content, "title": f"{folder.title}, hidden words"}, sort_keys=False, allow_unicode=True
    )
