"""Data whose words are compared by region: continuations of contexts, SyntaxGym, designs.

A pair has two continuations of one prefix, or one continuation of two (COMPS, Misra et al. 2023, EACL):
log P(continuation | prefix) is compared. Where two contexts and two targets are given (EWoK, Ivanova et al.
2024), each target should be more probable after its own context than after the other one:

    target 1:  log P(T1 | C1) > log P(T1 | C2)
    target 2:  log P(T2 | C2) > log P(T2 | C1)

EWoK's accuracy is the mean of the two rows. Departure: a tie is wrong, and there half right.

SyntaxGym suites (Gauthier et al. 2020; Hu et al. 2020) have items under conditions, cut into regions. A
prediction compares surprisals of regions, which the suite's metric makes of those of their words.

In designs a formula is what the user predicts. Without one, the effect of every condition against the first
is asked for, in the region that is called critical; of four conditions in two factors, whether the effect of
one is larger under the first level of the other. Nothing in a table says which condition is harder: the sign
of an effect does.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NotRequired, TypedDict

import pyarrow as pa

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.formats import ContentError, checked, fits, parse_data, read_text, stem_of
from tseval.items import Case, as_entries
from tseval.questions.regions import REGION_METRICS, Mark, Prediction, Regions, parse, regions_of, with_all
from tseval.suites.data.entries import DataItem
from tseval.suites.data.records import read_records
from tseval.suites.data.roles import PAIR_LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.questions import Question
    from tseval.questions.regions import Metric
    from tseval.suites.data.entries import Reading
    from tseval.suites.data.roles import DataRecord, Header


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
        if whole := [entry for entry in entries if not entry.regions]:
            raise SuiteError(
                f"{whole[0].place}: has no prefix, but others beside it are continuations of one.\n"
                "  Give each a prefix, or name files of either kind one by one."
            )
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
            texts = {name: text_of(place, record, name) for name in CONTEXT_COLUMNS}
            parts = {
                f"context {c}, target {t}": (texts[f"Context{c}"], texts[f"Target{t}"])
                for t in (1, 2)
                for c in (1, 2)
            }
            name = str(record.get("Domain") or stem)
            features = {n: text_of(place, record, n) for n in CONTEXT_FEATURES if record.get(n) is not None}
            number = numbers.setdefault(frozenset(texts.values()), str(len(numbers) + 1))
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


# Regions that are compared where nothing else is said.
_CRITICAL = ("critical", "crit", "target", "disambiguation", "disambiguating", "disamb", "disambig")


# Columns that are regions, as published.
_PUBLISHED = {
    # Jurayj, Rudman & Eickhoff 2022, Garden Path Traversal in GPT-2, BlackboxNLP.
    ("Start", "Transitive", "Intransitive", "NP", "Verb", "Rest"):
        "Start {Transitive|Intransitive} {,|} NP *Verb Rest",
}  # fmt: skip


def as_name(text: str) -> str:
    """Write a condition or a region as formulas may name it.

    >>> as_name("sub-no matrix"), as_name(","), as_name(""), as_name("2nd")
    ('sub_no_matrix', 'comma', 'none', 'c2nd')
    """
    name = "_".join(re.findall(r"\w+", text)) or {"": "none", ",": "comma"}.get(text.strip(), "mark")
    return name if not name[0].isdecimal() else f"c{name}"


def distinct_names(names: Sequence[str]) -> list[str]:
    """Write names as formulas may have them; of two that become one, the second gets a number."""
    distinct: list[str] = []
    for name in map(as_name, names):
        numbered = (name, *(f"{name}_{n}" for n in range(2, len(names) + 1)))
        distinct.append(next(one for one in numbered if one not in distinct))
    return distinct


def template_of(names: Sequence[str], how: Mapping[str, str]) -> str | None:
    """Give the template of a table whose columns are regions, of its user or as published."""
    published = next((text for columns, text in _PUBLISHED.items() if {*columns} <= {*names}), None)
    return how.get("layout", published)


def read_template(
    columns: Header, how: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, bool]], bool]]:
    """Read a template: each region's name, what may stand there, and whether it is compared."""
    template = template_of(columns.names, how) or ""
    marked = False
    for part in re.finditer(r'(\*?)(?:\{([^{}]*)\}|"([^"]+)"|([^\s{}"]+))', template):
        star, alternatives, quoted, plain = part.groups()
        several = [quoted or plain]
        if alternatives is not None:
            several = [one.strip(' "') for one in alternatives.split("|")]
        names = [(one, one in columns.names) for one in several]
        if alternatives is None and not names[0][1]:
            raise SuiteError(
                f"{columns.place}: there is no column {several[0]!r} (--layout).\n"
                f"  {suggest(several[0], columns.names, 'Columns')} Words stand in braces."
            )
        marked |= bool(star)
        yield as_name("_".join(filter(None, several))), names, bool(star)
    if not template:
        raise columns.unknown()
    if not marked and "predict" not in how:
        raise SuiteError(
            f"--layout: nothing in {quoted_text(template)} says which region is compared.\n"
            "  Put a star before it: 'Start {Transitive|Intransitive} {,|} NP *Verb'."
        )


