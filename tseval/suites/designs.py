"""What an author would want to know of a design before trusting the numbers of its predictions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tseval.questions.regions import ALL_PREDICTIONS, Operation, Region, Regions, parse, parts_of, regions_of
from tseval.suites.findings import quoted_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.items import Case
    from tseval.questions.regions import Prediction


def check_predictions(case: Case) -> Iterator[tuple[str, str]]:
    """Check the predictions of a case, if it makes any.

    Returns:
        The name of a prediction, and what may mislead in its numbers.
    """
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
        columns.append([" ".join(own[:end]) for own, end in zip(words[region.condition], ends, strict=True)])
    items = list(zip(*columns, strict=True))
    counts = Counter(items)
    if len(counts) < len(items):
        (texts, count), *_ = counts.most_common(1)
        example = f"{quoted_texts(list(dict.fromkeys(texts)))} ({count} times)"
        what = "alike up to the end of what is compared"
        yield prediction.name, f"{len(items):,} items are {len(counts):,} distinct ones, {what}: {example}"


def _confounded(question: Regions, prediction: Prediction, words: _Words) -> Iterator[tuple[str, str]]:
    """Find regions that are compared though both they and what stands before them differ."""
    for part in parts_of(parse(prediction.formula)):
        if not (isinstance(part, Operation) and part.operator in "<>=-"):
            continue
        one, other = part.left, part.right
        if isinstance(one, Region) and isinstance(other, Region) and one.condition != other.condition:
            pairs = list(zip(_cut(question, one, words), _cut(question, other, words), strict=True))
            apart = [(left, right) for left, right in pairs if left[0] != right[0] and left[1] != right[1]]
            if apart:
                example = quoted_texts([f"{before} [{own}]" for before, own in apart[0]])
                what = f"{one} and {other} differ, and so does what stands before them"
                yield prediction.name, f"in {len(apart):,} of {len(pairs):,} items {what}: {example}"


def _cut(question: Regions, region: Region, words: _Words) -> list[tuple[str, str]]:
    """Give what stands before a region, and the region."""
    spans = zip(words[region.condition], *question.span(region), strict=True)
    return [
        (" ".join(own[:before]), " ".join(own[before : before + length])) for own, before, length in spans
    ]
