"""Lint: what an author wants to know of grammars, designs and data sets before trusting the numbers.

What counts as a fault is stated so that the published set of Marvin & Linzen passes: items are compared
whole, not sentence by sentence, and an item's sentences must hang together by minimal steps, not every
pair be minimal.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.errors import GrammarError, counted, shortened, suggest
from tseval.questions.formulas import LEVELS, Operation, Region, parse, parts_of, regions_of
from tseval.questions.regions import ALL_PREDICTIONS, Regions
from tseval.questions.unknown import UNKNOWN_MARKS, Unknown, UnknownWords, rank_missing
from tseval.suites.data.catalogue import columns_at
from tseval.suites.data.exclusions import KNOWN_ERRORS, count_known
from tseval.suites.data.reading import read_data
from tseval.suites.grammar.code_problems import code_problems
from tseval.suites.grammar.expand import check_size, expand
from tseval.suites.grammar.folders import SUITE_FILE, SuiteFolder, read_folder
from tseval.suites.grammar.source import class_names
from tseval.suites.guessed_forms import guessed_forms
from tseval.suites.mistakes import (
    ENDS_SENTENCE,
    Found,
    Severity,
    contradictions,
    ended_twice,
    forgotten_regions,
    idle_labels,
    unseen_differences,
)
from tseval.suites.overview import CaseOverview, overview_of
from tseval.suites.slips import Slip, slips_of, slips_of_folder
from tseval.writing import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.items import Case
    from tseval.questions.regions import Prediction
    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.source import Lexicon
    from tseval.writing import Writing


_SHOWN = 8
UNKNOWN = UNKNOWN_MARKS[0]


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something to look at in a grammar or a data set."""

    # `error` where items are not what they claim, `warning` where they may mislead, `note` where some uses
    # would stumble over them.
    severity: Severity
    path: Path
    line: int | None
    message: str
    counts: bool = True  # whether the command ends with status 1 for it; notes never do

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line is not None else f"{self.path}"
        text = f"{where}: {self.severity}: {self.message}"
        return text if isinstance(self.message, Whole) else shortened(text)


class Whole(str):
    """A message that is printed whole, however long it is."""


@dataclass(frozen=True, slots=True)
class WordsKnown:
    """Which words a model knows, and whether all that it does not know are named."""

    knows: Callable[[str], bool]
    name_all: bool = False

    def missing(self, words: Sequence[str]) -> list[str]:
        """List the words that the model does not know."""
        return [word for word in words if not self.knows(word)]

    def listed(self, words: Sequence[str]) -> str:
        """List words: the first, or all."""
        return ", ".join(words) if self.name_all else some(words)

    def told(self, message: str) -> str:
        """Return a message that names words."""
        return Whole(message) if self.name_all else message


def check_sentences_of(
    case: Case, terminator: str | None, known: WordsKnown | None = None
) -> Iterator[Found]:
    """Check what can be told from the sentences of a case alone.

    The terminator is added to each when it is scored; `known` tells which words a model knows, where that is
    to be checked.
    """
    columns = {label: [str(text) for text in case.sentences[label].to_pylist()] for label in case.labels}
    items = list(zip(*columns.values(), strict=True))
    pairs = {
        str(contrast): list(zip(columns[contrast.better], columns[contrast.worse], strict=True))
        for contrast in case.contrasts
    }
    yield from _equal(case, items, pairs)
    yield from unseen_differences(case)
    yield from contradictions(case)
    yield from forgotten_regions(case)
    yield from idle_labels(case)
    yield from _repeated_items(case, items)
    yield from _repeated_pairs(case, items, pairs)
    if terminator is not None:
        yield from ended_twice(case, terminator)
    yield from _unequal_lengths(case, pairs)
    if known is not None:
        yield from _undecided(case, pairs, known.knows)
        yield from _half_known(case, known)


