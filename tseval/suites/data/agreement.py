"""Tables of agreement examples as suites: is the right form of the verb the more probable one?

The test sets of Linzen et al. 2016 and Gulordava et al. 2018, and tables of examples. Of a published set, an
item is the sentence up to the verb, ending in either form; what follows the verb is not scored.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, counted
from tseval.formats import is_count, read_lines, stem_of
from tseval.items import Case, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs
from tseval.suites.agreement import SINGULAR, read_targets
from tseval.suites.agreement.published import read_examples
from tseval.suites.data.entries import AGREEMENT, DataItem, first_places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.suites.data.entries import Reading


LINZEN = "Linzen, Dupoux & Goldberg 2016, TACL 4, as filtered by Gulordava et al. 2018"
GULORDAVA = "Gulordava et al. 2018, Colorless Green Recurrent Networks Dream Hierarchically, NAACL"
PAIR = ("correct", "wrong")
# Feature to column: the original sentence, which of its versions, and how many attractors.
NUMBER_FEATURES = {"sentence": "constr_id", "variant": "sent_id", "n_attractors": "n_attr"}
SENTENCE_TYPES = {"original": "Original sentences", "generated": "Nonce sentences"}
HEADINGS = ("pattern", "constr_id", "sent_id", "correct_number", "form", "class", "type", "prefix", "n_attr")


def read_linzen(text: Path) -> Iterator[DataItem]:
    """Read `NAME.text` and `NAME.gold` into items that end at the verb."""
    targets = list(read_targets(text))
    sentences = first_places(" ".join(target.words) for target in targets)
    for target, sentence in zip(targets, sentences, strict=True):
        prefix, n = target.words[: target.position], target.attractors
        named = "Attractors unknown" if n is None else counted(n, "attractor") if n else "No attractors"
        row = (f"attractors_{'unknown' if n is None else n}", named, AGREEMENT, None)
        forms = {"correct": " ".join([*prefix, target.right]), "wrong": " ".join([*prefix, target.wrong])}
        features = {"n_attractors": n, "position": target.position}
        # The file does not say which form is the singular.
        singular = max((target.right, target.wrong), key=lambda form: (form.endswith("s"), len(form)))
        yield DataItem(target.place, row, forms, features, verb_entries(sentence, singular))


def read_gulordava(path: Path) -> Iterator[DataItem]:
    """Read `generated.tab`: two rows for each item, the correct form first."""
    rows = list(read_tab(path))
    if len(rows) % 2:
        raise SuiteError(f"{rows[-1][0]}: a row without its twin")
    for (place, right), (_, wrong) in zip(rows[::2], rows[1::2], strict=True):
        if (right["class"], wrong["class"]) != PAIR or right["prefix"] != wrong["prefix"]:
            raise SuiteError(
                f"{place}: this row and the next are not the correct and the wrong form of one item"
            )
        if right["type"] not in SENTENCE_TYPES:
            raise SuiteError(f"{place}: neither {' nor '.join(SENTENCE_TYPES)}, but {right['type']!r}")
        singular = (right if right["correct_number"] == "sing" else wrong)["form"]
        numbers = {feature: _whole(place, right, name) for feature, name in NUMBER_FEATURES.items()}
        yield DataItem(
            place,
            (right["type"], SENTENCE_TYPES[right["type"]], AGREEMENT, None),
            {form["class"]: f"{form['prefix']} {form['form']}" for form in (right, wrong)},
            {"pattern": right["pattern"], "number": right["correct_number"], **numbers},
            # The nonce versions of a sentence have its words in all other places.
            verb_entries(f"{right['pattern']} {right['constr_id']}", singular),
        )


def verb_entries(sentence: str, singular: str) -> dict[str, str]:
    """Name what verbs in running text may share: the sentence, and the verb, by its singular."""
    return {"sentence": sentence, "verb": singular.lower()}


def _whole(place: str, row: dict[str, str], name: str) -> int:
    if not is_count(row[name]):
        raise SuiteError(f"{place}: {name} is no whole number, but {row[name]!r}")
    return int(row[name])


def read_tab(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the rows of a `.tab` file, where texts with quotes in them are quoted as in CSV."""
    lines = list(read_lines(path))
    table = csv.DictReader((line for _, line in lines), delimiter="\t")
    try:
        rows = list(table)
    except csv.Error as error:
        raise SuiteError(f"{path}:{table.line_num + 1}: {error}") from None
    if missing := [name for name in HEADINGS if name not in (table.fieldnames or ())]:
        raise SuiteError(f"{path}: no agreement table: there is no column {missing[0]!r}")
    for (place, _), row in zip(lines[1:], rows, strict=False):
        if None in row or None in row.values():
            raise SuiteError(f"{place}: another number of columns than the header")
        yield place, row
    if len(rows) < len(lines) - 1:
        raise SuiteError(f"{path}: a quoted text goes over several lines")


