"""Checks of predictions about regions: repeated items, and comparisons with a confound before the region."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tseval.questions.formulas import Operation, Region, parse, parts_of, regions_of
from tseval.questions.regions import ALL_PREDICTIONS, Regions
from tseval.suites.findings import quoted_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.items import Case
    from tseval.questions.regions import Prediction


def check_predictions(case: Case) -> Iterator[tuple[str, str]]:
    """Check the predictions of a case, if it has any: yield their names and what may mislead."""
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
    """Report items that are equal up to the end of the compared regions: a model cannot distinguish them."""
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
        extent = "up to the end of the compared region"
        yield (
            prediction.name,
            f"{len(items):,} items have only {len(counts):,} different texts {extent}: {example}",
        )


def _confounded(question: Regions, prediction: Prediction, words: _Words) -> Iterator[tuple[str, str]]:
    """Find compared regions that differ although the words before them differ too."""
    for part in parts_of(parse(prediction.formula)):
        if not (isinstance(part, Operation) and part.operator in "<>=-"):
            continue
        left, right = part.left, part.right
        if isinstance(left, Region) and isinstance(right, Region) and left.condition != right.condition:
            pairs = list(zip(_cut(question, left, words), _cut(question, right, words), strict=True))
            differing_pairs = [(a, b) for a, b in pairs if a[0] != b[0] and a[1] != b[1]]
            if differing_pairs:
                example = quoted_texts(
                    [f"{before} [{region_text}]" for before, region_text in differing_pairs[0]]
                )
                problem = f"{left} and {right} differ, and the words before them differ too"
                yield (
                    prediction.name,
                    f"in {len(differing_pairs):,} of {len(pairs):,} items {problem}: {example}",
                )


def _cut(question: Regions, region: Region, words: _Words) -> list[tuple[str, str]]:
    """Return the words before a region and the words of the region, for each item."""
    spans = zip(words[region.condition], *question.span(region), strict=True)
    return [
        (" ".join(sentence_words[:before]), " ".join(sentence_words[before : before + length]))
        for sentence_words, before, length in spans
    ]
