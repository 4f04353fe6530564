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
from itertools import chain
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import pyarrow as pa

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.formats import ContentError, checked, fits, parse_data, read_text, stem_of
from tseval.questions.formulas import regions_in
from tseval.questions.regions import REGION_METRICS, Prediction, Regions, with_all
from tseval.suites.data.alternatives import SEVERAL_WORDS
from tseval.suites.data.entries import DataItem
from tseval.suites.data.joining import BY_SCRIPT, join_of, join_parts
from tseval.suites.data.records import read_records
from tseval.suites.data.roles import PAIR_LABELS, roles_given
from tseval.writing import single_spaced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case
    from tseval.questions import Question
    from tseval.questions.formulas import Region
    from tseval.questions.regions import Metric
    from tseval.suites.data.entries import TableReading
    from tseval.suites.data.roles import DataRecord, Header


CONTEXT_COLUMNS = ("Context1", "Context2", "Target1", "Target2")
CONTEXT_FEATURES = ("ConceptA", "ConceptB", "ContextType", "ContextDiff", "TargetDiff")
CONTEXT_PREDICTIONS = (
    Prediction("target 1", "(2;%context 1, target 1%) < (2;%context 2, target 1%)"),
    Prediction("target 2", "(2;%context 2, target 2%) < (2;%context 1, target 2%)"),
)
PREFERS_GOOD = (Prediction("good > bad", "(2;%good%) < (2;%bad%)"),)


def read_contexts(reading: TableReading) -> tuple[Case, ...]:
    """Read contexts and targets under EWoK's names; each `Domain` is a row of the table, or each file."""
    return reading.build(_crossed(reading), ask_continuations(CONTEXT_PREDICTIONS))


def ask_continuations(predictions: tuple[Prediction, ...]) -> Callable[[Sequence[DataItem]], Question]:
    """Return what asks entries for their continuations, each region 2 behind its beginning, region 1."""

    def ask(entries: Sequence[DataItem]) -> Question:
        if whole := [entry for entry in entries if not entry.regions]:
            raise SuiteError(
                f"{whole[0].place}: this item has no prefix, but other items of the folder have one.\n"
                "  Add a prefix to each item, or give each file separately: --suite FILE1 --suite FILE2."
            )
        return Regions(predictions, _lengths(entries))

    return ask


def text_of(place: str, record: DataRecord, column: str) -> str:
    """Take a text from a record."""
    if column not in record:
        raise SuiteError(
            f"{place}: the column {column!r} is missing. The columns are {', '.join(map(repr, record))}.\n"
            f"  Add the column {column!r}."
        )
    text = record[column]
    if not isinstance(text, str):
        raise SuiteError(
            f"{place}: the column {column!r} has {text!r}, but must have a text.\n  Write a text in quotes."
        )
    return text


def _crossed(reading: TableReading) -> Iterator[DataItem]:
    # An item is asked about twice, and BabyLM's files hold each a second time, its halves exchanged.
    numbers: dict[frozenset[str], str] = {}
    given = roles_given(reading.how)
    columns = {name: given.get(name, name) for name in CONTEXT_COLUMNS}
    for path, stem in reading.files.items():
        known = (*columns.values(), *CONTEXT_FEATURES, "Domain")
        for place, record in read_records(path, known, reading.how):
            texts = {name: text_of(place, record, column) for name, column in columns.items()}
            reading.unused[str(path)] = [name for name in record if name not in known]
            for name, text in texts.items():
                if SEVERAL_WORDS.search(text):
                    raise SuiteError(
                        f"{place}: the column {columns[name]!r} has words with | between them, but tseval "
                        f"can compare only one of them: {quoted_text(text, 60)}.\n  Write one word."
                    )
            parts = {
                f"context {c}, target {t}": (texts[f"Context{c}"], texts[f"Target{t}"])
                for t in (1, 2)
                for c in (1, 2)
            }
            name = str(record.get("Domain") or stem)
            features = {n: text_of(place, record, n) for n in CONTEXT_FEATURES if record.get(n) is not None}
            number = numbers.setdefault(frozenset(texts.values()), str(len(numbers) + 1))
            row = (name, name, "Contexts and targets", None)
            item = DataItem(place, row, {}, features, {"item": number})
            yield continued(item, parts, join_of(reading.how))