def missing_words(words: Sequence[str], path: Path, known: WordsKnown | None) -> Iterator[LintFinding]:
    """Name the words that a model does not know, where that is to be checked."""
    if known is not None and (missing := known.missing(words)):
        message = f"words missing from the vocabulary ({len(missing)}): {known.listed(missing)}."
        yield LintFinding("warning", path, None, known.told(message))


def some(values: Sequence[str]) -> str:
    """List the first of some values, and count the others."""
    more = f", and {len(values) - _SHOWN:,} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more


_Texts = tuple[str, ...]
_Pairs = dict[str, list[tuple[str, str]]]


def _equal(case: Case, items: list[_Texts], pairs: _Pairs) -> Iterator[Found]:
    contrasts = zip(*pairs.values(), strict=True)  # none where predictions are stated
    compared_items = zip(items, contrasts, strict=False)
    equal = [item for item, compared in compared_items if any(a == b for a, b in compared)]
    if equal:
        message = f"{len(equal):,} of {len(items):,} items have two equal sentences in a contrast"
        yield ("error", case.labels[1], f"{message}, for example {quoted_texts(equal[0])}.")


def _repeated_items(case: Case, items: list[_Texts]) -> Iterator[Found]:
    counts = Counter(items)
    if repeated := len(items) - len(counts):
        (texts, count), *_ = counts.most_common(1)
        example = f"{texts[0]!r} ({count} times)"
        message = f"{repeated:,} of {len(items):,} items repeat another, for example {example}."
        yield ("error", case.labels[0], message)


def _repeated_pairs(case: Case, items: list[_Texts], pairs: _Pairs) -> Iterator[Found]:
    """Report pairs that count several times in one row of the table, in items that differ elsewhere."""
    for contrast, compared in pairs.items():
        distinct = dict.fromkeys(zip(items, compared, strict=True))
        counts = Counter(pair for _, pair in distinct)
        if repeated := len(distinct) - len(counts):
            (pair, count), *_ = counts.most_common(1)
            message = f"{repeated:,} of {len(distinct):,} pairs of {contrast!r} repeat another"
            message += f", for example {quoted_texts(pair)} ({count} times)."
            yield ("warning", case.labels[0], message)


def _unequal_lengths(case: Case, pairs: _Pairs) -> Iterator[Found]:
    for contrast, compared in pairs.items():
        if unequal := [pair for pair in compared if len(pair[0].split()) != len(pair[1].split())]:
            message = f"{len(unequal):,} of {len(compared):,} pairs of {contrast!r} have unequal numbers of "
            message += (
                f"words, for example {quoted_texts(unequal[0])}: their scores are sums of unequally many "
            )
            yield ("note", case.labels[1], f"{message}terms.")


def _undecided(case: Case, pairs: _Pairs, knows: Callable[[str], bool]) -> Iterator[Found]:
    @cache
    def seen(word: str) -> str | None:
        return word if knows(word) else None

    def alike(first: str, second: str) -> bool:
        return first != second and [*map(seen, first.split())] == [*map(seen, second.split())]

    for contrast, compared in pairs.items():
        if undecided := [pair for pair in compared if alike(*pair)]:
            what = "are undecidable with this vocabulary: all words that differ are unknown, for example"
            message = f"{len(undecided):,} of {len(compared):,} pairs of {contrast!r} {what} "
            message += f"{quoted_texts(undecided[0])}."
            yield ("warning", case.labels[0], message)


def _half_known(case: Case, known: WordsKnown) -> Iterator[Found]:
    """Report pairs and predictions of which the vocabulary knows one form only, with the missing words."""
    texts = {label: [str(text) for text in case.sentences[label].to_pylist()] for label in case.labels}
    distinct = list(dict.fromkeys(text for column in texts.values() for text in column))
    missing = set(known.missing(list({word: None for text in distinct for word in text.split()})))
    seen = [" ".join(UNKNOWN if word in missing else word for word in text.split()) for text in distinct]
    words = UnknownWords(
        pa.table({"sentence": pa.array(distinct, pa.string()), "seen": pa.array(seen, pa.string())}),
        Unknown(mark=UNKNOWN),
    )
    if not words.of_rows:
        return
    place = {text: row for row, text in enumerate(distinct)}
    rows = {label: np.array([place[text] for text in column], np.int64) for label, column in texts.items()}
    for what, labels, half_known in _half_known_items(case, words, rows, np.array(seen)):
        if half_known.any():
            costs = rank_missing(words.count_missing([rows[label][half_known] for label in labels]))
            missing_words = known.listed([f"{word} ({count:,})" for word, count in costs])
            summary = f"{half_known.sum():,} of {len(half_known):,} {what} with this vocabulary"
            yield ("warning", labels[0], known.told(f"{summary}. Missing: {missing_words}."))


