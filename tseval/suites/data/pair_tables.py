"""Tables of pairs: any table with two sentences per row, or with two continuations of a prefix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.items import ENTRY
from tseval.questions.regions import Prediction
from tseval.suites.data.alternatives import ALTERNATIVES, alternatives_in, in_names
from tseval.suites.data.continuations import continued
from tseval.suites.data.entries import (
    DataItem,
    DataSet,
    TableReading,
    are_marked,
    data_set,
    features_of,
    split_rows,
    table_row,
    without_mark,
)
from tseval.suites.data.joining import join_of
from tseval.suites.data.layouts import read_table_of
from tseval.suites.data.records import header_of, read_records
from tseval.suites.data.roles import (
    PAIR_LABELS,
    find_columns,
    parts_of,
    roles_given,
    running_text,
    text_in,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tseval.suites.data.entries import TableReading, TableRow
    from tseval.suites.data.roles import DataRecord, Header


# Columns of treebank pairs: the sentences as written, and as tokens for word-level models (`--columns`).
IN_BOTH_FORMS = ("good", "bad", "good_tokens", "bad_tokens")
# Label to two columns: of the prefix of its text (None without prefix), and of the text.
Parts = dict[str, tuple[str | None, str]]
_COMPS = {"good": ("prefix_acceptable", "property_phrase"), "bad": ("prefix_unacceptable", "property_phrase")}


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of the columns of a table of pairs."""

    parts: Parts  # the columns of both sentences
    rows: Mapping[str, str]  # names of `ROW_NAMES` to their columns, as far as the table has them
    entries: Mapping[str, str]  # factor to column: `item`, and columns that end in `.entry`
    features: Mapping[str, str]  # feature to column, in the order of the table
    answer: str | None = None  # the column that says which of sentences A and B is better

    @property
    def texts(self) -> set[str]:
        """The columns whose cells stay texts."""
        used = {*self.rows.values(), *(name for part in self.parts.values() for name in part if name)}
        return used | {*self.entries.values()}


def find_roles(columns: Header) -> Roles | None:
    """Return the roles of the columns of a table of pairs; None if the table has no pairs."""
    if (parts := _parts(columns)) is None:
        return None
    entries = {name.removesuffix(ENTRY): name for name in columns.names if name.endswith(ENTRY)}
    if "item" in columns.given or "item" in columns.names:
        entries["item"] = columns.given.get("item", "item")
    texts = [name for part in parts.values() for name in part if name]
    if {*texts} & {*IN_BOTH_FORMS}:  # the other form of a sentence is not a feature
        texts += [name for name in IN_BOTH_FORMS if name in columns.names]
    answer = _answer_of(columns)
    used = [*entries.values(), *texts, *filter(None, [answer])]
    return Roles(parts, columns.rows(), entries, columns.features(used), answer)


def _parts(columns: Header) -> Parts | None:
    if {name for part in _COMPS.values() for name in part} <= {*columns.names} and not columns.says_pair:
        return dict(_COMPS)
    pair = columns.pair() or (_LETTERED if _answer_of(columns) else None)
    if pair is None:
        return None
    before = _prefix(columns, pair)
    words = any(len(text_in(columns.first.get(name)).split()) == 1 for name in pair)
    if before is None and columns.known is None and not columns.says_pair and words:
        return None  # single words: they fill a mask or continue a prefix
    return {label: (before, name) for label, name in zip(PAIR_LABELS, pair, strict=True)}


def _prefix(columns: Header, pair: tuple[str, str]) -> str | None:
    """Return the column of the prefix of a pair, if its texts are continuations; None otherwise."""
    if given_columns := [columns.given[role] for role in ("context", "prefix") if role in columns.given]:
        return "+".join(given_columns)
    if columns.known is None or columns.says_pair or pair == PAIR_LABELS:
        name = columns.of("prefix") or (None if columns.known else columns.of("context"))
        if name is None or pair == PAIR_LABELS:
            return name
        # If sentences begin with the prefix of their row, they are whole sentences, not continuations.
        before, *texts = (text_in(columns.first.get(column)) for column in (name, *pair))
        return None if all(text.startswith(before) for text in texts) else name
    return None


