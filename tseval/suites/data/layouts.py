"""Step two of reading a table: rows that are parts of an item become items, by the roles of their columns.

    candidates     a sentence with a mask, or a prefix, and candidates: the right one first, or the answer
    sentences      a sentence a row, its item and its label or condition beside it
    words          a word or a region a row
    alternating    lines by turns, the worse one first (Zorro, Huebner et al. 2021); the other way round,
                   `alternating-good-first`
    TEMPLATE       a column a region: `Start {Transitive|Intransitive} {,|} NP *Verb Rest` takes each
                   alternative for a condition, and compares what stands under `*Verb`

Where sentences have labels, items are pairs. Where they have conditions alone, items are designs: regions are
compared as a formula says, or the effect of the second condition against the first is asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from shlex import quote
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, counted, quoted_text
from tseval.suites.data.candidates import MASK, read_candidates
from tseval.suites.data.continuations import PREFERS_GOOD, ask_continuations, continued
from tseval.suites.data.designs import as_name, ask_design, distinct_names, read_template
from tseval.suites.data.entries import DataItem, are_marked, split_rows
from tseval.suites.data.judgements import BAD_LABELS, GOOD_LABELS, better_ones, levels_of
from tseval.suites.data.readings import follows_note
from tseval.suites.data.records import header_of
from tseval.suites.data.roles import (
    PAIR_LABELS,
)
from tseval.suites.data.sentences import ALTERNATING, Sentence, layout_of, numbered_note, sentences_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case
    from tseval.suites.data.entries import TableReading, TableRow
    from tseval.suites.data.roles import Header


_PREFIX = ("prefix", "continuation")


def read_table_of(
    read: Callable[[Path, str, TableReading], Iterator[DataItem]], reading: TableReading
) -> tuple[Case, ...]:
    """Read files into items, and ask what their regions, if they have any, are about."""
    items = [item for file, stem in reading.files.items() for item in read(file, stem, reading)]
    first = next((item for item in items if item.regions), None)
    if first is None:
        return reading.build(items)
    if {name for own in first.regions.values() for name, _ in own} == {*_PREFIX}:
        if "predict" not in reading.how and ([*first.sentences] == [*PAIR_LABELS] or reading.predictions):
            return reading.build(items, ask_continuations(reading.predictions or PREFERS_GOOD))
        reading.compared = reading.compared or _PREFIX[1]
    return reading.build(items, lambda entries: ask_design(entries, reading))


def read_entries(file: Path, stem: str, reading: TableReading) -> Iterator[DataItem]:
    """Read the items of a file."""
    columns = header_of(file, reading.how)
    layout = layout_of(columns)
    if layout == "candidates":
        yield from read_candidates(file, stem, columns, reading)
        reading.unused[str(file)] = columns.unused
        return
    if layout == "regions":
        reading.compared = next((name for name, _, star in read_template(columns) if star), None)
    sentences = sentences_in(file, stem, columns)
    if layout == "sentences" and (case := _names_rows(columns, sentences)):
        reading.notes.append(f"{case} has another value in every row, so tseval does not use it as the case")
        columns = columns.without("case", case)
        sentences = sentences_in(file, stem, columns)
    reading.unused[str(file)] = columns.unused
    reading.notes += filter(None, (follows_note(columns), numbered_note(columns, sentences)))
    if layout == "alternating":
        sentences = _by_turns(sentences, ALTERNATING[reading.how["layout"]])
    named = columns.rows(spelt=True).get("phenomenon") is not None
    rows = split_rows([one.row for one in sentences], [named] * len(sentences))
    split = zip(sentences, rows, strict=True)
    sentences = [one if one.row == row else replace(one, row=row) for one, row in split]
    judged = better_ones(sentences, columns)
    if judged is not None and "better" not in reading.how and not any(one.label for one in sentences):
        better = dict.fromkeys(
            one.condition for one, good in zip(sentences, judged, strict=True) if good and one.condition
        )
        if better:
            names = " and ".join(map(repr, better))
            reading.notes.append(f"tseval takes {names} as better (to change it: --columns better=VALUE)")
    if judged is not None:
        yield from _alike(_pairs(sentences, judged, columns, reading))
    else:
        yield from _alike(_conditions(sentences, columns, reading))


def _names_rows(columns: Header, sentences: Sequence[Sentence]) -> str | None:
    """Return the column of cases, found by its name, that has another value in every row; None if not."""
    case = columns.rows(spelt=True).get("case")
    if case is None or "case" in columns.given or (columns.known and case in columns.known.roles.values()):
        return None
    alone = len({one.row[0] for one in sentences}) == len(sentences) > 1
    return case if alone else None


def _alike(items: Iterable[DataItem]) -> Iterator[DataItem]:
    """Keep the features that all items of a case have: what differs within one is none of the others."""
    gathered = list(items)
    shared: dict[str, set[str]] = {}
    for one in gathered:
        shared.setdefault(one.row[0], {*one.features}).intersection_update(one.features)
    for one in gathered:
        own = {name: value for name, value in one.features.items() if name in shared[one.row[0]]}
        yield replace(one, features=own)


def _by_turns(sentences: list[Sentence], order: tuple[bool, bool]) -> list[Sentence]:
    if len(sentences) % 2:
        last = sentences[-1].place
        raise SuiteError(
            f"{last}: the last sentence has no partner, because the file has {len(sentences)} sentences, "
            "an odd number.\n  Add the second sentence of the last pair."
        )
    words = {True: "good", False: "bad"}
    return [
        replace(one, item=str(place // 2 + 1), label=one.label or words[order[place % 2]])
        for place, one in enumerate(sentences)
    ]


def _pairs(
    sentences: Sequence[Sentence], judged: Sequence[bool], columns: Header, reading: TableReading
) -> Iterator[DataItem]:
    if not all(one.item for one in sentences):
        raise SuiteError(
            f"{columns.place}: no column says which sentences form a pair.\n"
            "  Name the column that numbers the pairs: --columns item=NAME. If each bad line is followed by "
            "its good line, add --layout alternating.\n"
            f"  To correlate with ratings, add --columns rating={columns.of('label') or 'NAME'}."
        )
    both = list(zip(sentences, judged, strict=True))
    bad = [one for one, better in both if not better]
    texts = [one.judged for one in bad]
    places = [one.place for one in bad]
    if are_marked((one.judged for one, better in both if better), texts, places, reading):
        sentences = [one.unmarked() for one in sentences]
    for better, worse in _grouped(sentences, judged):
        for pair in product(better, worse):
            whole = "predict" in reading.how
            yield _item(dict(zip(PAIR_LABELS, pair, strict=True)), worse[0].item, whole)


def _grouped(
    sentences: Sequence[Sentence], judged: Sequence[bool]
) -> list[tuple[list[Sentence], list[Sentence]]]:
    """Return the better and the worse sentences of each item; where it has several conditions, of each."""
    fault: SuiteError | None = None
    for by_condition in (True, False):
        groups: dict[tuple[object, ...], tuple[list[Sentence], list[Sentence]]] = {}
        seen: dict[tuple[object, ...], str] = {}
        for one, better in zip(sentences, judged, strict=True):
            levels = [
                level for level in levels_of(one.condition) if level.lower() not in GOOD_LABELS | BAD_LABELS
            ]
            group = one.row, one.item, tuple(levels) if by_condition else ()
            if (again := seen.setdefault((*group, better, one.text), one.place)) != one.place:
                raise SuiteError(
                    f"{one.place}: the item {one.item!r} has the same sentence twice, here and at {again}.\n"
                    "  Remove one of the two rows."
                )
            groups.setdefault(group, ([], []))[0 if better else 1].append(one)
        wrong = next((both for both in groups.values() if min(map(len, both)) != 1), None)
        if wrong is None:
            return list(groups.values())
        good, bad = wrong
        first, lacking = (good or bad)[0], "ungrammatical" if good else "grammatical"
        fault = SuiteError(
            f"{first.place}: the item {first.item!r} has no {lacking} sentence.\n"
            f"  Add the {lacking} sentence, or remove the item."
            if not (good and bad)
            else f"{first.place}: the item {first.item!r} has {len(good)} grammatical and {len(bad)} "
            "ungrammatical sentences, so tseval cannot pair them.\n"
            "  Name all columns that identify an item: --columns item=NAME+NAME."
        )
    assert fault is not None
    raise fault


def _item(chosen: Mapping[str, Sentence], item: str, whole: bool = False) -> DataItem:
    """Make an item of its sentences; what differs among their rows is no feature of it."""
    first, *others = chosen.values()
    features = {
        name: value
        for name, value in first.features.items()
        if all(other.features.get(name, value) == value for other in others)
    }
    if first.condition and all(other.condition == first.condition for other in others):
        features["condition"] = first.condition
    entry = DataItem(first.place, first.row, {}, features, {"item": item})
    names = {name for one in chosen.values() for name, _ in one.pieces}
    pieces = {label: one.pieces for label, one in chosen.items()}
    if names <= {*_PREFIX}:
        return continued(entry, {label: (own[0][1], own[1][1]) for label, own in pieces.items()}, first.join)
    regions = {label: [(name, len(text.split())) for name, text in own] for label, own in pieces.items()}
    sentences = {label: one.text for label, one in chosen.items()}
    return replace(entry, sentences=sentences, regions=regions if whole or any(names) else {})


def _predicted(names: Mapping[str, str], reading: TableReading) -> list[str]:
    """Name the conditions that the prediction is about; all where none of them stands in it."""
    formula = reading.how["predict"]
    found = {*re.findall(r"([^\W\d]\w*)\.", formula), *re.findall(r"%([^%]+)%", formula)}
    return [condition for condition, name in names.items() if name in found] or [*names]


def _conditions(sentences: Sequence[Sentence], columns: Header, reading: TableReading) -> Iterator[DataItem]:
    conditions = list(dict.fromkeys(one.condition for one in sentences))
    if sentences and "fill" not in columns.how and MASK.search(sentences[0].text):
        raise SuiteError(
            f"{sentences[0].place}: the sentence {quoted_text(sentences[0].text, 60)} has a mask, but no "
            "column has words for the mask.\n"
            "  Give the candidates, with the right one first: --columns 'candidates=he|she'.\n"
            "  Or give the word for each value of a column: --columns 'fill=gender:m>he,f>she'."
        )
    if len(conditions) < 2 or not all(one.item for one in sentences):
        needed = "item=NAME,condition=NAME" if len(conditions) < 2 else "item=NAME"
        raise SuiteError(
            f"{columns.place}: no column says which sentence of a pair is better. The columns are "
            f"{', '.join(map(repr, columns.names))}.\n"
            "  If each row is a pair, name the columns of the sentences good and bad. If each row is one "
            "sentence, add one of these options: "
            f"--columns {needed}; --columns label=NAME; --columns rating=NAME; --layout alternating."
        )
    if not any(name for one in sentences for name, _ in one.pieces) and "predict" not in reading.how:
        formula = f"{as_name(conditions[1])}.* > {as_name(conditions[0])}.*"
        raise SuiteError(
            f"{columns.place}: no column says which of these conditions is better: "
            f"{', '.join(map(repr, conditions))}.\n"
            f"  Name the better condition, as in --columns {quote(f'better={conditions[0]}')}. "
            f"Or compare surprisals: --columns 'predict={formula}'."
        )
    items: dict[tuple[TableRow, str], dict[str, Sentence]] = {}
    for one in sentences:
        own = items.setdefault((one.row, one.item), {})
        if again := own.get(one.condition):
            raise SuiteError(
                f"{one.place}: the item {one.item!r} has two sentences under the condition "
                f"{one.condition!r}. The other is at {again.place}.\n"
                "  Name all columns that identify an item: --columns item=NAME+NAME."
            )
        own[one.condition] = one
    names = dict(zip(conditions, distinct_names(conditions), strict=True))
    if any(len(own) < len(conditions) for own in items.values()) and "predict" in reading.how:
        conditions = _predicted(names, reading)
        whole = {key: own for key, own in items.items() if {*conditions} <= {*own}}
        if whole and len(whole) < len(items):
            reading.notes.append(
                f"{counted(len(items) - len(whole), 'item')} left out, without a sentence under each "
                f"condition of the prediction ({', '.join(conditions)})"
            )
        items = whole or items
    for (_, item), own in items.items():
        if lacking := [name for name in conditions if name not in own]:
            place = next(iter(own.values())).place
            shared = [name for name in conditions if all(name in other for other in items.values())]
            column = columns.of("condition")
            offer = ""
            if len(shared) > 1 and column in columns.names:
                where = f"where={column}:{'|'.join(shared)}"
                offer = (
                    f"\n  To compare only the conditions that all items have, add --columns {quote(where)}."
                )
            raise SuiteError(
                f"{place}: the item {item!r} has no sentence under the condition {lacking[0]!r}.\n"
                f"  Add a row with this sentence, or remove the item.{offer}"
            )
        chosen = {names[condition]: replace(own[condition], condition="") for condition in conditions}
        yield _item(chosen, item, whole=True)