def _half_known_items(
    case: Case, words: UnknownWords, rows: Mapping[str, NDArray[np.int64]], seen: NDArray[np.str_]
) -> Iterator[tuple[str, Sequence[str], NDArray[np.bool_]]]:
    """Yield what counts in a case, the labels that it is about, and which items are half known there."""
    for contrast in case.contrasts:
        better, worse = rows[contrast.better], rows[contrast.worse]
        half_known = words.differ(better, worse) & (seen[better] != seen[worse])
        yield f"pairs of {str(contrast)!r} are half known", (contrast.better, contrast.worse), half_known
    if isinstance(case.question, Regions):
        for prediction in case.question.predictions:
            parts = [part for part in parts_of(parse(prediction.formula)) if isinstance(part, Operation)]
            compared = [part for part in parts if part.operator in LEVELS[1]]
            if prediction.name != ALL_PREDICTIONS and compared:
                half_known_parts = [case.question.half_known(part, words, rows) for part in compared]
                labels = sorted({region.condition for region in regions_of(parse(prediction.formula))})
                yield f"items of {prediction.name!r} are half known", labels, np.any(half_known_parts, axis=0)
    elif not case.contrasts and not case.question.right_or_wrong():
        *_, last = rows.values()
        unknown = words.kinds[last] > 0 if len(rows) == 1 else words.differ(rows[case.labels[0]], last)
        yield "rated items have unknown words", case.labels, unknown


def quoted_texts(texts: Sequence[str]) -> str:
    """Quote the sentences of an item side by side."""
    return " / ".join(repr(without_boundaries(text)) for text in texts)


def check_predictions(case: Case) -> Iterator[tuple[str, str]]:
    """Check the predictions of a case, if it makes any: give their names, and what may mislead."""
    if not isinstance(case.question, Regions):
        return
    yield from case.question.warnings()
    words = {
        label: [str(text).split() for text in case.sentences[label].to_pylist()] for label in case.labels
    }
    for prediction in case.question.predictions:
        if prediction.name != ALL_PREDICTIONS:
            yield from _repeated(case.question, prediction, words)
            yield from _confounded(case.question, prediction, words)


_Words = dict[str, list[list[str]]]


def _repeated(question: Regions, prediction: Prediction, words: _Words) -> Iterator[tuple[str, str]]:
    """Count the items that differ up to the end of what is compared: only these are told apart."""
    columns = []
    for region in sorted(regions_of(parse(prediction.formula)), key=str):
        ends = (before + length for before, length in zip(*question.span(region), strict=True))
        columns.append(
            [
                " ".join(sentence_words[:end])
                for sentence_words, end in zip(words[region.condition], ends, strict=True)
            ]
        )
    items = list(zip(*columns, strict=True))
    counts = Counter(items)
    if len(counts) < len(items):
        (texts, count), *_ = counts.most_common(1)
        example = f"{quoted_texts(list(dict.fromkeys(texts)))} ({count} times)"
        what = "up to the end of the compared region"
        yield (
            prediction.name,
            f"{len(items):,} items have only {len(counts):,} different texts {what}: {example}",
        )