def pair_entries(file: Path, stem: str, reading: TableReading) -> Iterator[DataItem]:
    """Read the pairs of a file: two sentences per row, or two continuations of a prefix.

    The columns `case`, `construction`, `phenomenon` and `dependency` say which row of the results table a
    pair belongs to; without them, the file's name does. A case with several phenomena but no constructions is
    split into one case per phenomenon. Pairs share the value of `item`; all other columns are features.
    """
    records = list(_with_roles(file, reading.options))
    if records:
        ignored = parts_of(roles_given(reading.options).get("ignore", ""), records[0][1])
        reading.unused[str(file)] = [*records[0][2].features.values(), *ignored]
    distinct_rows: dict[TableRow, TableRow] = {}
    rows = [
        distinct_rows.setdefault(row := table_row(record, stem, roles.rows), row)
        for _, record, roles in records
    ]
    has_phenomenon = [
        bool(text_in(value_of(record, roles.rows.get("phenomenon")))) for _, record, roles in records
    ]
    good, bad = (
        [_text(place, record, roles, label) for place, record, roles in records] for label in PAIR_LABELS
    )
    alternatives = alternatives_in(records, good, bad, reading.options)
    if are_marked(good, bad, [place for place, _, _ in records], reading):
        good, bad = (list(map(without_mark, texts)) for texts in (good, bad))
    split = split_rows(rows, has_phenomenon)
    several = [max((len(words[at]) for words in alternatives), default=1) for at in (0, 1)]
    if max(several) > 1:
        formula = ALTERNATIVES[reading.options["alternatives"]].formula(*several)
        reading.predictions = (Prediction("good > bad", formula),)
    alternatives.reverse()
    records.reverse()  # each record is freed once it is an item: otherwise memory use would double
    for row, *both_texts in zip(split, good, bad, strict=True):
        place, record, roles = records.pop()
        features = features_of(place, record, roles.features)
        entries = {factor: text_in(value_of(record, column)) for factor, column in roles.entries.items()}
        texts = dict(zip(PAIR_LABELS, both_texts, strict=True))
        befores = {label: before for label, (before, _) in roles.parts.items() if before}
        if alternatives:
            alternatives_of = dict(
                zip(PAIR_LABELS, zip(alternatives.pop(), several, strict=True), strict=True)
            )
            texts = {
                name: text
                for label, words in alternatives_of.items()
                for name, text in in_names(label, *words)
            }
            befores = {name: befores[name.partition("_")[0]] for name in texts}
        item = DataItem(place, row, texts, features, entries)
        continuations = {
            label: (running_text(record, before), item.sentences[label]) for label, before in befores.items()
        }
        yield continued(item, continuations, join_of(reading.options)) if continuations else item


# Two sentences, and a column that says which of them is better, A or B.
_LETTERED = ("sentence_A", "sentence_B")
_ANSWERS = ("gold_label", "gold", "label", "answer")


def _answer_of(columns: Header) -> str | None:
    """Return the column that says whether sentence A or B is better; None if there is none."""
    if not {*_LETTERED} <= {*columns.names} or {*PAIR_LABELS} & {*columns.given}:
        return None
    name = columns.given.get("answer") or next(
        (known_name for known_name in _ANSWERS if known_name in columns.names), None
    )
    if not name or not columns.first:
        return None
    if text_in(columns.first.get(name))[-1:].upper() not in {"A", "B"}:
        if columns.given:
            return None
        raise SuiteError(
            f"{columns.place}: {name} begins with {columns.first.get(name)!r}, neither A nor B.\n"
            "  Write A if sentence_A is the better one, B if sentence_B is. If the first is always the "
            "better one,\n  add --columns good=sentence_A,bad=sentence_B."
        )
    return name


def _text(place: str, record: DataRecord, roles: Roles, label: str) -> str:
    before, name = roles.parts[label]
    if name in _LETTERED and (answer := roles.answer) is not None:
        letter = text_in(record.get(answer))[-1:].upper()
        if letter not in {"A", "B"}:
            raise SuiteError(
                f"{place}: the column {answer!r} has {record.get(answer)!r}, but must have A or B.\n"
                "  Write A if the sentence in sentence_A is better. Write B if the sentence in sentence_B "
                "is better."
            )
        name = f"sentence_{letter if label == PAIR_LABELS[0] else 'BA'['AB'.index(letter)]}"
    text = record[name] if name in record else running_text(record, name)
    if not isinstance(text, str):
        subject = name if before else f"the {label} sentence"
        raise SuiteError(f"{place}: {subject} is {text!r}, but must be a text.\n  Write the text in quotes.")
    return text


def _with_roles(file: Path, options: Mapping[str, str]) -> Iterator[tuple[str, DataRecord, Roles]]:
    """Yield records with their roles; JSON records may differ in their keys."""
    columns = header_of(file, options)
    roles = _checked(columns)
    before = any(prefix for prefix, _ in roles.parts.values())
    roles_by_names = {tuple(columns.names): roles}
    for at, record in read_records(file, roles.texts, options):
        record_names = tuple(record)
        if record_names not in roles_by_names:
            roles_by_names[record_names] = _checked(find_columns(at, record_names, options, record), before)
        yield at, record, roles_by_names[record_names]


def _checked(columns: Header, before: bool = False) -> Roles:
    roles = find_roles(columns)
    if before and (roles is None or not any(prefix for prefix, _ in roles.parts.values())):
        raise SuiteError(
            f"{columns.place}: no columns have a prefix and its two continuations. The columns are "
            f"{', '.join(map(repr, columns.names))}.\n  Name three columns prefix, good and bad."
        )
    if roles is None:
        raise columns.unknown()
    return roles


def pairs_set(reading: TableReading) -> DataSet:
    """Read tables of pairs as a set. If the layout is known, it determines the title and source."""
    cases = read_table_of(pair_entries, reading)
    columns = header_of(next(iter(reading.files)), reading.options)
    layout = None if columns.says_pair else columns.known
    data = data_set(reading, cases)
    return replace(data, title=layout.title or data.title, source=layout.source) if layout else data
