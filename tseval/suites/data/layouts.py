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
from dataclasses import dataclass, replace
from itertools import product
from shlex import quote
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, counted, quoted_text, suggest
from tseval.formats import whole_number
from tseval.suites.data.alternatives import SEVERAL_WORDS
from tseval.suites.data.candidates import MASK, filled, fills, read_candidates
from tseval.suites.data.entries import DataItem, are_marked, features_of, split_rows, table_row, without_mark
from tseval.suites.data.joining import BY_SCRIPT, join_of, join_parts
from tseval.suites.data.readings import follows, follows_note, refuse_between, refuse_names
from tseval.suites.data.records import header_of, read_records
from tseval.suites.data.regions import (
    PREFERS_GOOD,
    as_name,
    ask_continuations,
    ask_design,
    continued,
    distinct_names,
    read_template,
    template_of,
)
from tseval.suites.data.roles import (
    OPPOSITES,
    PAIR_LABELS,
    SUFFIX,
    fillers,
    item_and_condition,
    running_text,
    text_in,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case, Feature
    from tseval.suites.data.entries import TableReading, TableRow
    from tseval.suites.data.roles import DataRecord, Header

    Pieces = tuple[tuple[str, str], ...]  # names and texts of regions


ALTERNATING = {"alternating": (False, True), "alternating-good-first": (True, False)}
_GOOD = {good for good, _ in OPPOSITES}
_BAD = {bad for _, bad in OPPOSITES}
# What labels say, beside the words that a condition may have: 1, true and the like.
_LABELS = {
    **dict.fromkeys((*_GOOD, "1", "true", "yes", "ok", "g"), True),
    **dict.fromkeys((*_BAD, "0", "false", "no", "*", "u"), False),
}
_PREFIX = ("prefix", "continuation")


def layout_of(columns: Header) -> str | None:
    """Name the layout that the roles of the columns of a table, or its user, imply, or None."""
    if "layout" in columns.how:
        return "alternating" if columns.how["layout"] in ALTERNATING else "regions"
    if "fill" not in columns.how and (columns.of("candidates") or fills(columns)):
        return "candidates"
    if _is_words(columns):
        return "words"
    if columns.of("sentence") or columns.of("target"):
        return "sentences"
    return "regions" if template_of(columns) else None


def _is_words(columns: Header) -> bool:
    """Whether a row holds a word of a sentence, rather than a sentence with one of its words."""
    if columns.of("word") is None or not (columns.of("item") or columns.of("number")):
        return False
    several = " " in text_in(columns.first.get(columns.of("sentence") or ""))
    return not several or columns.of("order") is not None or columns.of("region") is not None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that becomes an item together with others."""

    place: str  # `file:row`
    row: TableRow
    pieces: Pieces  # its regions, in order
    item: str  # which it belongs to
    condition: str  # or nothing
    label: str  # what is said of its grammaticality, or nothing
    features: Mapping[str, Feature | None]  # of its row
    join: str = "auto"  # what stands between its regions (`joining.py`)

    @property
    def text(self) -> str:
        """The whole sentence."""
        return join_parts([text for _, text in self.pieces], self.join)

    @property
    def judged(self) -> str:
        """What a mark of judgement stands before: the sentence, or the continuation of a prefix."""
        return self.pieces[-1][1] if self.pieces[0][0] == "prefix" else self.text

    def unmarked(self) -> Sentence:
        """Take a mark of judgement off."""
        at = len(self.pieces) - 1 if self.pieces[0][0] == "prefix" else 0
        name, text = self.pieces[at]
        return replace(self, pieces=(*self.pieces[:at], (name, without_mark(text)), *self.pieces[at + 1 :]))


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


def sentences_in(file: Path, stem: str, columns: Header, apart: bool = False) -> list[Sentence]:
    """Return the sentences of a file, each with its regions, before they become items.

    Words of a row each may be kept apart, as regions of their own that are called like their places.
    """
    layout = layout_of(columns)
    if layout is None or layout == "candidates":
        raise columns.unknown()
    records = read_records(file, columns.names if layout == "regions" else columns.of_items(), columns.how)
    if layout == "words":
        return list(_of_words(records, columns, stem, apart))
    if layout == "regions":
        return list(_of_template(records, columns, stem))
    return list(_of_rows(records, columns, stem))


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
    reading.notes += filter(None, (follows_note(columns), _numbered_note(columns, sentences)))
    if layout == "alternating":
        sentences = _by_turns(sentences, ALTERNATING[reading.how["layout"]])
    named = columns.rows(spelt=True).get("phenomenon") is not None
    rows = split_rows([one.row for one in sentences], [named] * len(sentences))
    split = zip(sentences, rows, strict=True)
    sentences = [one if one.row == row else replace(one, row=row) for one, row in split]
    judged = _judged(sentences, columns)
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


def _of_rows(records: Iterable[tuple[str, DataRecord]], columns: Header, stem: str) -> Iterator[Sentence]:
    """Yield the sentence of every row; where its critical word is numbered or named, cut into regions."""
    before = "+".join(filter(None, (columns.of("context"), columns.of("prefix")))) or None
    sentence = columns.of("sentence") or columns.of("target")
    if target := follows(columns):
        before, sentence = sentence, target
    critical = columns.of("critical")
    refuse_names(columns, columns.of("context"))
    fill = fillers(columns.how["fill"], columns.place, columns.names) if "fill" in columns.how else None
    join = join_of(columns.how)
    refuse_between(columns, before, sentence)
    make = _maker(columns, stem, sentence, before, critical, fill and fill[0])
    for place, record in records:
        text = running_text(record, sentence or "", join)
        if fill is not None:
            text = filled(place, text, record, *fill)
        if not text:
            raise SuiteError(
                f"{place}: the cell in the column {sentence!r} has no sentence.\n"
                "  Write the sentence in this cell, or remove the row."
            )
        pieces: Pieces = (("", text),)
        if before is not None:
            if SEVERAL_WORDS.search(text):
                raise SuiteError(
                    f"{place}: {sentence} is {quoted_text(text, 60)}, with several words in one place.\n"
                    "  Write one of them."
                )
            pieces = (("prefix", running_text(record, before)), ("continuation", text))
        elif critical is not None:
            pieces = _cut(place, text, text_in(record.get(critical)), critical)
            yield replace(make(place, record, pieces), join="space")  # as it was before it was cut
            continue
        yield make(place, record, pieces)


def _roles_of(columns: Header) -> tuple[str | None, str | None, str | None]:
    return columns.of("item"), columns.of("condition"), columns.of("label")


def _maker(columns: Header, stem: str, *used: str | None) -> Callable[..., Sentence]:
    """Return what makes a sentence of a record and its pieces; columns in use are none of its features."""
    roles, rows, join = _roles_of(columns), columns.rows(spelt=True), join_of(columns.how)
    given = columns.given.get("condition", "")
    suffixed = given.removesuffix(SUFFIX) if given.endswith(SUFFIX) else None
    features = columns.features(filter(None, [*used, *roles]), spelt=True)

    def make(place: str, record: DataRecord, pieces: Pieces, differ: Collection[str] = ()) -> Sentence:
        item, condition, label = (text_in(value_of(record, name)) for name in roles)
        if suffixed is not None:
            item, condition = item_and_condition(place, text_in(record.get(suffixed)))
        if roles[0] is not None and not item:
            raise SuiteError(
                f"{place}: the cell in the column {roles[0]!r} names no item.\n"
                "  Write the item in this cell, or remove the row."
            )
        own = {feature: name for feature, name in features.items() if name not in differ}
        about = features_of(place, record, own)
        row = table_row(record, stem, rows)
        return Sentence(place, row, pieces, item, condition, label, about, join)

    return make


def _cut(place: str, text: str, critical: str, column: str) -> Pieces:
    """Cut a sentence before and after its critical words: a number counts from 1, a name is looked for."""
    spans = [found.span() for found in re.finditer(r"\S+", text)]
    words = text.split()
    if critical.isdecimal():
        start, length = int(critical) - _counts_from(column), 1
    else:
        own = critical.split()
        places = [at for at in range(len(words)) if words[at : at + len(own)] == own]
        if own and len(places) > 1:
            raise SuiteError(
                f"{place}: {column} is {quoted_text(critical, 40)}, which stands {len(places)} times in "
                f"{quoted_text(text, 60)}.\n  Write the number of the word, from 1."
            )
        start, length = (places[0], len(own)) if own and places else (-1, 1)
    if not 0 <= start < len(words):
        raise SuiteError(
            f"{place}: the column {column!r} has {quoted_text(critical, 40)}, which is no word of the "
            f"sentence {quoted_text(text, 60)}.\n"
            f"  Write the word or its number (the first is 1), or add --columns ignore={column}."
        )
    begin, end = spans[start][0], spans[start + length - 1][1]
    # An ordinary space is put back later; another one stays with what it stands behind or before.
    parts = ("before", text[:begin]), ("critical", text[begin:end]), ("after", text[end:])
    return tuple((name, part.strip(" ")) for name, part in parts)


def _counts_from(column: str) -> int:
    """Say which number the first word of a sentence has in a column of critical words: 1, or as it says."""
    return 0 if "0idx" in column.lower() else 1


def _numbered_note(columns: Header, sentences: Sequence[Sentence]) -> str | None:
    """Say which word a number means, as numbers may begin with 0 or 1; None where words are not numbered."""
    column = columns.of("critical")
    word = next((text for one in sentences[:1] for name, text in one.pieces if name == "critical"), None)
    if column is None or word is None or not text_in(columns.first.get(column)).isdecimal():
        return None
    return f"{column} counts words from {_counts_from(column)}: in the first row it means {word!r}"


def _of_words(
    records: Iterable[tuple[str, DataRecord]], columns: Header, stem: str, apart: bool = False
) -> Iterator[Sentence]:
    """Put the words of each sentence together; those of one region that follow one another are one."""
    word, region, order, number = (columns.of(role) for role in ("word", "region", "order", "number"))
    roles, rows = _roles_of(columns), columns.rows(spelt=True)
    keys = [number] if roles[0] is None else [*roles]
    make = _maker(columns, stem, word, region, order, number)
    sentences: dict[tuple[str, ...], list[tuple[str, DataRecord]]] = {}
    for place, record in records:
        key = (*(text_in(value_of(record, name)) for name in keys), *table_row(record, stem, rows)[:3])
        sentences.setdefault(key, []).append((place, record))
    running: dict[str, int] = {}
    join = join_of(columns.how) if "join" in columns.how else BY_SCRIPT
    for words in sentences.values():
        if order is not None:
            words.sort(key=lambda one: whole_number(one[0], order, text_in(one[1].get(order))))
        pieces: list[tuple[str, str]] = []
        for at, record in words:
            name = at if apart else text_in(value_of(record, region))
            if pieces and pieces[-1][0] == name:
                both = [pieces[-1][1], text_in(value_of(record, word))]
                pieces[-1] = (name, join_parts(both, join))
            else:
                pieces.append((name, text_in(value_of(record, word))))
        differ = {name for name in columns.names if len({str(one.get(name)) for _, one in words}) > 1}
        one = replace(make(*words[0], tuple(pieces), differ), join=join)
        if roles[0] is None:  # the first sentence of each condition is about the first item, and so on
            under = f"{one.condition} {one.label}"
            running[under] = running.get(under, 0) + 1
            one = replace(one, item=str(running[under]))
        yield one


def _of_template(records: Iterable[tuple[str, DataRecord]], columns: Header, stem: str) -> Iterator[Sentence]:
    """Write the sentences of every row: one for each choice among alternatives, which is its condition."""
    slots = list(read_template(columns))
    parts = [name for _, alternatives, _ in slots for name, is_column in alternatives if is_column]
    if about := [name for name in parts if columns.is_about_rows(name)]:
        raise SuiteError(
            f"{columns.place}: --layout uses the column {about[0]!r} as a part of the sentence. "
            "But tseval reads a column of this name as the item, condition or case of a row.\n"
            f"  Take {about[0]!r} out of --layout. If the column has words of the sentence, rename it."
        )
    used = {name for _, alternatives, _ in slots for name, given in alternatives if given}
    make = _maker(columns, stem, *used)
    for number, (place, record) in enumerate(records, 1):
        for chosen in product(*(alternatives for _, alternatives, _ in slots)):
            pieces = tuple(
                (name, text_in(record.get(column)) if given else column)
                for (name, _, _), (column, given) in zip(slots, chosen, strict=True)
            )
            one = make(place, record, pieces)
            both = zip(slots, chosen, strict=True)
            choices = [as_name(column) for (_, many, _), (column, _) in both if len(many) > 1]
            condition = "_".join(filter(None, [one.condition, *choices]))
            yield replace(one, item=one.item or str(number), condition=condition)


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


def _judged(sentences: Sequence[Sentence], columns: Header) -> list[bool] | None:
    """Say which sentences are the better ones, by labels, conditions called so, or marks; None if not."""
    if (better := columns.how.get("better")) and "predict" in columns.how:
        raise SuiteError(
            "--columns: the settings better= and predict= cannot be used together.\n  Leave one of them out."
        )
    if better:
        chosen = [better in (one.label, one.condition, *_levels(one.condition)) for one in sentences]
        if not any(chosen):
            hint = suggest(better, {one.label or one.condition for one in sentences}, "Labels or conditions")
            raise SuiteError(
                f"--columns better={better}: no sentence has the label or condition {better!r}.\n  {hint}"
            )
        return chosen
    if any(one.label for one in sentences):
        judged = [_LABELS.get(one.label.lower()) for one in sentences]
        if None in judged or len({*judged}) == 1:
            odd = sentences[judged.index(None)] if None in judged else sentences[0]
            column = columns.of("label")
            raise SuiteError(
                f"{odd.place}: the column {column!r} has the value {odd.label!r}"
                f"{'' if None in judged else ' in every row'}. "
                "tseval cannot tell grammatical from ungrammatical sentences by it.\n"
                "  Name the value of grammatical sentences: --columns better=VALUE. If the values are "
                f"ratings, add --columns rating={column}."
            )
        return [bool(one) for one in judged]
    levels = [[level.lower() for level in _levels(one.condition)] for one in sentences]
    if "predict" in columns.how and levels and all(levels):
        return None  # conditions are what the formula is about, also those that are called good and bad
    if levels and len({len(one) for one in levels}) == 1:
        for place in range(len(levels[0])):
            found = {one[place] for one in levels}
            if found & _GOOD and found & _BAD and found <= _GOOD | _BAD:
                return [one[place] in _GOOD for one in levels]
    marked = [one.text.lstrip()[:1] in {"*", "?", "#", "%"} for one in sentences]
    return [not mark for mark in marked] if any(marked) and not all(marked) and not levels[0] else None


def _levels(condition: str) -> list[str]:
    return [part for part in re.split(r"[\W_]+", condition) if part]


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
            levels = [level for level in _levels(one.condition) if level.lower() not in _GOOD | _BAD]
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
