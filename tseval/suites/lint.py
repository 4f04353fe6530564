"""Lint: checks of grammars, designs and data sets, which an author needs before trusting the numbers.

The checks are defined so that the published set of Marvin & Linzen passes. Whole items are compared, not
single sentences. Minimal steps must connect all sentences of an item, but not every pair must be minimal.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import GrammarError, counted, suggest
from tseval.questions.regions import Regions
from tseval.suites.data.catalogue import columns_at
from tseval.suites.data.exclusions import KNOWN_ERRORS, count_known
from tseval.suites.data.reading import read_data
from tseval.suites.findings import Findings, LintFinding, Whole, WordsKnown, quoted_texts, some
from tseval.suites.grammar.code_problems import code_problems
from tseval.suites.grammar.expand import check_size, expand
from tseval.suites.grammar.folders import SUITE_FILE, SuiteFolder, read_folder
from tseval.suites.grammar.source import class_names
from tseval.suites.guessed_forms import guessed_forms
from tseval.suites.mistakes import (
    ENDS_SENTENCE,
)
from tseval.suites.overview import overview_of
from tseval.suites.prediction_checks import check_predictions
from tseval.suites.sentence_checks import check_sentences_of, missing_words
from tseval.suites.slips import Slip, slips_of, slips_of_folder
from tseval.writing import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tseval.items import Case
    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.source import Lexicon
    from tseval.writing import Writing


def lint(
    path: Path,
    knows: Callable[[str], bool] | None = None,
    sample: int | None = None,
    *,
    name_all: bool = False,
) -> Findings:
    """Check a suite folder or a single grammar. For one grammar, only the lexicon entries that it uses count.

    Args:
        path: A suite folder or a grammar file.
        knows: Returns whether a model knows a word; None to skip this check.
        sample: Check this many random items of each case; the first item is always among them.
        name_all: Name all words that the model does not know, not only the first.

    Returns:
        Findings in the order of the cases. A file that cannot be read or expanded is an error among them.
    """
    folder = read_folder(path)
    vocabulary = None if knows is None else WordsKnown(knows, name_all)
    findings = Findings()
    words: dict[str, None] = {} if folder.terminator is None else {folder.terminator: None}
    grammars: list[Grammar] = []
    texts: dict[str, None] = {}
    for name in folder.files:
        grammar = None
        try:
            (grammar,) = folder.load([name])
            check_size(grammar, sample, "tseval lint checks all items: shorten the slots, or add --sample N.")
            rows: Sequence[int] = range(grammar.n_items)
            if sample is not None and sample < grammar.n_items:
                drawn = random.Random(grammar.name).sample(rows, sample)  # noqa: S311 - no secret
                rows = sorted({0, *drawn[1:]})
            case = expand(grammar, folder.contrasts_of(grammar), rows, folder.terminator)
        except GrammarError as error:
            # An error in a lexicon occurs in every grammar that uses it, but is reported once.
            problems = dict.fromkeys(map(_as_finding, (error, *error.others)))
            findings += [finding for finding in problems if finding not in findings]
            findings += () if grammar is None else _of_code(grammar, all_items=False)
            continue
        grammars.append(grammar)
        findings.n_items += case.n_items
        findings.cases += (overview_of(case, grammar.slots, grammar.n_items),)
        findings += _of_code(grammar, all_items=len(rows) == grammar.n_items)
        findings += _case_findings(grammar, case, folder.terminator, vocabulary)
        if folder.writing is not None:
            findings += _as_written(grammar, case, folder.terminator, folder.writing)
        case_texts = _texts_of(case)
        texts |= case_texts
        words |= dict.fromkeys(word for text in case_texts for word in text.split())
    doubts = guessed_forms(grammars, texts, words, is_language_stated=folder.is_language_stated)
    findings += [LintFinding(severity, file, line, message) for severity, file, line, message in doubts]
    findings += map(_finding_of, slips_of_folder(folder, grammars, words))
    if len(grammars) == len(folder.files):
        folder.load()  # raises errors that concern all grammars together
        findings += _folder_findings(folder, grammars) if path.is_dir() else ()
    findings += missing_words(list(words), path, vocabulary)
    return findings


def _finding_of(slip: Slip) -> LintFinding:
    return LintFinding(slip.severity, slip.path, slip.line, slip.message, slip.counts)


def _as_finding(error: GrammarError) -> LintFinding:
    assert error.path is not None
    message = " ".join(filter(None, (error.message, error.fix)))
    return LintFinding("error", Path(error.path), error.line, message)


def _of_code(grammar: Grammar, *, all_items: bool) -> list[LintFinding]:
    problems = code_problems(grammar, all_items=all_items)
    return [LintFinding(severity, grammar.path, line, message) for severity, line, message in problems]


def minimal_step(first_text: str, second_text: str) -> bool:
    """Return whether two sentences differ in one stretch of words, or only in the order of the words."""
    left, right = first_text.split(), second_text.split()
    if sorted(left) == sorted(right):
        return left != right
    shorter, start, end = min(len(left), len(right)), 0, 0
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    # If both stretches share a word, there are really two differences.
    return not set(left[start : len(left) - end]) & set(right[start : len(right) - end])


def _case_findings(
    grammar: Grammar, case: Case, terminator: str | None, known: WordsKnown | None
) -> Iterator[LintFinding]:
    yield from _unexpected(grammar, case)
    yield from _not_minimal(grammar, case)
    for severity, label, message in check_sentences_of(case, terminator, known):
        yield LintFinding(severity, grammar.path, grammar.sentences[label][0].line, message)
    yield from _never_marked(grammar, case)
    yield from map(_finding_of, slips_of(grammar, case))
    for prediction, message in check_predictions(case):
        line = grammar.document.line("predictions", prediction)
        yield LintFinding("warning", grammar.path, line, f"{prediction!r}: {message}.")
    yield from _unbalanced(grammar, case)


def _unexpected(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    actual = {"items": grammar.n_items} | case.sentences.slice(0, 1).to_pylist()[0]
    for key, expected in grammar.expect.items():
        if isinstance(actual[key], str):
            actual[key] = without_boundaries(actual[key])
        if actual[key] != expected:
            line = grammar.document.line("expect", key)
            message = f"{key}: expected {expected!r}, found {actual[key]!r}."
            yield LintFinding("error", grammar.path, line, message)


def _not_minimal(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    """Report items whose sentences are not linked by minimal steps; equal sentences are reported elsewhere.

    A separable verb is a correct item of this kind, so this never fails a check. Designs compare regions:
    confounds are found from their predictions.
    """
    if isinstance(case.question, Regions):
        return
    columns = [case.sentences.column(label).to_pylist() for label in case.labels]
    loose = []
    for texts in zip(*columns, strict=True):
        by_label = dict(zip(case.labels, texts, strict=True))
        equal = any(by_label[contrast.better] == by_label[contrast.worse] for contrast in case.contrasts)
        if not equal and not _linked(list(dict.fromkeys(texts))):
            loose.append(texts)
    if loose:
        line = grammar.sentences[case.labels[1]][0].line
        problem = "differ in more than one contiguous stretch of words"
        message = f"{len(loose):,} of {case.n_items:,} items {problem}, for example {quoted_texts(loose[0])}."
        message += " Keep one difference, unless you mean both."
        yield LintFinding("warning", grammar.path, line, message, counts=False)


def _linked(texts: Sequence[str]) -> bool:
    reached, waiting = [texts[0]], list(texts[1:])
    while near := [text for text in waiting if any(minimal_step(text, other) for other in reached)]:
        reached += near
        waiting = [text for text in waiting if text not in near]
    return not waiting


def _as_written(
    grammar: Grammar, case: Case, terminator: str | None, writing: Writing
) -> Iterator[LintFinding]:
    """Report pairs and words that become ambiguous or odd when sentences are written as people write them."""
    end = "" if terminator is None else f" {terminator}"
    texts = {label: [str(text) for text in case.sentences[label].to_pylist()] for label in case.labels}
    written = {text: writing.write(text + end)[0] for column in texts.values() for text in column}
    for contrast in case.contrasts:
        pairs = list(zip(texts[contrast.better], texts[contrast.worse], strict=True))
        equal = [pair for pair in pairs if pair[0] != pair[1] and written[pair[0]] == written[pair[1]]]
        loose = [pair for pair in pairs if minimal_step(*pair) and not _stays_minimal(*pair, written)]
        for changed_pairs, problem in ((equal, "become equal"), (loose, "are no longer minimal")):
            if changed_pairs:
                line = grammar.sentences[contrast.worse][0].line
                both = quoted_texts([written[text] for text in changed_pairs[0]])
                example = f"as people write them, for example {both}."
                message = (
                    f"{len(changed_pairs):,} of {len(pairs):,} pairs of {str(contrast)!r} {problem} {example}"
                )
                yield LintFinding("warning", grammar.path, line, message)
    inside = {word: text for text in written for word in text.split()[1:]}
    for word, text in inside.items():
        if word in ENDS_SENTENCE and not text.endswith(word):
            message = f"{word!r} is inside {text!r}: the next word is written as within a sentence."
            yield LintFinding("warning", grammar.path, None, message)
        elif word[:1].isupper() and word[:1].lower() + word[1:] in inside:
            message = f"{word!r} is inside {text!r}, but is written with a small letter elsewhere."
            yield LintFinding("warning", grammar.path, None, message)


def _stays_minimal(first_text: str, second_text: str, written: Mapping[str, str]) -> bool:
    """Return whether a pair is still minimal as people write it, apart from initial capitals."""
    first, second = (written[text].lower() for text in (first_text, second_text))
    return first == second or minimal_step(first, second)


def _unbalanced(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    # The feature of a repeated slot is a sequence of numbers. Rare sequences mislead nobody.
    numbers = [
        f"{slot.name}_number"
        for slot in grammar.slots
        if slot.has_number and slot.numbers > 1 and slot.repeat is None
    ]
    for name in [*numbers, *grammar.features]:
        values = Counter(case.features.column(name).to_pylist())
        # Numeric features such as n_intervening follow from the words and need not be balanced.
        if len(set(values.values())) > 1 and all(isinstance(value, (str, bool)) for value in values):
            shares = some([f"{value} {count:,}" for value, count in values.items()])
            keys = ("features", name) if name in grammar.features else ("slots", name.removesuffix("_number"))
            message = f"{name!r} is unbalanced: {shares}."
            yield LintFinding("warning", grammar.path, grammar.document.line(*keys), message)


def _never_marked(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    """Report regions that the front matter names but no sentence marks."""
    if isinstance(case.question, Regions) and grammar.experiment is not None:
        marked = {name for names in case.question.named.values() for name in names}
        for name in grammar.experiment.regions:
            if name not in marked:
                message = f"no sentence marks the region {name!r}. Write [{name} ...], or delete the name."
                yield LintFinding("warning", grammar.path, grammar.document.line("regions"), message)


def _folder_findings(folder: SuiteFolder, grammars: list[Grammar]) -> Iterator[LintFinding]:
    labels = {label for grammar in grammars for label in grammar.labels}
    for contrast in folder.contrasts or ():
        for side in (contrast.better, contrast.worse):
            if side not in labels:
                message = f"'{contrast}': no case has a sentence labelled {side!r}."
                path, line = folder.path / SUITE_FILE, folder.line_of("contrasts")
                yield LintFinding("warning", path, line, f"{message} {suggest(side, labels, 'Labels')}")
    for file in folder.unlisted:
        message = f"{file.name} is not listed in 'cases', so it is not part of the suite."
        yield LintFinding("warning", folder.path / SUITE_FILE, folder.line_of("cases"), message)
    used: dict[Path, tuple[Lexicon, set[str]]] = {}
    for grammar in grammars:
        if grammar.lexicon is not None:
            _, names = used.setdefault(grammar.lexicon.document.path, (grammar.lexicon, set()))
            slots = [slot.class_name for slot in grammar.slots if slot.class_name is not None]
            names |= {name for classes in slots for name in class_names(classes)}
    for path, (lexicon, names) in used.items():
        for name, words in lexicon.classes.items():
            if name not in names:
                message = f"no grammar uses the class {name!r}."
                yield LintFinding("warning", path, words[0].line, message)
        for word in lexicon.unused_irregular:
            line = lexicon.document.line("irregular", word)
            yield LintFinding(
                "warning",
                path,
                line,
                f"the word {word!r} is listed under 'irregular', but no class of the lexicon has this word.",
            )


def _texts_of(case: Case) -> dict[str, None]:
    texts = (text for label in case.labels for text in case.sentences[label].unique().to_pylist())
    return dict.fromkeys(map(str, texts))


def lint_data(
    path: Path,
    knows: Callable[[str], bool] | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    name_all: bool = False,
) -> Findings:
    """Check a data file or a folder of data files; path and columns as in `read_data`.

    Findings are in the order of the cases, and empty if all is well.
    """
    data = read_data(path, columns=columns_at(path, columns))
    vocabulary = None if knows is None else WordsKnown(knows, name_all)
    findings = Findings(LintFinding("note", path, None, f"{note}.") for note in data.notes)
    findings.n_items = sum(case.n_items for case in data.cases)
    findings.cases = tuple(map(overview_of, data.cases))
    for error, n_items in count_known(data):
        full_message = f"{counted(n_items, 'known error')}: {error.what} ({error.address})"
        full_message += f". To leave these items out: tseval run --exclude {KNOWN_ERRORS}."
        findings.append(LintFinding("warning", path, None, full_message))
    words: dict[str, None] = {}
    for case in data.cases:
        where = f"case {case.name!r}: " if len(data.cases) > 1 else ""
        for severity, _, message in check_sentences_of(case, None, vocabulary):
            full_message = f"{where}{message}"
            finding_message = Whole(full_message) if isinstance(message, Whole) else full_message
            findings.append(LintFinding(severity, path, None, finding_message))
        for prediction, message in check_predictions(case):
            findings.append(LintFinding("warning", path, None, f"{where}{prediction!r}: {message}."))
        words |= dict.fromkeys(word for text in _texts_of(case) for word in text.split())
    findings += missing_words(list(words), path, vocabulary)
    return findings
