"""Data whose words are compared by region: SyntaxGym, continuations of contexts.

Continuations of prefixes, and two targets after two contexts: log P(continuation | prefix) is compared.

A pair has two continuations of one prefix, or one continuation of two (COMPS, Misra et al. 2023, EACL). Where
two contexts and two targets are given (EWoK, Ivanova et al. 2024), each target should be more probable after
its own context than after the other one:

    target 1:  log P(T1 | C1) > log P(T1 | C2)
    target 2:  log P(T2 | C2) > log P(T2 | C1)

EWoK's accuracy is the mean of the two rows. Departure: a tie is wrong, and there half right.

SyntaxGym suites (Gauthier et al. 2020; Hu et al. 2020): items under conditions, cut into regions.

A prediction compares surprisals of regions, which the suite's metric makes of those of their words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NotRequired, TypedDict

import pyarrow as pa

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.formats import ContentError, checked, fits, parse_data, read_text, stem_of
from tseval.items import Case, as_entries
from tseval.questions.regions import REGION_METRICS, Prediction, Regions, parse, regions_of, with_all
from tseval.suites.data.entries import DataItem
from tseval.suites.data.records import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.questions import Question
    from tseval.questions.regions import Metric
    from tseval.suites.data.entries import Reading
    from tseval.suites.data.roles import DataRecord


CONTEXT_COLUMNS = ("Context1", "Context2", "Target1", "Target2")
CONTEXT_FEATURES = ("ConceptA", "ConceptB", "ContextType", "ContextDiff", "TargetDiff")
CONTEXT_PREDICTIONS = (
    Prediction("target 1", "(2;%context 1, target 1%) < (2;%context 2, target 1%)"),
    Prediction("target 2", "(2;%context 2, target 2%) < (2;%context 1, target 2%)"),
)
PREFERS_GOOD = (Prediction("good > bad", "(2;%good%) < (2;%bad%)"),)


def read_contexts(reading: Reading) -> tuple[Case, ...]:
    """Read contexts and targets under EWoK's names; each `Domain` is a row of the table, or each file."""
    return reading.build(_crossed(reading), ask_continuations(CONTEXT_PREDICTIONS))


def ask_continuations(predictions: tuple[Prediction, ...]) -> Callable[[Sequence[DataItem]], Question]:
    """Give what asks entries for their continuations, each region 2 behind its beginning, region 1."""

    def ask(entries: Sequence[DataItem]) -> Question:
        lengths = {
            label: [[length for _, length in entry.regions[label]] for entry in entries]
            for label in entries[0].sentences
        }
        kind = pa.list_(pa.int64())
        return Regions(predictions, pa.table({label: pa.array(own, kind) for label, own in lengths.items()}))

    return ask


def text_of(place: str, record: DataRecord, column: str) -> str:
    """Take a text from a record."""
    if column not in record:
        raise SuiteError(f"{place}: there is no {column!r}, but {', '.join(map(repr, record))}")
    text = record[column]
    if not isinstance(text, str):
        raise SuiteError(f"{place}: {column} is no text, but {text!r}")
    return text


def _crossed(reading: Reading) -> Iterator[DataItem]:
    # An item is asked about twice, and BabyLM's files hold each a second time, its halves exchanged.
    numbers: dict[frozenset[str], str] = {}
    for path, stem in reading.files.items():
        for place, record in read_records(path, (*CONTEXT_COLUMNS, *CONTEXT_FEATURES, "Domain"), reading.how):
            context, target = (
                [text_of(place, record, f"{what}{n}") for n in (1, 2)] for what in ("Context", "Target")
            )
            parts = {
                f"context {c}, target {t}": (context[c - 1], target[t - 1]) for t in (1, 2) for c in (1, 2)
            }
            name = str(record.get("Domain") or stem)
            features = {n: text_of(place, record, n) for n in CONTEXT_FEATURES if record.get(n) is not None}
            number = numbers.setdefault(frozenset((*context, *target)), str(len(numbers) + 1))
            row = (name, name, "Contexts and targets", None)
            yield continued(DataItem(place, row, {}, features, {"item": number}), parts)


def continued(item: DataItem, parts: Mapping[str, tuple[str, str]]) -> DataItem:
    """Fill in the sentences of an entry from their prefixes and continuations."""
    for _, continuation in parts.values():
        if not continuation.split():
            raise SuiteError(f"{item.place}: there is a continuation without words")
    return replace(
        item,
        sentences={label: " ".join(part) for label, part in parts.items()},
        regions={
            label: [("prefix", len(prefix.split())), ("continuation", len(continuation.split()))]
            for label, (prefix, continuation) in parts.items()
        },
    )


SYNTAXGYM_SOURCE = "Gauthier et al. 2020, SyntaxGym, ACL demonstrations"
SYNTAXGYM_PHENOMENON = "SyntaxGym"


class _Region(TypedDict):
    region_number: int
    content: str


class _Condition(TypedDict):
    condition_name: str
    regions: list[_Region]


class _Item(TypedDict):
    item_number: int
    conditions: list[_Condition]


class _Prediction(TypedDict):
    formula: str


class _Suite(TypedDict):
    meta: NotRequired[dict[str, object]]
    items: list[_Item]
    predictions: list[_Prediction]


