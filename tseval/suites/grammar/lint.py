"""Check grammars: what an author would want to know before trusting the numbers.

What counts as a fault is stated so that the published set of Marvin & Linzen passes: items are compared
whole, not sentence by sentence, and an item's sentences must hang together by minimal steps, not every
pair be minimal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tseval.suites.designs import check_predictions
from tseval.suites.findings import LintFinding, check_sentences_of, missing_words, quoted_texts, some
from tseval.suites.grammar.expansion import check_size, expand
from tseval.suites.grammar.folder import SUITE_FILE, SuiteFolder, read_folder
from tseval.suites.grammar.lexicon import class_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tseval.items import Case
    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.lexicon import Lexicon


def lint(path: Path, knows: Callable[[str], bool] | None = None) -> list[LintFinding]:
    """Check a suite folder or a single grammar.

    Args:
        path: The folder, or one `.jinja` file; of its lexicon then only what it uses is judged.
        knows: Tells whether a model knows a word, where that is to be checked.

    Returns:
        What was found, in the order of the cases; empty when all is well.

    Raises:
        TsevalError: The grammars cannot be read or expanded.
    """
    folder = read_folder(path)
    grammars = folder.load()
    findings: list[LintFinding] = []
    words: dict[str, None] = {} if folder.terminator is None else {folder.terminator: None}
    for grammar in grammars:
        check_size(grammar, fix="Shorten the slots: all items are looked at.")
        case = expand(grammar, folder.contrasts_of(grammar), range(grammar.n_items), folder.terminator)
        findings += _case_findings(grammar, case, folder.terminator, knows)
        words |= dict.fromkeys(word for text in _sentences(case) for word in text.split())
    if path.is_dir():
        findings += _folder_findings(folder, grammars)
    return [*findings, *missing_words(list(words), path, knows)]


def minimal_step(one: str, other: str) -> bool:
    """Tell whether two sentences differ minimally.

    They do if one contiguous stretch of words is changed, added or left out, or if the same words stand
    in another order.
    """
    left, right = one.split(), other.split()
    if sorted(left) == sorted(right):
        return left != right
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    # A word that both stretches share would split the difference in two.
    return not set(left[start : len(left) - end]) & set(right[start : len(right) - end])


def _case_findings(
    grammar: Grammar, case: Case, terminator: str | None, knows: Callable[[str], bool] | None
) -> Iterator[LintFinding]:
    yield from _unexpected(grammar, case)
    yield from _not_minimal(grammar, case)
    for found in check_sentences_of(case, terminator, knows):
        line = grammar.sentences[found.label][0].line
        yield LintFinding(found.severity, grammar.path, line, found.message)
    for prediction, message in check_predictions(case):
        line = grammar.document.line("predictions", prediction)
        yield LintFinding("warning", grammar.path, line, f"{prediction!r}: {message}.")
    yield from _unbalanced(grammar, case)


def _unexpected(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    found = {"items": case.n_items} | {
        label: case.sentences.column(label)[0].as_py() for label in case.labels
    }
    for key, expected in grammar.expect.items():
        if found[key] != expected:
            line = grammar.document.line("expect", key)
            message = f"{key}: expected {expected!r}, found {found[key]!r}."
            yield LintFinding("error", grammar.path, line, message)


def _not_minimal(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    """Report items whose sentences are not linked by minimal steps; equal ones are told elsewhere."""
    columns = [case.sentences.column(label).to_pylist() for label in case.labels]
    loose = []
    for texts in zip(*columns, strict=True):
        by_label = dict(zip(case.labels, texts, strict=True))
        equal = any(by_label[contrast.better] == by_label[contrast.worse] for contrast in case.contrasts)
        if not equal and not _linked(list(dict.fromkeys(texts))):
            loose.append(texts)
    if loose:
        line = grammar.sentences[case.labels[1]][0].line
        what = "differ in more than one contiguous stretch of words"
        message = f"{len(loose):,} of {case.n_items:,} items {what}, for example {quoted_texts(loose[0])}."
        yield LintFinding("error", grammar.path, line, message)


def _linked(texts: Sequence[str]) -> bool:
    """Whether minimal steps lead from the first sentence to every other."""
    reached, waiting = [texts[0]], list(texts[1:])
    while waiting:
        near = [text for text in waiting if any(minimal_step(text, other) for other in reached)]
        if not near:
            return False
        reached += near
        waiting = [text for text in waiting if text not in near]
    return True


def _unbalanced(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    """Report numbers and declared features whose values are not equally frequent.

    Features that count (n_intervening) follow from the words and are not expected to be balanced.
    """
    numbers = [f"{slot.name}_number" for slot in grammar.slots if slot.has_number and slot.numbers > 1]
    for name in [*numbers, *grammar.features]:
        values = Counter(case.features.column(name).to_pylist())
        if len(set(values.values())) > 1 and all(isinstance(value, (str, bool)) for value in values):
            shares = some([f"{value} {count:,}" for value, count in values.items()])
            message = f"{name!r} is unbalanced: {shares}."
            yield LintFinding("warning", grammar.path, _feature_line(grammar, name), message)


def _feature_line(grammar: Grammar, name: str) -> int:
    if name in grammar.features:
        return grammar.document.line("features", name)
    return grammar.document.line("slots", name.removesuffix("_number"))


def _folder_findings(folder: SuiteFolder, grammars: list[Grammar]) -> Iterator[LintFinding]:
    for file in folder.unlisted:
        message = f"{file.name} is not listed in 'cases', so it is not part of the suite."
        yield LintFinding("warning", folder.path / SUITE_FILE, None, message)
    used: dict[Path, set[str]] = {}
    lexicons: dict[Path, Lexicon] = {}
    for grammar in grammars:
        if grammar.lexicon is not None:
            lexicons[grammar.lexicon.document.path] = grammar.lexicon
            names = used.setdefault(grammar.lexicon.document.path, set())
            slots = [slot.class_name for slot in grammar.slots if slot.class_name is not None]
            names |= {name for classes in slots for name in class_names(classes)}
    for path, lexicon in lexicons.items():
        for name, words in lexicon.classes.items():
            if name not in used[path]:
                message = f"no grammar uses the class {name!r}."
                yield LintFinding("warning", path, words[0].line, message)
        for word in lexicon.unused_irregular:
            line = lexicon.document.line("irregular", word)
            yield LintFinding("warning", path, line, f"no class lists the irregular word {word!r}.")


def _sentences(case: Case) -> Iterator[str]:
    for label in case.labels:
        for text in case.sentences.column(label).unique().to_pylist():
            assert text is not None
            yield text