def continued(item: DataItem, parts: Mapping[str, tuple[str, str]], join: str = "auto") -> DataItem:
    """Fill in the sentences of an entry from prefixes and continuations, joined as `join_parts` does."""
    for _, continuation in parts.values():
        if not continuation.split():
            raise SuiteError(
                f"{item.place}: a continuation of this item is empty.\n  Write its words, or remove the item."
            )
    return replace(
        item,
        sentences={label: join_parts(part, join) for label, part in parts.items()},
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


def read_syntaxgym(path: Path, reading: TableReading) -> tuple[Case, ...]:
    """Read a suite, which is one case."""
    try:
        suite = checked(parse_data(read_text(path), str(path)), _Suite)
    except ContentError as error:
        raise SuiteError(
            f"{path}: tseval cannot read this file as a SyntaxGym suite: {error.where!r} {error.what}.\n"
            f"  Correct {error.where!r} in the file."
        ) from None
    meta = suite.get("meta", {})
    name = str(meta.get("name") or stem_of(path))
    metric = cast("Metric", str(meta.get("metric", "sum")))
    if metric not in REGION_METRICS:
        hint = suggest(metric, REGION_METRICS, "Metrics")
        raise SuiteError(f"{path}: unknown metric {quoted_text(metric)}.\n  {hint}")
    formulas = [prediction["formula"] for prediction in suite["predictions"]]
    items = [_item(path, name, item) for item in suite["items"]]
    if not items or not formulas:
        raise SuiteError(
            f"{path}: the SyntaxGym suite has {len(items)} items and {len(formulas)} predictions, but "
            "needs at least one of each.\n  Add entries under 'items' and 'predictions'."
        )
    n_regions = {label: len(own) for label, own in items[0].regions.items()}
    for place, item in enumerate(items):
        if {label: len(own) for label, own in item.regions.items()} != n_regions:
            first = items[0].features["number"]
            raise SuiteError(
                f"{item.place}: the conditions and numbers of regions differ from those of item {first}.\n"
                "  Give all items the same conditions, with the same number of regions."
            )
        items[place] = replace(item, sentences={label: item.sentences[label] for label in n_regions})
    known = {label: range(1, n + 1) for label, n in n_regions.items()}
    for formula in formulas:
        for region in check_formula(str(path), formula, known):
            for item in items if metric != "sum" else ():
                lengths = [length for _, length in item.regions[region.condition]]
                if not all([lengths[region.place - 1]] if isinstance(region.place, int) else lengths):
                    raise SuiteError(
                        f"{item.place}: the formula {formula!r} needs the {metric} surprisal of a region "
                        f"that is empty under the condition {region.condition!r}.\n"
                        "  Name another region in the formula, or use the metric 'sum'."
                    )
    predictions = with_all([Prediction(f"prediction {n}", formula) for n, formula in enumerate(formulas, 1)])
    return reading.build(items, lambda entries: Regions(predictions, _lengths(entries), metric))


def _item(path: Path, suite: str, item: _Item) -> DataItem:
    number = item["item_number"]
    place = f"{path}: item {number}"
    if not fits(number):
        raise SuiteError(f"{place}: the item_number has more than 64 bits.\n  Write a smaller item_number.")
    texts: dict[str, list[str]] = {}
    for condition in item["conditions"]:
        label, regions = condition["condition_name"], condition["regions"]
        if [region["region_number"] for region in regions] != list(range(1, len(regions) + 1)):
            raise SuiteError(
                f"{place}: the regions of the condition {label!r} are not numbered 1, 2, 3, ... in order.\n"
                "  Correct the values of region_number."
            )
        texts[label] = [single_spaced(region["content"]) for region in regions]
        if not any(texts[label]):
            raise SuiteError(
                f"{place}: all regions of the condition {label!r} are empty.\n"
                "  Write words as the content of at least one region."
            )
    return DataItem(
        place,
        (suite, suite, SYNTAXGYM_PHENOMENON, None),
        # SyntaxGym's own program puts a space before marks, too.
        {label: join_parts(own, BY_SCRIPT) for label, own in texts.items()},
        {"number": number},
        # An item is asked about by every prediction; numbers begin anew in every suite.
        {"item": f"{suite} {number}"},
        {label: [("", len(text.split())) for text in own] for label, own in texts.items()},
    )


def check_formula(where: str, formula: str, known: Mapping[str, Collection[int | str]]) -> set[Region]:
    """Return the regions that a formula is about; refuse what `regions_in` refuses."""
    try:
        return regions_in(formula, known)
    except ValueError as error:
        said = ".\n  ".join(error.args)
        raise SuiteError(f"{where}: the formula {formula!r} {said}") from None


def _lengths(entries: Sequence[DataItem]) -> pa.Table:
    """Count the words of every region of every entry, by label."""
    lengths = {
        label: [[n for _, n in one.regions[label]] for one in entries] for label in entries[0].sentences
    }
    return pa.table({label: pa.array(own, pa.list_(pa.int64())) for label, own in lengths.items()})


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


def template_of(columns: Header) -> str | None:
    """Return the template of a table whose columns are regions, of its user or as published."""
    published = next((text for names, text in _PUBLISHED.items() if {*names} <= {*columns.names}), None)
    return columns.how.get("layout", published)


def read_template(columns: Header) -> Iterator[tuple[str, list[tuple[str, bool]], bool]]:
    """Read a template: each region's name, what may stand there, and whether it is compared."""
    template = template_of(columns) or ""
    marked = False
    for part in re.finditer(r'(\*?)(?:\{([^{}]*)\}|"([^"]+)"|([^\s{}"]+))', template):
        star, alternatives, quoted, plain = part.groups()
        several = [quoted or plain]
        if alternatives is not None:
            several = [one.strip(' "') for one in alternatives.split("|")]
        names = [(one, one in columns.names) for one in several]
        if alternatives is None and not names[0][1]:
            raise SuiteError(
                f"{columns.place}: --layout names the column {several[0]!r}, but the table has no such "
                "column.\n"
                f"  {suggest(several[0], columns.names, 'Columns')} "
                "If it is a word of the sentence, write it in braces: {WORD}."
            )
        marked |= bool(star)
        yield as_name("_".join(filter(None, several))), names, bool(star)
    if not template:
        raise columns.unknown()
    if not marked and "predict" not in columns.how:
        raise SuiteError(
            f"--layout: {quoted_text(template)} does not say which region to compare.\n"
            "  Put a star before that region, as in 'Start {Transitive|Intransitive} {,|} NP *Verb'."
        )


def ask_design(entries: Sequence[DataItem], reading: TableReading) -> Question:
    """Ask what should hold of the regions of a case: what the user predicts, or effects of its conditions."""
    lengths, named = {}, {}
    for label in entries[0].regions:
        order = _order(entries, label)
        own = [dict(entry.regions[label]) for entry in entries]
        lengths[label] = pa.array([[one.get(name, 0) for name in order] for one in own], pa.list_(pa.int64()))
        named[label] = {name: place for place, name in enumerate(distinct_names(order), 1)}
    _refuse_empty(entries, named, lengths, reading)
    formula = reading.how.get("predict")
    formulas = [one.strip() for one in (formula or "").split(";") if one.strip()]
    crossed = "+" in reading.how.get("condition", "")
    found = [Prediction(one, one) for one in formulas]
    found = found or _effects(entries[0], named, reading.compared, crossed)
    known: dict[str, list[int | str]] = {label: [*own, *own.values()] for label, own in named.items()}
    for prediction in found:
        check_formula("--columns", prediction.formula, known)
    if not formula:
        asked = "; ".join(prediction.formula for prediction in found)
        reading.notes.append(f"prediction: {asked} (to change it: --columns 'predict=...')")
    return Regions(tuple(found), pa.table(lengths), named=named)


def _refuse_empty(
    entries: Sequence[DataItem],
    named: Mapping[str, Mapping[str, int]],
    lengths: Mapping[str, pa.Array[Any]],
    reading: TableReading,
) -> None:
    """Refuse to compare a starred region that has words under some conditions and none under others."""
    region = reading.compared
    if region is None or "predict" in reading.how or not all(region in own for own in named.values()):
        return
    counts = {
        label: [n_words[named[label][region] - 1] for n_words in cast("list[list[int]]", own.to_pylist())]
        for label, own in lengths.items()
    }
    empty = {label: own.index(0) if 0 in own else None for label, own in counts.items()}
    without = [label for label, at in empty.items() if at is not None]
    if without and len(without) < len(empty):
        raise SuiteError(
            f"{entries[empty[without[0]] or 0].place}: the region {region!r} is empty under the condition "
            f"{without[0]!r}, but has words under others, so the comparison is not fair.\n"
            "  Put the star of --layout before another region. "
            "Or name the regions to compare: --columns 'predict=A.REGION > B.REGION'."
        )


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
                    f"{entry.place}: the region {name!r} is in another position than in earlier items.\n"
                    "  Put the regions in the same order in all items, or give this region another name."
                )
            last = order.index(name)
    return order