def _confounded(question: Regions, prediction: Prediction, words: _Words) -> Iterator[tuple[str, str]]:
    """Find regions that are compared though both they and what stands before them differ."""
    for part in parts_of(parse(prediction.formula)):
        if not (isinstance(part, Operation) and part.operator in "<>=-"):
            continue
        left, right = part.left, part.right
        if isinstance(left, Region) and isinstance(right, Region) and left.condition != right.condition:
            pairs = list(zip(_cut(question, left, words), _cut(question, right, words), strict=True))
            apart = [(a, b) for a, b in pairs if a[0] != b[0] and a[1] != b[1]]
            if apart:
                example = quoted_texts([f"{before} [{region_text}]" for before, region_text in apart[0]])
                what = f"{left} and {right} differ, and the words before them differ too"
                yield prediction.name, f"in {len(apart):,} of {len(pairs):,} items {what}: {example}"


def _cut(question: Regions, region: Region, words: _Words) -> list[tuple[str, str]]:
    """Return what stands before a region, and the region."""
    spans = zip(words[region.condition], *question.span(region), strict=True)
    return [
        (" ".join(sentence_words[:before]), " ".join(sentence_words[before : before + length]))
        for sentence_words, before, length in spans
    ]


class Findings(list[LintFinding]):
    """What was found, and in how many items; none of those of a grammar that cannot be read."""

    n_items = 0
    cases: tuple[CaseOverview, ...] = ()


def lint(
    path: Path,
    knows: Callable[[str], bool] | None = None,
    sample: int | None = None,
    *,
    name_all: bool = False,
) -> Findings:
    """Check a suite folder or a single grammar; of the lexicon of one grammar only what it uses is judged.

    `knows` tells whether a model knows a word, where that is to be checked; of those that it does not know
    the first are named, or all. Of a `sample`, drawn at random,
    the first item is always one. What was found comes in the order of the cases; what cannot be read or
    expanded is an error among others.
    """
    folder = read_folder(path)
    known = None if knows is None else WordsKnown(knows, name_all)
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
            # What is wrong with a lexicon is wrong for every grammar that uses it, and said once.
            found_problems = dict.fromkeys(map(_as_finding, (error, *error.others)))
            findings += [finding for finding in found_problems if finding not in findings]
            findings += () if grammar is None else _of_code(grammar, all_items=False)
            continue
        grammars.append(grammar)
        findings.n_items += case.n_items
        findings.cases += (overview_of(case, grammar.slots, grammar.n_items),)
        findings += _of_code(grammar, all_items=len(rows) == grammar.n_items)
        findings += _case_findings(grammar, case, folder.terminator, known)
        if folder.writing is not None:
            findings += _as_written(grammar, case, folder.terminator, folder.writing)
        case_texts = _texts_of(case)
        texts |= case_texts
        words |= dict.fromkeys(word for text in case_texts for word in text.split())
    doubts = guessed_forms(grammars, texts, words, is_language_stated=folder.is_language_stated)
    findings += [LintFinding(severity, file, line, message) for severity, file, line, message in doubts]
    findings += map(_as_told, slips_of_folder(folder, grammars, words))
    if len(grammars) == len(folder.files):
        folder.load()  # what is wrong only with all of them together
        findings += _folder_findings(folder, grammars) if path.is_dir() else ()
    findings += missing_words(list(words), path, known)
    return findings


def _as_told(slip: Slip) -> LintFinding:
    return LintFinding(slip.severity, slip.path, slip.line, slip.message, slip.counts)


def _as_finding(error: GrammarError) -> LintFinding:
    assert error.path is not None
    message = " ".join(filter(None, (error.message, error.fix)))
    return LintFinding("error", Path(error.path), error.line, message)


def _of_code(grammar: Grammar, *, all_items: bool) -> list[LintFinding]:
    problems = code_problems(grammar, all_items=all_items)
    return [LintFinding(severity, grammar.path, line, message) for severity, line, message in problems]


def minimal_step(first_text: str, second_text: str) -> bool:
    """Return whether two sentences differ in one stretch of words, or in the order of the same ones."""
    left, right = first_text.split(), second_text.split()
    if sorted(left) == sorted(right):
        return left != right
    shorter, start, end = min(len(left), len(right)), 0, 0
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    # A word that both stretches share would split the difference in two.
    return not set(left[start : len(left) - end]) & set(right[start : len(right) - end])