NumberedItem = tuple[int, dict[str, list[str]]]


def read_syntaxgym(path: Path) -> Case:
    """Read a suite."""
    try:
        suite = checked(parse_data(read_text(path), str(path)), _Suite)
    except ContentError as error:
        raise SuiteError(f"{path}: no SyntaxGym suite: {error.where!r} {error.what}") from None
    meta = suite.get("meta", {})
    name = str(meta.get("name") or stem_of(path))
    metric = _metric(path, meta)
    items = [_item(path, item) for item in suite["items"]]
    formulas = [prediction["formula"] for prediction in suite["predictions"]]
    if not items or not formulas:
        raise SuiteError(f"{path}: a suite needs items and predictions")
    _refuse_unlike(path, items)
    conditions = list(items[0][1])
    n_regions = [len(regions) for regions in items[0][1].values()]
    for formula in formulas:
        _check(path, formula, dict(zip(conditions, n_regions, strict=True)))
        if metric != "sum":
            _refuse_empty_regions(path, formula, metric, items)
    predictions = [Prediction(f"prediction {n}", formula) for n, formula in enumerate(formulas, 1)]
    return _case(name, items, with_all(predictions), metric)


def _metric(path: Path, meta: Mapping[str, object]) -> Metric:
    """Read what makes one number of the words of a region; a suite that does not say adds them up."""
    given = meta.get("metric", "sum")
    for metric in REGION_METRICS:
        if metric == given:
            return metric
    named = str(given)
    hint = suggest(named, REGION_METRICS, "Metrics")
    raise SuiteError(f"{path}: unknown metric {quoted_text(named)}.\n  {hint}")


def _item(path: Path, item: _Item) -> NumberedItem:
    """Give an item's number and, for each condition, the text of its regions in order."""
    number = item["item_number"]
    if not fits(number):
        raise SuiteError(f"{path}: item {number}: a number has at most 64 bits")
    conditions: dict[str, list[str]] = {}
    for condition in item["conditions"]:
        regions = condition["regions"]
        if [region["region_number"] for region in regions] != list(range(1, len(regions) + 1)):
            raise SuiteError(f"{path}: item {number}: regions are not numbered 1, 2, 3, ... in order")
        texts = [" ".join(region["content"].split()) for region in regions]
        if not any(texts):
            raise SuiteError(f"{path}: item {number}: the condition {condition['condition_name']!r} is empty")
        conditions[condition["condition_name"]] = texts
    return number, conditions


def _refuse_unlike(path: Path, items: Sequence[NumberedItem]) -> None:
    """Hold all items to the conditions of the first, and to as many regions."""
    first = {name: len(regions) for name, regions in items[0][1].items()}
    for number, conditions in items:
        found = {name: len(conditions[name]) for name in first if name in conditions}
        if found != first or len(conditions) != len(first):
            raise SuiteError(f"{path}: item {number} has other conditions or regions than item {items[0][0]}")


def _check(path: Path, formula: str, n_regions: dict[str, int]) -> None:
    try:
        regions = regions_of(parse(formula))
    except ValueError as error:
        raise SuiteError(f"{path}: the formula {formula!r} {error}") from None
    if not regions:
        raise SuiteError(f"{path}: the formula {formula!r} names no region")
    for region in regions:
        if region.condition not in n_regions:
            raise SuiteError(f"{path}: the formula {formula!r} has an unknown condition {region.condition!r}")
        known: tuple[object, ...] = (None, *range(1, n_regions[region.condition] + 1))
        if region.place not in known:
            raise SuiteError(f"{path}: the formula {formula!r} has an unknown region {region.place}")


def _refuse_empty_regions(path: Path, formula: str, metric: str, items: Sequence[NumberedItem]) -> None:
    """Refuse to ask for a mean, or the like, of no words."""
    for region in regions_of(parse(formula)):
        for number, conditions in items:
            texts = conditions[region.condition]
            asked = [texts[region.place - 1]] if isinstance(region.place, int) else texts
            if not all(asked):
                raise SuiteError(
                    f"{path}: item {number}: the formula {formula!r} asks for the {metric} of an empty "
                    f"region of {region.condition!r}.\n  Name another region, or give the metric 'sum'."
                )


def _case(
    name: str, items: Sequence[NumberedItem], predictions: tuple[Prediction, ...], metric: Metric
) -> Case:
    labels = list(items[0][1])
    texts = {label: [" ".join(filter(None, item[label])) for _, item in items] for label in labels}
    counts = {label: [[len(text.split()) for text in item[label]] for _, item in items] for label in labels}
    return Case(
        name=name,
        construction=name,
        phenomenon=SYNTAXGYM_PHENOMENON,
        dependency=None,
        question=Regions(
            predictions,
            pa.table({label: pa.array(c, pa.list_(pa.int64())) for label, c in counts.items()}),
            metric,
        ),
        index=pa.array(range(len(items)), pa.int64()),
        sentences=pa.table({label: pa.array(column, pa.string()) for label, column in texts.items()}),
        features=pa.table({"number": pa.array([number for number, _ in items], pa.int64())}),
        # An item is asked about by every prediction; numbers begin anew in every suite.
        entries=pa.table({"item": as_entries([f"{name} {number}" for number, _ in items])}),
    )
