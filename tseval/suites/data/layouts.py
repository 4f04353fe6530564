"""Step two of reading a table: rows that hold parts of items become items, by the roles of their columns.

    candidates     a sentence with a mask, or a prefix, and candidates: the right one first, or an answer
    sentences      one sentence per row, with its item and its label or condition
    words          one word or region per row
    alternating    bad and good sentences alternate, the bad one first (Zorro, Huebner et al. 2021);
                   `alternating-good-first` for the other order
    TEMPLATE       one region per column: in `Start {Transitive|Intransitive} {,|} NP *Verb Rest`, each
                   alternative is a condition, and the words under `*Verb` are compared

If sentences have labels, items are pairs. If they have only conditions, items are designs: a formula compares
regions, or by default each condition is compared with the first.
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
    """Read files into items and build their cases; items with regions get a question about their regions."""
    items = [item for file, stem in reading.files.items() for item in read(file, stem, reading)]
    first = next((item for item in items if item.regions), None)
    if first is None:
        return reading.build(items)
    if {name for regions in first.regions.values() for name, _ in regions} == {*_PREFIX}:
        if "predict" not in reading.options and ([*first.sentences] == [*PAIR_LABELS] or reading.predictions):
            return reading.build(items, ask_continuations(reading.predictions or PREFERS_GOOD))
        reading.compared = reading.compared or _PREFIX[1]
    return reading.build(items, lambda entries: ask_design(entries, reading))


def read_entries(file: Path, stem: str, reading: TableReading) -> Iterator[DataItem]:
    """Read the items of a file."""
    columns = header_of(file, reading.options)
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
        sentences = _by_turns(sentences, ALTERNATING[reading.options["layout"]])
    has_phenomena = columns.rows(spelt=True).get("phenomenon") is not None
    rows = split_rows([sentence.row for sentence in sentences], [has_phenomena] * len(sentences))
    split = zip(sentences, rows, strict=True)
    sentences = [sentence if sentence.row == row else replace(sentence, row=row) for sentence, row in split]
    is_better = better_ones(sentences, columns)
    if (
        is_better is not None
        and "better" not in reading.options
        and not any(sentence.label for sentence in sentences)
    ):
        better = dict.fromkeys(
            sentence.condition
            for sentence, is_good in zip(sentences, is_better, strict=True)
            if is_good and sentence.condition
        )
        if better:
            names = " and ".join(map(repr, better))
            reading.notes.append(f"tseval takes {names} as better (to change it: --columns better=VALUE)")
    if is_better is not None:
        yield from _with_shared_features(_pairs(sentences, is_better, columns, reading))
    else:
        yield from _with_shared_features(_conditions(sentences, columns, reading))


def _names_rows(columns: Header, sentences: Sequence[Sentence]) -> str | None:
    """Return the column of cases if it was chosen by its name but differs in every row; None otherwise."""
    case = columns.rows(spelt=True).get("case")
    if case is None or "case" in columns.given or (columns.known and case in columns.known.roles.values()):
        return None
    is_unique = len({sentence.row[0] for sentence in sentences}) == len(sentences) > 1
    return case if is_unique else None


def _with_shared_features(items: Iterable[DataItem]) -> Iterator[DataItem]:
    """Keep only the features that all items of a case have."""
    all_items = list(items)
    shared: dict[str, set[str]] = {}
    for item in all_items:
        shared.setdefault(item.row[0], {*item.features}).intersection_update(item.features)
    for item in all_items:
        features = {name: value for name, value in item.features.items() if name in shared[item.row[0]]}
        yield replace(item, features=features)


def _by_turns(sentences: list[Sentence], order: tuple[bool, bool]) -> list[Sentence]:
    if len(sentences) % 2:
        last = sentences[-1].place
        raise SuiteError(
            f"{last}: the last sentence has no partner, because the file has {len(sentences)} sentences, "
            "an odd number.\n  Add the second sentence of the last pair."
        )
    words = {True: "good", False: "bad"}
    return [
        replace(sentence, item=str(index // 2 + 1), label=sentence.label or words[order[index % 2]])
        for index, sentence in enumerate(sentences)
    ]


def _pairs(
    sentences: Sequence[Sentence], is_better: Sequence[bool], columns: Header, reading: TableReading
) -> Iterator[DataItem]:
    if not all(sentence.item for sentence in sentences):
        raise SuiteError(
            f"{columns.place}: no column says which sentences form a pair.\n"
            "  Name the column that numbers the pairs: --columns item=NAME. If each bad line is followed by "
            "its good line, add --layout alternating.\n"
            f"  To correlate with ratings, add --columns rating={columns.of('label') or 'NAME'}."
        )
    judged = list(zip(sentences, is_better, strict=True))
    bad = [sentence for sentence, better in judged if not better]
    texts = [sentence.judged for sentence in bad]
    places = [sentence.place for sentence in bad]
    if are_marked((sentence.judged for sentence, better in judged if better), texts, places, reading):
        sentences = [sentence.unmarked() for sentence in sentences]
    for better, worse in _grouped(sentences, is_better):
        for pair in product(better, worse):
            is_whole = "predict" in reading.options
            yield _item(dict(zip(PAIR_LABELS, pair, strict=True)), worse[0].item, is_whole)


def _grouped(
    sentences: Sequence[Sentence], is_better: Sequence[bool]
) -> list[tuple[list[Sentence], list[Sentence]]]:
    """Return the better and worse sentences of each item, or of each condition if items have several."""
    fault: SuiteError | None = None
    for by_condition in (True, False):
        groups: dict[tuple[object, ...], tuple[list[Sentence], list[Sentence]]] = {}
        places: dict[tuple[object, ...], str] = {}
        for sentence, better in zip(sentences, is_better, strict=True):
            levels = [
                level
                for level in levels_of(sentence.condition)
                if level.lower() not in GOOD_LABELS | BAD_LABELS
            ]
            group = sentence.row, sentence.item, tuple(levels) if by_condition else ()
            first_place = places.setdefault((*group, better, sentence.text), sentence.place)
            if first_place != sentence.place:
                raise SuiteError(
                    f"{sentence.place}: the item {sentence.item!r} has the same sentence twice, here and at "
                    f"{first_place}.\n"
                    "  Remove one of the two rows."
                )
            groups.setdefault(group, ([], []))[0 if better else 1].append(sentence)
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


def _item(sentences: Mapping[str, Sentence], item: str, whole: bool = False) -> DataItem:
    """Return an item made of its sentences; columns that differ between their rows do not become features."""
    first, *others = sentences.values()
    features = {
        name: value
        for name, value in first.features.items()
        if all(sentence.features.get(name, value) == value for sentence in others)
    }
    if first.condition and all(other.condition == first.condition for other in others):
        features["condition"] = first.condition
    entry = DataItem(first.place, first.row, {}, features, {"item": item})
    names = {name for sentence in sentences.values() for name, _ in sentence.pieces}
    pieces = {label: sentence.pieces for label, sentence in sentences.items()}
    if names <= {*_PREFIX}:
        return continued(
            entry, {label: (parts[0][1], parts[1][1]) for label, parts in pieces.items()}, first.join
        )
    regions = {label: [(name, len(text.split())) for name, text in parts] for label, parts in pieces.items()}
    texts = {label: sentence.text for label, sentence in sentences.items()}
    return replace(entry, sentences=texts, regions=regions if whole or any(names) else {})


def _predicted(names: Mapping[str, str], reading: TableReading) -> list[str]:
    """Return the conditions that the prediction names; all conditions if it names none."""
    formula = reading.options["predict"]
    named = {*re.findall(r"([^\W\d]\w*)\.", formula), *re.findall(r"%([^%]+)%", formula)}
    return [condition for condition, name in names.items() if name in named] or [*names]


def _conditions(sentences: Sequence[Sentence], columns: Header, reading: TableReading) -> Iterator[DataItem]:
    conditions = list(dict.fromkeys(sentence.condition for sentence in sentences))
    if sentences and "fill" not in columns.options and MASK.search(sentences[0].text):
        raise SuiteError(
            f"{sentences[0].place}: the sentence {quoted_text(sentences[0].text, 60)} has a mask, but no "
            "column has words for the mask.\n"
            "  Give the candidates, with the right one first: --columns 'candidates=he|she'.\n"
            "  Or give the word for each value of a column: --columns 'fill=gender:m>he,f>she'."
        )
    if len(conditions) < 2 or not all(sentence.item for sentence in sentences):
        needed = "item=NAME,condition=NAME" if len(conditions) < 2 else "item=NAME"
        raise SuiteError(
            f"{columns.place}: no column says which sentence of a pair is better. The columns are "
            f"{', '.join(map(repr, columns.names))}.\n"
            "  If each row is a pair, add --columns good=NAME,bad=NAME. If each row is one sentence, add one "
            "of these options: "
            f"--columns {needed}; --columns label=NAME; --columns rating=NAME; --layout alternating."
        )
    if (
        not any(name for sentence in sentences for name, _ in sentence.pieces)
        and "predict" not in reading.options
    ):
        formula = f"{as_name(conditions[1])}.* > {as_name(conditions[0])}.*"
        raise SuiteError(
            f"{columns.place}: no column says which of these conditions is better: "
            f"{', '.join(map(repr, conditions))}.\n"
            f"  Name the better condition, as in --columns {quote(f'better={conditions[0]}')}. "
            f"Or compare surprisals: --columns 'predict={formula}'."
        )
    items: dict[tuple[TableRow, str], dict[str, Sentence]] = {}
    for sentence in sentences:
        item_sentences = items.setdefault((sentence.row, sentence.item), {})
        if other := item_sentences.get(sentence.condition):
            raise SuiteError(
                f"{sentence.place}: the item {sentence.item!r} has two sentences under the condition "
                f"{sentence.condition!r}. The other is at {other.place}.\n"
                "  Name all columns that identify an item: --columns item=NAME+NAME."
            )
        item_sentences[sentence.condition] = sentence
    names = dict(zip(conditions, distinct_names(conditions), strict=True))
    if (
        any(len(item_sentences) < len(conditions) for item_sentences in items.values())
        and "predict" in reading.options
    ):
        conditions = _predicted(names, reading)
        complete_items = {
            key: item_sentences for key, item_sentences in items.items() if {*conditions} <= {*item_sentences}
        }
        if complete_items and len(complete_items) < len(items):
            reading.notes.append(
                f"{counted(len(items) - len(complete_items), 'item')} left out, without a sentence under "
                f"each condition of the prediction ({', '.join(conditions)})"
            )
        items = complete_items or items
    for (_, item), item_sentences in items.items():
        if lacking := [name for name in conditions if name not in item_sentences]:
            place = next(iter(item_sentences.values())).place
            shared = [
                name
                for name in conditions
                if all(name in item_sentences for item_sentences in items.values())
            ]
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
        chosen = {
            names[condition]: replace(item_sentences[condition], condition="") for condition in conditions
        }
        yield _item(chosen, item, whole=True)