def _case_findings(
    grammar: Grammar, case: Case, terminator: str | None, known: WordsKnown | None
) -> Iterator[LintFinding]:
    yield from _unexpected(grammar, case)
    yield from _not_minimal(grammar, case)
    for severity, label, message in check_sentences_of(case, terminator, known):
        yield LintFinding(severity, grammar.path, grammar.sentences[label][0].line, message)
    yield from _never_marked(grammar, case)
    yield from map(_as_told, slips_of(grammar, case))
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
    """Report items whose sentences are not linked by minimal steps; equal ones are told elsewhere.

    A separable verb is such an item and right, so this never fails a check. Designs compare regions: what
    they may confound is told by their predictions.
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
        what = "differ in more than one contiguous stretch of words"
        message = f"{len(loose):,} of {case.n_items:,} items {what}, for example {quoted_texts(loose[0])}."
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
    """Report what is lost or odd where sentences are read as people write them."""
    end = "" if terminator is None else f" {terminator}"
    texts = {label: [str(text) for text in case.sentences[label].to_pylist()] for label in case.labels}
    written = {text: writing.write(text + end)[0] for column in texts.values() for text in column}
    for contrast in case.contrasts:
        pairs = list(zip(texts[contrast.better], texts[contrast.worse], strict=True))
        equal = [pair for pair in pairs if pair[0] != pair[1] and written[pair[0]] == written[pair[1]]]
        loose = [pair for pair in pairs if minimal_step(*pair) and not _stays_minimal(*pair, written)]
        for changed_pairs, what in ((equal, "become equal"), (loose, "are no longer minimal")):
            if changed_pairs:
                line = grammar.sentences[contrast.worse][0].line
                both = quoted_texts([written[text] for text in changed_pairs[0]])
                example = f"as people write them, for example {both}."
                message = (
                    f"{len(changed_pairs):,} of {len(pairs):,} pairs of {str(contrast)!r} {what} {example}"
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
    """Return whether a pair differs minimally as people write it, but for the capital of the first word."""
    first, second = (written[text].lower() for text in (first_text, second_text))
    return first == second or minimal_step(first, second)


def _unbalanced(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    # Of a repeated slot the feature is a sequence of numbers: that some sequences are rarer misleads nobody.
    numbers = [
        f"{slot.name}_number"
        for slot in grammar.slots
        if slot.has_number and slot.numbers > 1 and slot.repeat is None
    ]
    for name in [*numbers, *grammar.features]:
        values = Counter(case.features.column(name).to_pylist())
        # What counts (n_intervening) follows from the words, and is not expected to be balanced.
        if len(set(values.values())) > 1 and all(isinstance(value, (str, bool)) for value in values):
            shares = some([f"{value} {count:,}" for value, count in values.items()])
            keys = ("features", name) if name in grammar.features else ("slots", name.removesuffix("_number"))
            message = f"{name!r} is unbalanced: {shares}."
            yield LintFinding("warning", grammar.path, grammar.document.line(*keys), message)


def _never_marked(grammar: Grammar, case: Case) -> Iterator[LintFinding]:
    """Report regions that the front matter names and no sentence marks."""
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
    """Check a file of data or a folder of such files; path and columns are as `read_data` takes them.

    What was found is given case by case; it is empty when all is well.
    """
    data = read_data(path, columns=columns_at(path, columns))
    known = None if knows is None else WordsKnown(knows, name_all)
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
        for severity, _, message in check_sentences_of(case, None, known):
            full_message = f"{where}{message}"
            whole = Whole(full_message) if isinstance(message, Whole) else full_message
            findings.append(LintFinding(severity, path, None, whole))
        for prediction, message in check_predictions(case):
            findings.append(LintFinding("warning", path, None, f"{where}{prediction!r}: {message}."))
        words |= dict.fromkeys(word for text in _texts_of(case) for word in text.split())
    findings += missing_words(list(words), path, known)
    return findings