def _effects(
    entry: DataItem, named: Mapping[str, Mapping[str, int]], compared: str | None, crossed: bool = False
) -> list[Prediction]:
    """Ask for the effect of each condition against the first; of two factors, for their interaction too.

    Where the user crosses factors, `condition=A+B`, a level of the second is compared with the first level of
    it, under one level of the first.
    """
    shared = [name for name in next(iter(named.values())) if all(name in own for own in named.values())]
    called_so = (name for known in _CRITICAL for name in shared if name.lower() == known)
    critical, labels = compared or next(called_so, None), list(named)
    if critical is None:
        last = shared[-1] if shared else "*"
        example = f"{labels[1]}.{last} > {labels[0]}.{last}"
        raise SuiteError(
            f"{entry.place}: tseval does not know which region to compare, because no region has the name "
            f"critical. The regions are {', '.join(map(repr, shared))}.\n"
            f"  Name the regions to compare, as in --columns 'predict={example}'."
        )
    if labels == [*PAIR_LABELS]:
        return [Prediction("good > bad", f"good.{critical} < bad.{critical}")]

    def effect(other: str, one: str) -> Prediction:
        return Prediction(f"{other} > {one}", f"{other}.{critical} > {one}.{critical}")

    grid = _grid(labels)
    if grid is not None and len(labels) == 4:
        (aa, ab), (ba, bb) = grid
        interaction = f"({ab}.{critical} - {aa}.{critical}) > ({bb}.{critical} - {ba}.{critical})"
        return [effect(ab, aa), effect(bb, ba), Prediction("interaction", interaction)]
    if crossed and grid is not None:
        return [effect(other, row[0]) for row in grid for other in row[1:]]
    return [effect(other, labels[0]) for other in labels[1:]]


def _grid(labels: Sequence[str]) -> list[list[str]] | None:
    """Arrange conditions by the levels of their first factor; None where they are not all combinations."""
    levels = [label.split("_") for label in labels]
    for cut in range(1, max(map(len, levels))):
        first = list(dict.fromkeys("_".join(one[:cut]) for one in levels))
        second = list(dict.fromkeys("_".join(one[cut:]) for one in levels))
        rows = [[f"{a}_{b}" for b in second] for a in first]
        if min(len(first), len(second)) > 1 and sorted(chain(*rows)) == sorted(labels):
            return rows
    return None
