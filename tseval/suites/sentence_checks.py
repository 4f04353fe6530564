"""Checks of the sentences of a case: equal or repeated items, and words that a model does not know."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.questions.formulas import LEVELS, Operation, parse, parts_of, regions_of
from tseval.questions.regions import ALL_PREDICTIONS, Regions
from tseval.questions.unknown import UNKNOWN_MARKS, Unknown, UnknownWords, rank_missing
from tseval.suites.findings import LintFinding, WordsKnown, quoted_texts
from tseval.suites.mistakes import (
    Found,
    contradictions,
    ended_twice,
    forgotten_regions,
    idle_labels,
    unseen_differences,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tseval.items import Case


UNKNOWN = UNKNOWN_MARKS[0]


def check_sentences_of(
    case: Case, terminator: str | None, known: WordsKnown | None = None
) -> Iterator[Found]:
    """Run the checks that need only the sentences of a case.

    The terminator is added to each sentence when it is scored. If `known` is given, the checks include words
    that the model does not know.
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
    """Name the words that a model does not know, if `known` is given."""
    if known is not None and (missing := known.missing(words)):
        message = f"words missing from the vocabulary ({len(missing)}): {known.listed(missing)}."
        yield LintFinding("warning", path, None, known.told(message))


_Texts = tuple[str, ...]
_Pairs = dict[str, list[tuple[str, str]]]


def _equal(case: Case, items: list[_Texts], pairs: _Pairs) -> Iterator[Found]:
    contrasts = zip(*pairs.values(), strict=True)  # empty if the case has predictions instead
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
    """Report pairs that count several times in one row of the table because their items differ elsewhere."""
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
            message += f"words, for example {quoted_texts(unequal[0])}."
            yield ("note", case.labels[1], f"{message} So one score adds up more words than the other.")


def _undecided(case: Case, pairs: _Pairs, knows: Callable[[str], bool]) -> Iterator[Found]:
    @cache
    def seen(word: str) -> str | None:
        return word if knows(word) else None

    def alike(first: str, second: str) -> bool:
        return first != second and [*map(seen, first.split())] == [*map(seen, second.split())]

    for contrast, compared in pairs.items():
        if undecided := [pair for pair in compared if alike(*pair)]:
            problem = "are undecidable with this vocabulary: all words that differ are unknown, for example"
            message = f"{len(undecided):,} of {len(compared):,} pairs of {contrast!r} {problem} "
            message += f"{quoted_texts(undecided[0])}."
            yield ("warning", case.labels[0], message)


def _half_known(case: Case, known: WordsKnown) -> Iterator[Found]:
    """Report pairs and predictions in which the model knows only one of the forms, and the missing words."""
    texts = {label: [str(text) for text in case.sentences[label].to_pylist()] for label in case.labels}
    distinct = list(dict.fromkeys(text for column in texts.values() for text in column))
    missing = set(known.missing(list({word: None for text in distinct for word in text.split()})))
    masked = [" ".join(UNKNOWN if word in missing else word for word in text.split()) for text in distinct]
    words = UnknownWords(
        pa.table({"sentence": pa.array(distinct, pa.string()), "seen": pa.array(masked, pa.string())}),
        Unknown(mark=UNKNOWN),
    )
    if not words.of_rows:
        return
    place = {text: row for row, text in enumerate(distinct)}
    rows = {label: np.array([place[text] for text in column], np.int64) for label, column in texts.items()}
    for predicate, labels, half_known in _half_known_items(case, words, rows, np.array(masked)):
        if half_known.any():
            costs = rank_missing(words.count_missing([rows[label][half_known] for label in labels]))
            missing_words = known.listed([f"{word} ({count:,})" for word, count in costs])
            summary = f"{half_known.sum():,} of {len(half_known):,} {predicate} with this vocabulary"
            yield ("warning", labels[0], known.told(f"{summary}. Missing: {missing_words}."))


def _half_known_items(
    case: Case, words: UnknownWords, rows: Mapping[str, NDArray[np.int64]], seen: NDArray[np.str_]
) -> Iterator[tuple[str, Sequence[str], NDArray[np.bool_]]]:
    """Yield what is counted in a case, its labels, and which items are half known."""
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