def ask_design(entries: Sequence[DataItem], reading: Reading) -> Question:
    """Ask what should hold of the regions of a case: what the user predicts, or effects of its conditions."""
    lengths, named = {}, {}
    for label in entries[0].regions:
        order = _order(entries, label)
        own = [dict(entry.regions[label]) for entry in entries]
        lengths[label] = pa.array([[one.get(name, 0) for name in order] for one in own], pa.list_(pa.int64()))
        named[label] = {name: place for place, name in enumerate(distinct_names(order), 1)}
    formula = reading.how.get("predict")
    formulas = [one.strip() for one in (formula or "").split(";") if one.strip()]
    found = [Prediction(one, one) for one in formulas] or _effects(entries[0], named, reading.compared)
    for prediction in found:
        try:
            regions = regions_of(parse(prediction.formula))
        except ValueError as error:
            raise SuiteError(f"--columns: the formula {prediction.formula!r} {error}.") from None
        for region in regions:
            _refuse_unknown(region.condition, named, "condition")
            if isinstance(region.place, Mark):
                _refuse_unknown(region.place.name, named[region.condition], "region")
    if not formula:
        asked = "; ".join(prediction.formula for prediction in found)
        reading.notes.append(f"asked: {asked} (--columns 'predict=...' asks something else)")
    return Regions(tuple(found), pa.table(lengths), named=named)


def _refuse_unknown(name: str, known: Mapping[str, object], what: str) -> None:
    if name not in known:
        hint = suggest(name, known, f"{what.title()}s")
        raise SuiteError(f"--columns: predict names a {what} {name!r} that is not there.\n  {hint}")


def _order(entries: Sequence[DataItem], label: str) -> list[str]:
    """Order the regions of a condition as they stand in its items, some of which may lack some."""
    order: list[str] = []
    seen: set[tuple[str, ...]] = set()
    for entry in entries:
        names = tuple(name for name, _ in entry.regions[label])
        if names in seen:
            continue
        seen.add(names)
        last = -1
        for name in names:
            if name not in order:
                order.insert(last + 1, name)
            if order.index(name) <= last or names.count(name) > 1:
                raise SuiteError(
                    f"{entry.place}: the region {name!r} stands elsewhere than in the items before it.\n"
                    "  Give regions of other places other names."
                )
            last = order.index(name)
    return order


def _effects(
    entry: DataItem, named: Mapping[str, Mapping[str, int]], compared: str | None
) -> list[Prediction]:
    """Ask for the effect of each condition against the first; of two factors, for their interaction too."""
    shared = [name for name in next(iter(named.values())) if all(name in own for own in named.values())]
    called_so = (name for known in _CRITICAL for name in shared if name.lower() == known)
    critical, labels = compared or next(called_so, None), list(named)
    if critical is None:
        last = shared[-1] if shared else "*"
        example = f"{labels[1]}.{last} > {labels[0]}.{last}"
        raise SuiteError(
            f"{entry.place}: none of the regions {', '.join(map(repr, shared))} is called critical.\n"
            f"  Say what is compared: --columns 'predict={example}'."
        )
    if labels == [*PAIR_LABELS]:
        return [Prediction("good > bad", f"good.{critical} < bad.{critical}")]

    def effect(other: str, one: str) -> Prediction:
        return Prediction(f"{other} > {one}", f"{other}.{critical} > {one}.{critical}")

    if len(labels) == 4 and (square := _square(labels)):
        (aa, ab), (ba, bb) = square
        interaction = f"({ab}.{critical} - {aa}.{critical}) > ({bb}.{critical} - {ba}.{critical})"
        return [effect(ab, aa), effect(bb, ba), Prediction("interaction", interaction)]
    return [effect(other, labels[0]) for other in labels[1:]]


def _square(labels: Sequence[str]) -> list[list[str]] | None:
    """Arrange four conditions by two factors: those of the first level of one, then those of the second."""
    levels = [label.split("_") for label in labels]
    for cut in range(1, max(map(len, levels))):
        first = list(dict.fromkeys("_".join(one[:cut]) for one in levels))
        second = list(dict.fromkeys("_".join(one[cut:]) for one in levels))
        rows = [[f"{a}_{b}" for b in second] for a in first]
        if len(first) == len(second) == 2 and sorted([*rows[0], *rows[1]]) == sorted(labels):
            return rows
    return None