CONTRAST = Contrast("grammatical", "ungrammatical")
SPLIT_ORDER = ("train", "valid", "test")
# Feature to column.
FEATURES = {
    **{name: name for name in ("number", "n_intervening", "n_attractors", "n_non_attractors", "distance")},
    **{"last_intervening": "last_intervening", "position": "verb_index"},
    **{name: name for name in ("verb_form", "verb_role", "subj_deprel", "source")},
}


def read_agreement(reading: Reading) -> tuple[Case, ...]:
    """Read tables of examples into cases: one for each split, or a single one where there are no splits.

    Of several tables, the columns that all have become features.
    """
    files = list(reading.files)
    tables = [read_examples(file) for file in files]
    reading.items.update({str(file): table.num_rows for file, table in zip(files, tables, strict=True)})
    shared = set.intersection(*(set(table.column_names) for table in tables))
    unsplit = [file for file, table in zip(files, tables, strict=True) if "split" not in table.column_names]
    if unsplit and len(unsplit) < len(files):
        raise SuiteError(f"{unsplit[0]}: has no column 'split', but other tables beside it have one")
    table = pa.concat_tables(part.select(sorted(shared)) for part in tables)
    entries = _entries(table)
    if unsplit:
        return (_case(stem_of(files[0]), table, entries),)
    splits: list[Any] = table["split"].unique().to_pylist()
    names = sorted(splits, key=lambda name: (*SPLIT_ORDER, name).index(name))  # others as they come
    parts = [(name, pc.equal(table["split"], pa.scalar(name))) for name in names]
    return tuple(_case(name, table.filter(part), entries.filter(part)) for name, part in parts)


def _entries(table: pa.Table) -> pa.Table:
    """Say of every example which sentence it is from, and which verb it is about."""
    columns = ("sentence", "number", "verb_form", "opp_verb_form")
    texts: list[list[Any]] = [table[name].to_pylist() for name in columns]
    sentences, *verbs = texts
    named = [
        verb_entries(sentence, form if number == SINGULAR else opposite)
        for sentence, number, form, opposite in zip(first_places(sentences), *verbs, strict=True)
    ]
    return pa.table({factor: as_entries([one[factor] for one in named]) for factor in named[0]})


def _case(name: str, table: pa.Table, entries: pa.Table) -> Case:
    """Make items of examples: each sentence with the verb as found, and in the other number."""
    found: list[str] = []
    changed: list[str] = []
    for row in table.select(["sentence", "verb_index", "opp_verb_form"]).to_batches():
        for sentence, index, form in zip(*(column.to_pylist() for column in row.columns), strict=True):
            words = sentence.split()
            found.append(" ".join(words))
            changed.append(" ".join([*words[:index], form, *words[index + 1 :]]))
    held = {feature: name for feature, name in FEATURES.items() if name in table.column_names}
    return Case(
        name=name,
        construction=name,
        phenomenon=AGREEMENT,
        dependency=None,
        question=Pairs((CONTRAST,)),
        index=pa.array(range(table.num_rows), pa.int64()),
        sentences=pa.table({CONTRAST.better: found, CONTRAST.worse: changed}),
        features=table.select(list(held.values())).rename_columns(list(held)),
        entries=entries,
    )
